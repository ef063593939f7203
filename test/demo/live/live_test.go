package live

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func describe(s Script) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Options(), s.worldManifest())
	for _, a := range s.acts {
		fmt.Fprintln(&b, a.after, a.kind.name, a.seed)
	}
	return b.String()
}

func TestASeedHasTheSameStory(t *testing.T) {
	if a, b := describe(Draw(7)), describe(Draw(7)); a != b {
		t.Errorf("seed 7 has two stories:\n%s\n%s", a, b)
	}
	if describe(Draw(7)) == describe(Draw(8)) {
		t.Error("seeds 7 and 8 have the same story")
	}
}

// TestWhatIsDrawnIsYAML holds the manifests, which are put together as text, against the indentation that they need.
func TestWhatIsDrawnIsYAML(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		script := Draw(seed)
		texts := strings.Split(script.worldManifest(), "---\n")
		for _, kind := range []string{"Deployment", "StatefulSet", "Job"} {
			text, _ := workload(r, kind, "w", script.pools[r.IntN(2)])
			texts = append(texts, strings.Split(text, "---\n")...)
		}
		for _, text := range texts {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
		}
	}
}

func TestABudgetIsRoundedUp(t *testing.T) {
	for _, tt := range []struct {
		budget string
		n      int
		want   int
	}{{"", 1, 1}, {"", 11, 2}, {"50%", 3, 2}, {"100%", 4, 4}, {"2", 1, 2}, {"", 0, 0}} {
		if got := budget(tt.budget, tt.n); got != tt.want {
			t.Errorf("%q of %d: %d, want %d", tt.budget, tt.n, got, tt.want)
		}
	}
}
