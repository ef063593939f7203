package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// set is a disruption of claims c0, c1, … and replacements r0, r1, … that may be launched as the offerings say.
func set(candidates int, replacements ...[]model.RankedOffering) model.Plan {
	p := plan()
	d := model.Disruption{ID: "d-1", Reason: model.ReasonUnderutilized}
	for i := range candidates {
		d.Candidates = append(d.Candidates, model.ClaimID(fmt.Sprintf("c%d", i)))
	}
	for i, offerings := range replacements {
		w := nodeClaim(fmt.Sprintf("r%02d", i), offerings...)
		w.Disruption = d.ID
		p.NodeClaims = append(p.NodeClaims, w)
		d.Replacements = append(d.Replacements, w.ID)
	}
	p.Disruptions = []model.Disruption{d}
	return p
}

func TestSetsMustCostLessWhateverIsLaunched(t *testing.T) {
	small, large := offering("c5.large", "a", 85_000), offering("m5.large", "b", 96_000)
	huge := offering("m5.xlarge", "a", 192_000)
	for name, c := range map[string]struct {
		plan model.Plan
		want model.Code
		kept [][]model.RankedOffering
		save int64
	}{
		"two for one": {plan: set(2, []model.RankedOffering{small, large}), kept: [][]model.RankedOffering{{small, large}}, save: 96_000},
		"three for two, as expensive as three": {
			plan: set(3, []model.RankedOffering{huge}, []model.RankedOffering{large}), want: model.CodeNoCheaper,
		},
		"three for two, of which the dearest is left out": {
			plan: set(3, []model.RankedOffering{small, huge}, []model.RankedOffering{small, large}),
			kept: [][]model.RankedOffering{{small}, {small, large}}, save: 3*96_000 - 85_000 - 96_000,
		},
		"two for two, of which nothing expensive may be left": {
			plan: set(2, []model.RankedOffering{small, large}, []model.RankedOffering{small, huge}),
			kept: [][]model.RankedOffering{{small, large}, {small}}, save: 2*96_000 - 85_000 - 96_000,
		},
		"two for two of the same price": {plan: set(2, []model.RankedOffering{large}, []model.RankedOffering{large}), want: model.CodeNoCheaper},
	} {
		t.Run(name, func(t *testing.T) {
			o := Verify(c.plan, ten())
			if got := code(t, o, "d-1"); got != c.want {
				t.Fatalf("%+v, want reason %d", o.Verdicts, c.want)
			}
			if c.want != 0 {
				return
			}
			var kept [][]model.RankedOffering
			for _, claim := range o.Groups[0].Claims[len(c.plan.Disruptions[0].Candidates):] {
				kept = append(kept, claim.Offerings)
			}
			if d := cmp.Diff(c.kept, kept); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got := o.Groups[0].Disruption.Saving; got != c.save {
				t.Errorf("saves %d, want %d", got, c.save)
			}
		})
	}
}

// TestLargestSetFitsOneTransaction is a set of as many claims as a planner removes at once, with as many offerings as a
// policy may ask for and far more pods and labels than usual.
func TestLargestSetFitsOneTransaction(t *testing.T) {
	const size = 32
	s := ten()
	var cheap []model.RankedOffering
	for i := range 200 {
		zone := []string{"a", "b"}[i%2]
		name := fmt.Sprintf("m7gd.metal-%02dxl", i/2)
		cheap = append(cheap, offering(name, zone, 50_000))
		s.Market.(prices)[OfferingKey{model.TypeName(name), zone, model.OnDemand, ""}] = Offering{Price: 50_000}
		editClass(&s, func(c *Class) { c.Shapes[model.TypeName(name)] = c.Shapes["m5.large"] })
	}
	editPool(&s, func(p *cluster.Pool) { p.Requirements = []model.Requirement{{Key: "tier", Operator: model.Exists}} })
	many := func(n int, prefix string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%s-%03d", prefix, i))
		}
		return out
	}
	pods := func(n int, prefix string) (out []model.PodID) {
		for _, name := range many(n, prefix) {
			out = append(out, model.PodID(name))
		}
		return out
	}
	base := s.Claims["c0"]
	base.Offerings, base.Pods = cheap, pods(58, "a-team-with-a-long-name/a-deployment-with-a-long-name-5d4f8c9b7f")
	base.Requirements = []model.Requirement{in("node.kubernetes.io/instance-type", many(100, "m7gd.metal")...)}
	for _, key := range many(40, "karpenter.k8s.aws/instance-accelerator") {
		base.Labels = append(base.Labels, model.Label{Key: key, Value: strings.Repeat("x", 20)})
	}
	var replacements [][]model.RankedOffering
	for i := range size {
		c := base
		c.ID = model.ClaimID(fmt.Sprintf("c%d", i))
		s.Claims[c.ID], s.Nodes[c.ID] = c, cluster.Node{Name: model.NodeName(string(c.ID)), Ready: true}
		replacements = append(replacements, cheap)
	}
	p := set(size, replacements...)
	for i := range p.NodeClaims {
		p.NodeClaims[i].Pods = pods(58, fmt.Sprintf("a-team-with-a-long-name/a-deployment-with-a-long-name-%02d-5d4f8c9b7f", i))
		p.NodeClaims[i].Requirements = []model.Requirement{in("tier", many(100, "m7gd.metal")...)}
		for _, pod := range p.NodeClaims[i].Pods {
			p.Disruptions[0].Destinations = append(p.Disruptions[0].Destinations, model.Placement{Pod: pod, Claim: p.NodeClaims[i].ID})
		}
	}
	for i := range len(p.Disruptions[0].Destinations) / 10 {
		p.Disruptions[0].Workloads = append(p.Disruptions[0].Workloads, model.WorkloadEvictions{
			Namespace: "a-team-with-a-long-name", Kind: "ReplicaSet", Name: fmt.Sprintf("a-deployment-with-a-long-name-5d4f8c9b7f-%d", i), Pods: 10,
		})
	}
	o := Verify(p, s)
	if got := code(t, o, "d-1"); got != 0 {
		t.Fatalf("%+v", o.Verdicts[0])
	}
	if n := len(o.Groups[0].Claims[size].Offerings); n < fewestOfferings {
		t.Errorf("a replacement has %d offerings left, want at least %d", n, fewestOfferings)
	}
	t.Logf("%d claims take %d bytes of %d", len(o.Groups[0].Claims), o.Groups[0].Bytes(), maxGroupBytes)
}
