package page

import (
	"bytes"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"web-0 für Zoë, 東京 … 🚀": "web-0 für Zoë, 東京 … 🚀",
		"two\nlines":            "two\nlines",
		"\x1b[2J\x1b]0;t\a":     `\x1b[2J\x1b]0;t\a`,
		"a\rb\tc\x00":           `a\rb\tc\x00`,
		"ev\u202eil\u200b":      `ev\u202eil\u200b`,
		"\u009b31m":             `\u009b31m`,
		"\xff\ufffd":            `\xff` + "\ufffd",
		`"quoted" \ back`:       `"quoted" \ back`,
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPagesShowWhatTerminalsWouldActOn(t *testing.T) {
	for _, color := range []bool{false, true} {
		p := Page{Style: Style{Color: color, Width: 40}}
		p.Line("%s %s", p.Paint(Green, "pod"), "a\x1b[2Jb\x1b[8mc\x1b]0;t\x07")
		p.Item("  ", p.Paint(Green, "a remedy that is longer than one line of the terminal is wrapped"))
		var out bytes.Buffer
		if err := p.Flush(&out); err != nil {
			t.Fatal(err)
		}
		left := painted.ReplaceAllString(out.String(), "")
		if Plain(left) != left || color == (left == out.String()) {
			t.Errorf("colour %t: %q", color, out.String())
		}
	}
}

func TestTheCurrencysSignStandsWhereTheDollarsDid(t *testing.T) {
	const text = "$0.096 an hour, -$1.2, ~$3\n  CHURN $  $/HOUR  $ an hour now\n${A} $HOME a$\n"
	for currency, want := range map[string]string{
		"":    text,
		"CNY": "¥0.096 an hour, -¥1.2, ~¥3\n  CHURN ¥  ¥/HOUR  ¥ an hour now\n${A} $HOME a¥\n",
		"EUR": "€0.096 an hour, -€1.2, ~€3\n  CHURN €  €/HOUR  € an hour now\n${A} $HOME a€\n",
	} {
		var out bytes.Buffer
		p := Page{Style: Style{Currency: currency}}
		p.b.WriteString(text)
		if err := p.Flush(&out); err != nil || out.String() != want {
			t.Errorf("%s: printed %q, %v, want %q", currency, out.String(), err, want)
		}
	}
}

func TestAmountsHaveAsManyDigitsAsTellSomething(t *testing.T) {
	for micro, want := range map[int64]string{
		0: "$0.000", 96_000: "$0.096", 4_200: "$0.0042", 28_752: "$0.02875", 316_752: "$0.31675", 10_382_863: "$10.383", 64_320: "$0.06432",
		136: "$0.000136", -28_752: "-$0.02875", 999_999: "$1.000", 95_999: "$0.096", 1_000_000: "$1.000",
	} {
		if got := Dollars(micro); got != want {
			t.Errorf("%d is written %s, want %s", micro, got, want)
		}
	}
}
