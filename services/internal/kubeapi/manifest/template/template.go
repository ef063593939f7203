// Package template tells what text that is no YAML was meant for, or lacks, so that a message can say what to do with it.
//
// It goes by what stands in the text, and must never know what a manifest is. Start reading at MeantFor.
package template

import (
	"bytes"
	"regexp"
	"strings"
)

// RenderIt is what to do with a template.
const RenderIt = "give kerf what it renders, as in helm template . | kerf plan -f -"

var (
	terraformLine = regexp.MustCompile(`(?m)^[ \t]*[$%]\{|^[^#'"\n]*[\[,][ \t]*\$\{`) // in a list, its brace begins an object
	tabbedLine    = regexp.MustCompile(`(?m)^ *\t`)
	variable      = regexp.MustCompile(`\$(\{|[A-Z_][A-Z0-9_]*)`)
	placeholder   = regexp.MustCompile(`__[A-Z][A-Z0-9_]*__|<[A-Z][A-Z0-9_-]*>`)
	standsAlone   = regexp.MustCompile(`(?m)^[ \t]*(__[A-Z][A-Z0-9_]*__|<[A-Z][A-Z0-9_-]*>)[ \t\r]*$`)
	leftOutLine   = regexp.MustCompile(`(?m)^[ \t]*(\.{2,}|…)[ \t\r]*$`)
)

// Is tells text that a program fills in before it is a manifest.
func Is(text []byte) bool { return isChart(text) || terraformLine.Match(text) }

func isChart(text []byte) bool { return bytes.Contains(text, []byte("{{")) }

// MeantFor says it as the end of the problem that a text has as YAML; "" where it is not clear.
func MeantFor(text []byte, problem string) string {
	switch {
	case isChart(text):
		return "; it looks like a template: " + RenderIt
	case terraformLine.Match(text):
		return "; it looks like a template of Terraform or envsubst: give kerf what templatefile or envsubst makes of it"
	case strings.Contains(problem, "cannot start any token") && tabbedLine.Match(text):
		return "; a line begins with a tab, and YAML is indented with spaces"
	case standsAlone.Match(text):
		return Unfilled(string(standsAlone.FindSubmatch(text)[1]))
	case leftOutLine.Match(text):
		return "; a line of dots stands where something was left out: write that, or remove the line"
	default:
		return ""
	}
}

// Unfilled says it of a value that has a variable of a shell's in it, or what a script puts another in the place of, such
// as __NAME__ or <NAME>; "" of others.
func Unfilled(value string) string {
	switch name := variable.FindString(value); name {
	case "":
		if name := placeholder.FindString(value); name != "" {
			return "; " + name + " was not filled in"
		}
		return ""
	case "${":
		return "; ${…} was not filled in: envsubst does that"
	default:
		return "; " + name + " was not filled in: envsubst does that"
	}
}
