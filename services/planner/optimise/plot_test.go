package optimise_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture of docs/optimiser.md anew")

const docs = "../../../docs/"

// figure is a row of the table in docs/optimiser.md; what is not known is 0.
type figure struct {
	name                                string
	bound, cost, baseline, cpu, baseCPU float64
}

func TestThePlotIsOfTheTableInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile(docs + "optimiser.md")
	if err != nil {
		t.Fatal(err)
	}
	figures := figuresOf(string(page))
	if len(figures) == 0 {
		t.Fatal("the page has no table of figures")
	}
	for _, f := range figures {
		if f.bound <= 0 || f.cost < f.bound {
			t.Errorf("%s costs %g, which is below its bound %g", f.name, f.cost, f.bound)
		}
	}
	want := plot(figures)
	if *update {
		if err := os.WriteFile(docs+"optimiser.svg", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docs + "optimiser.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/optimiser.svg is not of the table; draw it with -update")
	}
}

// figuresOf reads the rows of the table that has six columns, all but the first of them numbers.
func figuresOf(page string) []figure {
	var out []figure
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 6 {
			continue
		}
		var n [6]float64
		ok := true
		for i, c := range cells[1:] {
			c = strings.TrimSpace(c)
			v, err := strconv.ParseFloat(c, 64)
			ok = ok && (err == nil || c == "–")
			n[i+1] = v
		}
		if ok {
			out = append(out, figure{strings.TrimSpace(cells[0]), n[1], n[2], n[3], n[4], n[5]})
		}
	}
	return out
}

const (
	barHeight, groupHeight  = 11, 34
	chartTop, chartWidth    = 56, 300
	labelWidth, chartMargin = 110, 90
	ours, theirs            = "#1f77b4", "#c7c7c7"
)

// plot draws two charts side by side: cost over the bound, and CPU time on a logarithmic scale.
func plot(figures []figure) []byte {
	var b bytes.Buffer
	width := labelWidth + 2*chartWidth + 2*chartMargin
	height := chartTop + groupHeight*len(figures) + 10
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`, width, height)
	fmt.Fprintf(&b, "\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height)
	text(&b, labelWidth, 16, "Cost over the bound")
	second := labelWidth + chartWidth + chartMargin
	text(&b, second, 16, "CPU seconds (logarithmic)")
	legend(&b, labelWidth, "Kerf", ours)
	legend(&b, labelWidth+70, "baseline", theirs)
	for i, f := range figures {
		y := chartTop + i*groupHeight
		text(&b, 8, y+15, f.name)
		for k, v := range []float64{f.cost / f.bound, f.baseline / f.bound} {
			bar(&b, labelWidth, y+k*(barHeight+1), (v-1)/1.6, fmt.Sprintf("+%.1f %%", (v-1)*100), k)
		}
		for k, v := range []float64{f.cpu, f.baseCPU} {
			if v > 0 {
				bar(&b, second, y+k*(barHeight+1), math.Log10(v/0.001)/5, fmt.Sprintf("%g", v), k)
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func text(b *bytes.Buffer, x, y int, s string) {
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y, s)
}

func legend(b *bytes.Buffer, x int, name, color string) {
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"27\" width=\"11\" height=\"11\" fill=\"%s\"/>\n", x, color)
	text(b, x+16, 37, name)
}

// bar is a part of the chart's width, with what it stands for behind it.
func bar(b *bytes.Buffer, x, y int, part float64, label string, whose int) {
	w := max(1, int(math.Round(part*chartWidth)))
	color := []string{ours, theirs}[whose]
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y, w, barHeight, color)
	text(b, x+w+4, y+9, label)
}
