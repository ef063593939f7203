package page

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// MostNames is how many names of a list are written out.
const MostNames = 3

// Money writes micro-dollars with three digits after the point, more where they tell something: 0.096, 0.02875.
func Money(micro int64) string { return Fixed(micro, Digits(micro)) }

// Digits is how many digits after the point the amounts need, at least three: of dollars and more no one reads more, and
// prices below that have five at most, but for the tiny ones that would be nothing then.
func Digits(amounts ...int64) int {
	most := 3
	for _, a := range amounts {
		digits := 5
		switch {
		case max(a, -a) >= 1_000_000:
			digits = 3
		case max(a, -a) < 1_000:
			digits = 6
		}
		text := Fixed(a, digits)
		most = max(most, len(strings.TrimRight(text, "0"))-strings.IndexByte(text, '.')-1)
	}
	return most
}

// Fixed is an amount of micro-dollars in dollars, with that many digits after the point.
func Fixed(micro int64, digits int) string {
	return strconv.FormatFloat(float64(micro)/1e6, 'f', digits, 64)
}

// Dollars is Money with a dollar sign.
func Dollars(micro int64) string {
	if micro < 0 {
		return "-$" + Money(-micro)
	}
	return "$" + Money(micro)
}

// amount is a dollar sign that stands before an amount, or for the currency in a table's header.
var amount = regexp.MustCompile(`\$(\d|/|\s)`)

// priced is a text with the sign of the currency in the place of the dollar's.
func (s Style) priced(text string) string {
	sign := map[string]string{"CNY": "¥", "EUR": "€"}[s.Currency]
	if sign == "" {
		return text
	}
	return amount.ReplaceAllString(text, sign+"$1")
}

// EnumWord is the part of an enum value's name that people say: DISRUPTION_REASON_EMPTY is "empty".
func EnumWord(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", " ")
}

// Count writes a number with its noun: "1 pod", "3 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Some lists names, the first few of many: "a, b, c and 4 more".
func Some(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// ReasonWord is why a node is removed, as the output says it.
func ReasonWord(r clusterpb.DisruptionReason) string {
	return EnumWord(r.String(), "DISRUPTION_REASON_")
}

// Span is a duration in the two largest units at most.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 10*day:
		return fmt.Sprintf("%dd", d/day)
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= 10*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}

// CodeWord is a reason's code, as the output says it.
func CodeWord(c clusterpb.ReasonCode) string { return EnumWord(c.String(), "REASON_CODE_") }
