package page

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// painted is what Paint writes, and what wrapping makes of it.
var painted = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33|36)(;(0|1|2|31|32|33|36))*m`)

// Plain is text with each character that a terminal would act on, or not show, written as its escape: names and values are
// whatever somebody put into a manifest. Ends of lines stay.
func Plain(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !shown(r, 1) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if shown(r, size) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.QuoteToGraphic(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// shown tells what stands as it is; a byte that belongs to no character does not.
func shown(r rune, size int) bool {
	return r == '\n' || strconv.IsGraphic(r) && (r != utf8.RuneError || size > 1)
}

// plain is Plain of all but the style's own colours.
func (s Style) plain(str string) string {
	if !s.Color {
		return Plain(str)
	}
	var b strings.Builder
	at := 0
	for _, m := range painted.FindAllStringIndex(str, -1) {
		b.WriteString(Plain(str[at:m[0]]) + str[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + Plain(str[at:])
}
