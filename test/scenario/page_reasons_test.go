package scenario

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

const reasonsPage = "../../docs/reasons.md"

// TestEveryReasonIsDocumented compares docs/reasons.md with the contract: each code has one row with a meaning and an
// example, and no other code has any. The examples of what a plan can say are those of scenarios.
func TestEveryReasonIsDocumented(t *testing.T) {
	page, err := os.ReadFile(reasonsPage)
	if err != nil {
		t.Fatal(err)
	}
	fresh := withExamples(string(page), examples(t))
	if *update {
		if err := os.WriteFile(reasonsPage, []byte(fresh), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if fresh != string(page) {
		t.Error("docs/reasons.md has other examples than the scenarios (-update writes them)")
	}
	rows := map[string]int{}
	for _, m := range reasonRow().FindAllStringSubmatch(fresh, -1) {
		rows[m[1]]++
	}
	for number, name := range clusterpb.ReasonCode_name {
		short := strings.TrimPrefix(name, "REASON_CODE_")
		if number == 0 {
			continue
		}
		if rows[short] != 1 {
			t.Errorf("%s has %d rows in docs/reasons.md, want one with a meaning and an example", short, rows[short])
		}
		delete(rows, short)
	}
	for short := range rows {
		t.Errorf("docs/reasons.md has %s, which is not in the contract", short)
	}
}

func reasonRow() *regexp.Regexp {
	return regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| ([^|]+) \\| ([^|]+) \\|$")
}

// given is what plans of scenarios say with a code: messages with their files.
type given map[string][]example

type example struct{ message, file string }

func (e example) String() string {
	return fmt.Sprintf("%s ([scenario](../test/scenario/%s))", strings.ReplaceAll(e.message, "|", "/"), filepath.ToSlash(e.file))
}

func examples(t *testing.T) given {
	t.Helper()
	out := given{}
	loader := NewLoader()
	for _, file := range files(t) {
		s, err := loader.Load(read(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := s.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for code, messages := range got.Reasons {
			for _, m := range messages {
				out[code] = append(out[code], example{m, file})
			}
		}
	}
	return out
}

// withExamples is the page with examples that scenarios give. One that a scenario still gives is left as it is, so that
// the page does not change with every file; else the shortest is taken.
func withExamples(page string, found given) string {
	return reasonRow().ReplaceAllStringFunc(page, func(row string) string {
		m := reasonRow().FindStringSubmatch(row)
		all := found[m[1]]
		if len(all) == 0 || slices.ContainsFunc(all, func(e example) bool { return e.String() == m[3] }) {
			return row
		}
		best := slices.MinFunc(all, func(a, b example) int { return cmp.Compare(len(a.message), len(b.message)) })
		return fmt.Sprintf("| `%s` | %s | %s |", m[1], m[2], best)
	})
}

// neverInPlans are codes between the planner's that no plan gives.
func neverInPlans(code string) bool {
	// What a node can't attach another one can: the nearest miss of a pod is about pools.
	return code == "VOLUME_LIMIT"
}

// TestEveryReasonOfAPlanHasAScenario looks at the planner's codes: those on pods, claims, nodes and objects. Those of the
// actuator are in between.
func TestEveryReasonOfAPlanHasAScenario(t *testing.T) {
	found := examples(t)
	for number, name := range clusterpb.ReasonCode_name {
		short := strings.TrimPrefix(name, "REASON_CODE_")
		if number == 0 || (number >= 100 && number < 140) || neverInPlans(short) {
			continue
		}
		if len(found[short]) == 0 && !comes(t, short) {
			t.Errorf("no scenario has a plan that says %s", short)
		}
	}
}

// comes says whether a file that waits for the planner expects a code.
func comes(t *testing.T, code string) bool {
	t.Helper()
	return slices.ContainsFunc(pendingFiles(t), func(file string) bool { return strings.Contains(string(read(t, file)), code) })
}
