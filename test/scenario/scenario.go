// Package scenario reads behaviours written as files, and says what the planner does with them.
//
// A file is a txtar archive that shows one behaviour: a paragraph in plain English, then sections. `snapshot`, `manifests`,
// `catalog` and `policy` describe the cluster in a line language (GRAMMAR.md), `expect` says what must come out whatever
// else does, `plan` is what the planner decides and `explain` why. The plan is made the way that everybody gets it: through
// the contract's messages, checked on the way in and verified on the way out. The package judges no plan itself beyond what
// a file expects.
//
// Start reading with any two files in testdata, then at Loader and Scenario.Run; build.go gives the lines their meaning,
// expect.go the expectations, render.go writes plans and format.go the files' one canonical form.
package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner"
)

// Sections of a file. All but Plan and Explain may be left out.
const (
	Catalog   = "catalog"
	Policy    = "policy"
	Manifests = "manifests"
	Snapshot  = "snapshot"
	Expect    = "expect"
	Plan      = "plan"
	Explain   = "explain"
)

// sections are all sections, in the order of the canonical form.
func sections() []string {
	return []string{Catalog, Policy, Manifests, Snapshot, Expect, Plan, Explain}
}

// Loader reads files. Use NewLoader; one loader decodes the bundled catalogue once. It is safe for concurrent use.
type Loader struct {
	bundled func() (*catalog.Catalog, error)
}

// NewLoader makes a loader.
func NewLoader() *Loader { return &Loader{bundled: sync.OnceValues(catalog.Bundled)} }

// Scenario is a file that was read.
type Scenario struct {
	Header
	// Input is what it asks the planner.
	Input model.Input

	archive *txtar.Archive
	expects []expectation
}

// Load reads a file. The error names the section, the line, the word, and what would be right.
func (l *Loader) Load(data []byte) (*Scenario, error) {
	archive := txtar.Parse(data)
	s := &Scenario{archive: archive}
	var err error
	if s.Header, err = parseHeader(string(archive.Comment)); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range archive.Files {
		if !slices.Contains(sections(), f.Name) {
			return nil, fmt.Errorf("section %q is not known; want %s", f.Name, strings.Join(sections(), ", "))
		}
		if _, again := texts[f.Name]; again {
			return nil, fmt.Errorf("section %q is there twice", f.Name)
		}
		texts[f.Name] = string(f.Data)
	}
	if s.Input, err = l.build(texts); err != nil {
		return nil, err
	}
	if s.expects, err = parseExpectations(texts[Expect], &s.Input); err != nil {
		return nil, err
	}
	return s, nil
}

// Outcome is what the planner made of a scenario.
type Outcome struct {
	// Plan and Explain are the sections of that name.
	Plan, Explain string
	// Failed are the expectations that do not hold, a sentence each.
	Failed []string
	// Reasons are all that the plan gives, by code, each message once, with short names for ids.
	Reasons map[string][]string
}

// Run asks the planner.
func (s *Scenario) Run(ctx context.Context) (Outcome, error) {
	response, err := planner.Decide(ctx, convert.Request(s.Input))
	if err != nil {
		return Outcome{}, err
	}
	p, err := convert.ReadPlan(response.GetPlan())
	if err != nil {
		return Outcome{}, err
	}
	r := newRenderer(&s.Input, &p)
	out := Outcome{Plan: r.plan(), Explain: r.explain(), Reasons: r.reasons}
	out.Failed = judge(s.expects, newResult(&s.Input, &p, r, out.Explain))
	return out, nil
}

// Section is the text of a section, "" when the file does not have it.
func (s *Scenario) Section(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Golden is the file in its canonical form, with another plan and explanation.
func (s *Scenario) Golden(o Outcome) ([]byte, error) {
	out := &txtar.Archive{Comment: s.archive.Comment}
	for _, f := range s.archive.Files {
		if f.Name != Plan && f.Name != Explain {
			out.Files = append(out.Files, f)
		}
	}
	out.Files = append(out.Files, txtar.File{Name: Plan, Data: []byte(o.Plan)}, txtar.File{Name: Explain, Data: []byte(o.Explain)})
	return Format(txtar.Format(out))
}

// Header is what stands before the sections.
type Header struct {
	// Cases are the numbers of the cases in docs/behaviours.md that the file shows.
	Cases []int
	// Differs is why Kerf does on purpose something else than the case says; "" when it does not.
	Differs string
	// About is the part of disruption that the file shows; "" when it is about something else.
	About string
	// Text is the paragraph.
	Text string
}

// Subjects are the parts of disruption, in the order in which docs/behaviours.md has them.
func Subjects() []string {
	return []string{
		"order", "unhealthy", "static", "empty", "expiry", "drift", "canary", "eligibility", "policy", "rollout", "rest", "destinations",
		"sets", "budgets", "churn", "spot", "search", "scale-down",
	}
}

const maxCase = 999

// parseHeader reads "case: 1, 2", "about: drift" and "differs: because …", which may stand before the paragraph.
func parseHeader(text string) (Header, error) {
	var h Header
	text = strings.TrimSpace(text)
	for {
		line, rest, _ := strings.Cut(text, "\n")
		known, err := h.line(line)
		if err != nil {
			return Header{}, err
		}
		if known {
			text = strings.TrimSpace(rest)
			continue
		}
		if h.Text = text; text == "" {
			return Header{}, errors.New("the paragraph is missing that says what must happen")
		}
		if slices.Contains(strings.Fields(text), "--") {
			return Header{}, errors.New("the paragraph has a --, which begins a section; want a colon or a comma")
		}
		return h, nil
	}
}

// line reads one header line; it says false of what is no header line.
func (h *Header) line(text string) (bool, error) {
	key, value, ok := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch {
	case ok && key == "case":
		return true, h.cases(value)
	case ok && key == "about":
		if h.About = value; !slices.Contains(Subjects(), value) {
			return true, fmt.Errorf("about: %q is not a subject; want %s", value, strings.Join(Subjects(), ", "))
		}
	case ok && key == "differs":
		if !strings.HasPrefix(value, "because ") || h.Differs != "" {
			return true, fmt.Errorf("differs: %q does not say once: because …", value)
		}
		h.Differs = strings.Join(strings.Fields(value), " ")
	default:
		return false, nil
	}
	return true, nil
}

func (h *Header) cases(list string) error {
	for number := range strings.SplitSeq(list, ",") {
		n, err := atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > maxCase || slices.Contains(h.Cases, n) {
			return fmt.Errorf("case: %q is not a list of numbers such as 50, 51", list)
		}
		h.Cases = append(h.Cases, n)
	}
	return nil
}

// blank says whether there is nothing but space.
func blank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }
