package main

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

const (
	// wrapAt is how many columns a comment has that is wrapped, and tooLong how many one may have that somebody has
	// wrapped by hand: for a word too many nothing is moved.
	wrapAt, tooLong = 120, 124
	tabColumns      = 4
)

// longComments wraps the paragraphs of comments that have a line too long. Code, lists, headings, directives and what
// stands behind code are left as they are.
func longComments(lines []string, fset *token.FileSet, tree *ast.File) []edit {
	var edits []edit
	for _, group := range tree.Comments {
		first, last := fset.Position(group.Pos()).Line-1, fset.Position(group.End()).Line-1
		indent, _, alone := strings.Cut(lines[first], "//")
		if !alone || strings.TrimSpace(indent) != "" || strings.HasPrefix(group.List[0].Text, "/*") {
			continue
		}
		for i := first; i <= last; {
			text, end := isText(lines[i]), i+1
			for end <= last && !isEmpty(lines[end]) && !isEmpty(lines[i]) && (!text || isText(lines[end])) {
				end++ // an item of a list goes on in lines that look like text
			}
			if text && anyTooLong(lines[i:end]) {
				if now := wrapped(indent, lines[i:end]); now != nil {
					edits = append(edits, edit{i, end, now})
				}
			}
			i = end
		}
	}
	return edits
}

// wrapped is a paragraph in lines of at most wrapAt columns, as far as its words let; nil where a line of it would look
// like something else than text.
func wrapped(indent string, paragraph []string) []string {
	var out []string
	line := ""
	for _, l := range paragraph {
		for word := range strings.FieldsSeq(comment(l)) {
			if line != "" && columns(line)+1+columns(word) > wrapAt {
				out, line = append(out, line+"\n"), ""
			}
			if line == "" {
				line = indent + "//"
			}
			line += " " + word
		}
	}
	for _, l := range append(out, line) {
		if !isText(l) {
			return nil
		}
	}
	return append(out, line+"\n")
}

func anyTooLong(lines []string) bool {
	for _, l := range lines {
		if columns(strings.TrimRight(l, "\n")) > tooLong {
			return true
		}
	}
	return false
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// comment is what a comment's line has behind its slashes.
func comment(line string) string {
	_, text, _ := strings.Cut(line, "//")
	return strings.TrimRight(text, " \t\n")
}

func isEmpty(line string) bool { return comment(line) == "" }

// isText says that a comment's line is one of a paragraph.
func isText(line string) bool {
	text, spaced := strings.CutPrefix(comment(line), " ")
	if !spaced || text == "" || strings.ContainsAny(text[:1], " \t#|+") || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") {
		return false
	}
	number := strings.TrimLeft(text, "0123456789")
	return number == text || !strings.HasPrefix(number, ". ") && !strings.HasPrefix(number, ") ")
}
