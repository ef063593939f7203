// Package scenario runs the planner on small clusters written down as text: one file, one behaviour.
//
// A file is a txtar archive. Its first paragraph says in plain English what must happen; `snapshot`, `catalog` and
// `policy` describe the cluster in a line language (GRAMMAR.md), `plan` is what the planner decides and `explain` why.
// The plan is made the way that everybody gets it: through the contract's messages, checked on the way in and verified on
// the way out. The package judges no plan itself.
//
// Start reading with any two files in testdata, then at Load and Scenario.Run; build.go gives the lines their meaning,
// render.go writes plans.
package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/tools/txtar"

	"github.com/kerf-dev/kerf/services/planner"
	"github.com/kerf-dev/kerf/services/planner/convert"
	"github.com/kerf-dev/kerf/services/planner/model"
)

// Sections of a file, in their order. All but Plan and Explain may be left out.
const (
	Snapshot = "snapshot"
	Catalog  = "catalog"
	Policy   = "policy"
	Plan     = "plan"
	Explain  = "explain"
)

// Scenario is a file that was read.
type Scenario struct {
	// Input is what it asks the planner.
	Input model.Input

	archive *txtar.Archive
}

// Load reads a file. The error names the section, the line, the word, and what would be right.
func Load(data []byte) (*Scenario, error) {
	archive := txtar.Parse(data)
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, errors.New("the paragraph is missing that says what must happen")
	}
	texts := map[string]string{}
	for _, f := range archive.Files {
		switch f.Name {
		case Snapshot, Catalog, Policy, Plan, Explain:
		default:
			return nil, fmt.Errorf("section %q is not known; want %s, %s, %s, %s, %s", f.Name, Snapshot, Catalog, Policy, Plan, Explain)
		}
		if _, again := texts[f.Name]; again {
			return nil, fmt.Errorf("section %q is there twice", f.Name)
		}
		texts[f.Name] = string(f.Data)
	}
	in, err := build(texts)
	if err != nil {
		return nil, err
	}
	return &Scenario{Input: in, archive: archive}, nil
}

// Run asks the planner, and returns the plan and its explanation as text.
func (s *Scenario) Run(ctx context.Context) (plan, explain string, err error) {
	response, err := planner.Decide(ctx, convert.Request(s.Input))
	if err != nil {
		return "", "", err
	}
	p, err := convert.ReadPlan(response.GetPlan())
	if err != nil {
		return "", "", err
	}
	r := newRenderer(&s.Input, &p)
	return r.plan(), r.explain(), nil
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

// Golden is the file with another plan and explanation.
func (s *Scenario) Golden(plan, explain string) []byte {
	out := &txtar.Archive{Comment: s.archive.Comment}
	for _, f := range s.archive.Files {
		if f.Name != Plan && f.Name != Explain {
			out.Files = append(out.Files, f)
		}
	}
	out.Files = append(out.Files, txtar.File{Name: Plan, Data: []byte(plan)}, txtar.File{Name: Explain, Data: []byte(explain)})
	return txtar.Format(out)
}
