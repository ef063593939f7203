// Package parts cuts the text of a file into YAML's documents.
//
// It goes by lines and never parses: a parser stops at the first mistake, and gives no document behind it. Start reading
// at Cut.
package parts

import (
	"bytes"
	"strings"
)

// Plain leaves out byte order marks, which stand in the middle of files that were put together, and has lines end as Cut
// knows them: a text whose lines end by carriage returns alone would be one line, and lose all but its first document.
func Plain(text []byte) []byte {
	if !bytes.Contains(text, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	const mark = "\ufeff"
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte(mark)), []byte("\n"+mark), []byte("\n"))
}

// Part is the text between two document markers, and the line that it begins on.
type Part struct {
	Line int
	Text []byte
}

// Cut finds YAML's document markers, which stand at the beginning of a line even
// within texts of several lines. Text behind a marker belongs to the document.
func Cut(text []byte) []Part {
	parts := []Part{{Line: 1}}
	line := 0
	for rest := text; len(rest) > 0; {
		line++
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		this := rest[:end]
		rest = rest[end:]
		current := &parts[len(parts)-1]
		switch {
		case marker(this, "---"):
			// The marker stays on its line, so that lines count on.
			parts = append(parts, Part{Line: line, Text: this})
		case marker(this, "..."):
			parts = append(parts, Part{Line: line + 1})
		default:
			current.Text = append(current.Text, this...)
		}
	}
	return parts
}

func marker(line []byte, mark string) bool {
	rest, found := bytes.CutPrefix(line, []byte(mark))
	return found && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// Blank tells a document with nothing but white space, comments and its marker.
func Blank(text []byte) bool {
	for l := range bytes.Lines(text) {
		l = bytes.TrimSpace(l)
		if bytes.HasPrefix(l, []byte("---")) {
			l = bytes.TrimSpace(l[3:])
		}
		if len(l) > 0 && l[0] != '#' && l[0] != '%' {
			return false
		}
	}
	return true
}
