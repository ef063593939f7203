package plan_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// drawTied is drawWorld with pods with rules about other pods, preferences, capacity buffers and overlays.
func drawTied(t *rapid.T) model.Input {
	d := &draw{t, drawWorld(t)}
	s := &d.Snapshot
	s.Namespaces = []model.Namespace{{Name: "shop", Labels: model.Labels{{Key: "team", Value: "a"}}}}
	for i := range s.PodClasses {
		if c := &s.PodClasses[i]; !c.Daemon {
			d.tie(c)
		}
	}
	if d.chance("overlay") {
		for i := range d.n("overlays", 1, 2) {
			s.NodeOverlays = append(s.NodeOverlays, model.NodeOverlay{
				Name: fmt.Sprintf("o%d", i), Weight: int32(i), AdjustmentPPM: new(int64(d.n("percent", -30, 30)) * 10_000),
				Requirements: []model.Requirement{{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{"m5.large", "r5.large"}[i:]}},
			})
		}
	}
	if d.chance("buffer") {
		for i := range d.n("buffers", 1, 2) {
			s.CapacityBuffers = append(s.CapacityBuffers, model.CapacityBuffer{
				ID: model.BufferID(fmt.Sprintf("shop/b%d", i)), Class: s.PodClasses[0].ID, Replicas: int64(d.n("replicas of a buffer", 1, 3)), CreateTime: now().Add(-time.Hour),
			})
		}
	}
	if d.chance("enforced preferences") {
		d.Policy.Preferences = model.PreferencesEnforced
	}
	return d.Input
}

// tie gives most classes a constraint, a preference, or some of each.
func (d *draw) tie(c *model.PodClass) {
	term := func(key, app string) model.PodAffinityTerm {
		return model.PodAffinityTerm{TopologyKey: key, Namespaces: []string{"shop"}, Selector: &model.Selector{
			Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{app}}},
		}}
	}
	key := []string{zoneKey, hostKey}[d.n("tie's key", 0, 1)]
	required := d.n("tie is a preference", 0, 3) > 0
	weigh := func(a model.PodAffinityTerm) []model.PodAffinityTerm {
		if !required {
			a.Weight = int32(d.n("weight", 1, 100))
		}
		return []model.PodAffinityTerm{a}
	}
	even := func(key string) {
		c.TopologySpread = append(c.TopologySpread, model.TopologySpread{
			TopologyKey: key, MaxSkew: int32(d.n("skew", 1, 2)), Required: required, Selector: itself(c),
			IgnoreNodeAffinity: d.chance("ignore affinity"), HonorTaints: d.chance("honor taints"),
		})
	}
	switch d.n("tie", 0, 7) {
	case 0:
		even(key)
	case 1:
		even(hostKey)
		even(zoneKey)
	case 2:
		c.PodAffinity = weigh(term(key, string(c.ID)))
	case 3:
		c.PodAffinity = weigh(term(key, d.anyClass("near")))
	case 4:
		c.PodAntiAffinity = weigh(term(key, d.anyClass("apart")))
	case 5:
		even(zoneKey)
		c.PodAntiAffinity = weigh(term(hostKey, string(c.ID)))
	case 6:
		c.PreferredNodeAffinity = []model.PreferredNodeAffinityTerm{{Weight: 10, Requirements: []model.Requirement{
			{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"spot"}},
		}}}
	}
}

// written is a plan as bytes, or what was wrong with the input.
func written(in model.Input) string {
	p, err := plan.Decide(in)
	if err != nil {
		return "refused: " + err.Error()
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "not written: " + err.Error()
	}
	return string(text)
}

// examples are inputs that are the same in every process, in an order of the seed's making.
func examples(n int, seed uint64) []model.Input {
	draws := rapid.Custom(drawTied)
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]model.Input, n)
	for i := range out {
		out[i] = draws.Example(i)
		out[i].Snapshot = shuffledCopy(out[i].Snapshot, rng)
	}
	return out
}

const (
	exampleCount = 80
	// childSeed tells the test binary that it is the second process.
	childSeed = "KERF_PLAN_DIGESTS"
)

// TestPlansAreTheSameInAnotherProcess runs this test binary again, once with one processor and once with eight, and with
// the lists of each input in another order. Maps, which differ from process to process, must not show.
func TestPlansAreTheSameInAnotherProcess(t *testing.T) {
	if seed := os.Getenv(childSeed); seed != "" {
		for i, in := range examples(exampleCount, uint64(len(seed))) {
			fmt.Printf("digest %d %x\n", i, sha256.Sum256([]byte(written(in))))
		}
		return
	}
	inputs := examples(exampleCount, 99)
	notVacuous(t, inputs)
	want := make([]string, len(inputs))
	for i, in := range inputs {
		want[i] = fmt.Sprintf("digest %d %x", i, sha256.Sum256([]byte(written(in))))
	}
	for seed, processors := range map[string]string{"a": "1", "bcd": "8"} {
		t.Run(processors+" processors", func(t *testing.T) {
			t.Parallel()
			again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlansAreTheSameInAnotherProcess$", "-test.v=false")
			again.Env = append(os.Environ(), childSeed+"="+seed, "GOMAXPROCS="+processors)
			out, err := again.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return !strings.HasPrefix(l, "digest ") })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("other plans in another process (-here +there):\n%s", diff)
			}
		})
	}
}

// notVacuous makes sure that the examples are about something.
func notVacuous(t *testing.T, inputs []model.Input) {
	t.Helper()
	seen := map[string]int{}
	for _, in := range inputs {
		p, err := plan.Decide(in)
		if err != nil {
			t.Fatalf("a drawn input is refused: %v", err)
		}
		counts := map[string]int{
			"claims to buy": len(p.NodeClaims), "placements": len(p.Placements), "pending pods": len(p.Pending), "disruptions": len(p.Disruptions),
			"nodes": len(in.Snapshot.Nodes), "overlays": len(in.Snapshot.NodeOverlays), "buffers": len(in.Snapshot.CapacityBuffers),
		}
		for _, c := range in.Snapshot.PodClasses {
			counts["spread"] += len(c.TopologySpread)
			counts["affinity"] += len(c.PodAffinity)
			counts["anti-affinity"] += len(c.PodAntiAffinity)
			counts["volumes"] += len(c.Volumes)
			counts["ports"] += len(c.HostPorts)
		}
		counts["limits"], counts["more than one pool"] = len(in.Snapshot.NodePools[0].Limits), len(in.Snapshot.NodePools)-1
		for what, n := range counts {
			if n > 0 {
				seen[what]++
			}
		}
		for _, c := range in.Snapshot.Claims {
			if c.State == model.ClaimPlanned {
				seen["claims in flight"]++
				break
			}
		}
	}
	if len(seen) != 15 {
		t.Errorf("the examples have only: %v", seen)
	}
	for what, n := range seen {
		if n < len(inputs)/20 {
			t.Errorf("only %d of %d examples have %s", n, len(inputs), what)
		}
	}
}

// TestPlansOfTiedPodsAreTheSameInAnyOrderAndOnAnyMachine draws inputs anew with each run.
func TestPlansOfTiedPodsAreTheSameInAnyOrderAndOnAnyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTied(t)
		want := written(in)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		for _, processors := range []int{1, 8} {
			before := runtime.GOMAXPROCS(processors)
			in.Snapshot = shuffledCopy(in.Snapshot, rng)
			got := written(in)
			runtime.GOMAXPROCS(before)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("with %d processors and in another order (-first +second):\n%s", processors, diff)
			}
		}
	})
}

// TestASessionMakesThePlansOfTiedPodsToo folds deltas of clusters whose pods have pod rules.
func TestASessionMakesThePlansOfTiedPodsToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTied(t)
		d := &draw{t, &world{Input: in}}
		begin := in.Snapshot
		begin.Pods = slices.Clone(begin.Pods)
		s := session(t, &begin)
		for range d.n("deltas", 1, 4) {
			if d.chance("not asked in between") {
				agree(t, s, in)
			}
			if err := s.Apply(drawDelta(d, &in.Snapshot)); err != nil {
				t.Fatalf("apply: %v", err)
			}
		}
		agree(t, s, in)
	})
}

// TestEveryPlanForTiedPodsKeepsTheRules is TestEveryPlanKeepsTheRules for pods that have pod rules.
func TestEveryPlanForTiedPodsKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{Input: drawTied(t)}
		w.plan(t)
	})
}
