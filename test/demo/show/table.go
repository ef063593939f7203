package show

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Result is how a step ended.
type Result struct {
	Number  int
	Title   string
	Err     error
	Took    time.Duration
	Nodes   int
	Pods    string // "5/5"
	PerHour int64  // micro-dollars
	// Note is what is worth remembering of it.
	Note string
}

// Done ends a step.
func (t *Timeline) Done(r Result) {
	if r.Err != nil {
		t.Line(Bad, t.paint("1;31", "not as expected after "+seconds(r.Took)))
		return
	}
	t.Line(Good, fmt.Sprintf("%s   %s", t.paint("32", "as expected after "+seconds(r.Took)),
		t.paint("2", Counts(r.Nodes, r.Pods, r.PerHour))))
}

// Counts is the state of things in a few words.
func Counts(nodes int, pods string, perHour int64) string {
	noun := "nodes"
	if nodes == 1 {
		noun = "node"
	}
	return fmt.Sprintf("%d %s · %s pods run · %s", nodes, noun, pods, Dollars(perHour))
}

// Dollars is a price per hour, given in micro-dollars.
func Dollars(micro int64) string { return fmt.Sprintf("$%.4f/h", float64(micro)/1e6) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// Table writes the results, one a line.
func (t *Timeline) Table(results []Result) {
	failed := 0
	for _, r := range results {
		if r.Err != nil {
			failed++
		}
	}
	verdict := fmt.Sprintf("%d of %d steps as expected", len(results)-failed, len(results))
	widest := utf8.RuneCountInString(verdict)
	for _, r := range results {
		widest = max(widest, utf8.RuneCountInString(r.Title))
	}
	lines := []string{"", t.paint("2", fmt.Sprintf("      %s  %-6s %7s %6s %11s", pad("step", widest), "result", "seconds", "nodes", "$/h"))}
	var sum time.Duration
	for _, r := range results {
		word, code := "ok", "32"
		if r.Err != nil {
			word, code = "FAILED", "1;31"
		}
		sum += r.Took
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %2d  %s  %s %7.1f %6d %11s  %s", r.Number, pad(r.Title, widest),
			t.paint(code, pad(word, 6)), r.Took.Seconds(), r.Nodes, strings.TrimSuffix(Dollars(r.PerHour), "/h"), t.paint("2", r.Note)), " "))
	}
	lines = append(lines, t.paint("2", fmt.Sprintf("      %s  %-6s %7.1f", pad(verdict, widest), "", sum.Seconds())))
	t.print(lines...)
}
