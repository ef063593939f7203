package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// needs are the words behind console, each with what the block needs.
func needs() map[string]string {
	return map[string]string{
		"cluster": "a Kubernetes cluster, or a running Kerf",
		"aws":     "an AWS account",
		"network": "programs or images from the network",
		"minutes": "minutes: it is a step of CI of its own, or a measurement",
	}
}

// block is a fenced block of the language console.
type block struct {
	file     string // relative to the root
	line     int
	needs    []string
	commands []command
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// command is what follows a "$ ", and the lines that are shown below it.
type command struct {
	text  string
	shown []string
}

// pages are the README and all pages of docs, relative to the root.
func pages(root string) ([]string, error) {
	out := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				return nil, err
			}
			out = append(out, rel)
		}
	}
	return out, nil
}

// blocks are the console blocks of a page.
func blocks(root, page string) ([]block, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	var out []block
	var fence bool
	var current *block
	for i, line := range strings.Split(string(text), "\n") {
		if info, ok := strings.CutPrefix(line, "```"); ok {
			if fence = !fence; !fence {
				current = nil
				continue
			}
			words := strings.Fields(info)
			if len(words) == 0 || words[0] != "console" {
				continue
			}
			out = append(out, block{file: page, line: i + 1, needs: words[1:]})
			current = &out[len(out)-1]
			continue
		}
		if current == nil {
			continue
		}
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			current.commands = append(current.commands, command{text: text})
			continue
		}
		if len(current.commands) == 0 {
			return nil, fmt.Errorf("%s: want a line that begins with \"$ \" first", current)
		}
		last := &current.commands[len(current.commands)-1]
		last.shown = append(last.shown, line)
	}
	return out, nil
}

// parts are the words of each program that a command line calls, comments left out.
func parts(text string) [][]string {
	text, _, _ = strings.Cut(text, " # ")
	var out [][]string
	var words []string
	for w := range strings.FieldsSeq(text) {
		if slices.Contains([]string{"|", "&&", "||", ";", "&"}, w) {
			out, words = append(out, words), nil
			continue
		}
		ended := strings.HasSuffix(w, ";")
		words = append(words, strings.Trim(w, `;"'`))
		if ended {
			out, words = append(out, words), nil
		}
	}
	return append(out, words)
}

// like says whether printed lines are those that a page shows, in which "…" stands for any lines.
func like(shown, printed []string) bool {
	for len(shown) > 0 && strings.TrimSpace(shown[0]) != "…" {
		if len(printed) == 0 || strings.TrimRight(shown[0], " ") != strings.TrimRight(printed[0], " ") {
			return false
		}
		shown, printed = shown[1:], printed[1:]
	}
	if len(shown) == 0 {
		return len(printed) == 0
	}
	for skip := range len(printed) + 1 {
		if like(shown[1:], printed[skip:]) {
			return true
		}
	}
	return false
}
