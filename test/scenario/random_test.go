package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomClustersComeToRest makes clusters up: half full nodes of several pools and types, some of them unhealthy,
// drifted or about to expire, with pods that have rules for one another, disruption budgets, and pods without a place.
// What holds of the plans of files holds of theirs: nothing goes round, and rules hold with what is under way.
func TestRandomClustersComeToRest(t *testing.T) {
	loader := NewLoader()
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			text := cluster(rand.New(rand.NewPCG(seed, 5)))
			s, err := loader.Load([]byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			// Where nodes are packed tightly, the pods of those that go may be packed in another way the next time, and
			// need one node more: of what is under way only rules are looked at.
			again := slices.DeleteFunc(underWay(s.Input), func(p string) bool { return !strings.HasPrefix(p, "under way: ") })
			if all := slices.Concat(problems(s.Input), rounds(s.Input), again); len(all) > 0 {
				t.Errorf("%s\nin\n%s", strings.Join(all, "\n"), text)
			}
		})
	}
}

// cluster is a scenario of chance.
func cluster(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	sometimes := func(percent int, word string) string {
		if r.IntN(100) < percent {
			return " " + word
		}
		return ""
	}
	var b, nodes strings.Builder
	line := func(to *strings.Builder, format string, args ...any) { fmt.Fprintf(to, format+"\n", args...) }
	line(&b, "A cluster of chance.\n-- catalog --")
	line(&b, "type small cpu=2 mem=8Gi price=$0.10 spot=$0.04")
	line(&b, "type mid cpu=4 mem=16Gi price=$0.20 spot=$0.08")
	line(&b, "type big cpu=8 mem=32Gi price=$0.38 spot=$0.15")
	line(&b, "type space cpu=2 mem=32Gi price=$0.16 spot=$0.06\n-- snapshot --")
	pools := []string{"one", "two"}
	for _, p := range pools {
		line(&b, "pool %s capacity=%s%s%s%s%s", p, pick("on-demand", "on-demand,spot", "spot"), sometimes(30, "budget="+pick("1", "2", "50%")),
			sometimes(20, "policy=Balanced"), sometimes(10, "limits=nodes="+pick("3", "8")), sometimes(10, "replicas="+pick("1", "3")))
	}
	if r.IntN(4) == 0 {
		line(&b, "daemonset log cpu=100m mem=100Mi")
	}
	if r.IntN(5) == 0 {
		line(&b, "buffer spare replicas=%d cpu=700m mem=1Gi", 1+r.IntN(3))
	}
	sizes := map[string]int{"small": 2000, "mid": 4000, "big": 8000, "space": 2000}
	owners := 2 + r.IntN(5)
	style := make([]string, owners)
	for i := range style {
		style[i] = sometimes(20, "spread=zone") + sometimes(15, "apart=hostname") + sometimes(10, `near="zone of=app=w0"`) +
			sometimes(10, "deletion-cost="+pick("1000000000", "-1000000000")) + sometimes(10, "priority=100000000")
	}
	pod := 0
	for n := range 3 + r.IntN(12) {
		kind := pick("small", "mid", "mid", "big", "space")
		var on []string
		for free := sizes[kind]; r.IntN(4) > 0; pod++ {
			cpu := 100 * (1 + r.IntN(15))
			if free -= cpu; free < 0 {
				break
			}
			w := r.IntN(owners)
			line(&b, "pod p%d cpu=%dm mem=%dMi owner=ReplicaSet/w%d labels=app=w%d bound=%dm%s%s", pod, cpu, 100*(1+r.IntN(30)), w, w,
				1+r.IntN(200), strings.ReplaceAll(style[w], "apart=hostname", ""), sometimes(4, "do-not-disrupt"))
			on = append(on, fmt.Sprintf("p%d", pod))
		}
		text := fmt.Sprintf("node n%d type=%s zone=%s pool=%s capacity=%s age=%dh", n, kind, pick("a", "b", "c"), pick(pools...),
			pick("on-demand", "on-demand", "spot"), 2+r.IntN(30))
		if on != nil {
			text += " pods=" + strings.Join(on, ",")
		}
		line(&nodes, "%s%s%s%s", text, sometimes(12, "pool-hash=before"), sometimes(8, "expires="+pick("30m", "-5m", "5h")),
			sometimes(5, "condition=KernelReady=False:40m"))
	}
	for range r.IntN(3) {
		w := r.IntN(owners)
		line(&b, "pod new%d cpu=%dm mem=1Gi owner=ReplicaSet/w%d labels=app=w%d%s", pod, 100*(1+r.IntN(20)), w, w, style[w])
		pod++
	}
	for w := range owners {
		if r.IntN(4) == 0 {
			line(&b, "pdb w%d select=app=w%d allow=%d", w, w, r.IntN(3))
		}
	}
	return b.String() + nodes.String()
}
