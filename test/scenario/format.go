package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/txtar"
)

// width is how long a line of a paragraph may be.
const width = 120

// Format is the file in its one canonical form: header lines, a paragraph filled to 120 columns, the sections in their
// order, one space between words, and quotes only where a word has a space. It keeps comments, and changes no meaning.
func Format(data []byte) ([]byte, error) {
	in := txtar.Parse(data)
	h, err := parseHeader(string(in.Comment))
	if err != nil {
		return nil, err
	}
	out := &txtar.Archive{Comment: []byte(h.format())}
	for _, name := range sections() {
		for _, f := range in.Files {
			// An empty catalog sells nothing, and one that is left out sells the default types.
			if f.Name != name || (blank(f.Data) && name != Catalog && name != Plan && name != Explain) {
				continue
			}
			text := string(f.Data)
			switch name {
			case Catalog, Policy, Snapshot, Expect:
				if text, err = formatLines(name, text); err != nil {
					return nil, err
				}
			default:
				text = trimLines(text)
			}
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	return txtar.Format(out), nil
}

func (h Header) format() string {
	var b strings.Builder
	if len(h.Cases) > 0 {
		var list []string
		for _, n := range slices.Sorted(slices.Values(h.Cases)) {
			list = append(list, strconv.Itoa(n))
		}
		fmt.Fprintf(&b, "case: %s\n", strings.Join(list, ", "))
	}
	if h.About != "" {
		fmt.Fprintf(&b, "about: %s\n", h.About)
	}
	if h.Differs != "" {
		fmt.Fprintf(&b, "differs: %s\n", h.Differs)
	}
	var column int
	for i, word := range strings.Fields(h.Text) {
		switch n := len([]rune(word)); {
		case i == 0:
			column = n
		case column+1+n > width:
			b.WriteByte('\n')
			column = n
		default:
			b.WriteByte(' ')
			column += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteString("\n\n")
	return b.String()
}

func formatLines(section, text string) (string, error) {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(&b, line)
			continue
		}
		words, err := split(line)
		if err != nil {
			return "", fmt.Errorf("%s, line %d: %w", section, i+1, err)
		}
		for i, w := range words {
			words[i] = quote(w)
		}
		fmt.Fprintln(&b, strings.Join(words, " "))
	}
	return b.String(), nil
}

// quote puts a word into quotes that would be taken apart without; of key="…" only the value.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, unicode.IsSpace) {
		return word
	}
	key, value, ok := strings.Cut(word, "=")
	if ok && key != "" && !strings.ContainsFunc(key, unicode.IsSpace) {
		return key + `="` + value + `"`
	}
	return `"` + word + `"`
}

// trimLines drops space at the ends of lines, and empty lines at the ends of the text.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRightFunc(lines[i], unicode.IsSpace)
	}
	text = strings.Trim(strings.Join(lines, "\n"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}
