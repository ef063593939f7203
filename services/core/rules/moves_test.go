package rules_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// web is the class of the pods of a Deployment's ReplicaSet.
func web() model.PodClass {
	return model.PodClass{Namespace: "shop", OwnerKind: "Deployment", OwnerName: "web", OwnerUID: "u1", OwnerRevision: "7f"}
}

// move is a disruption of one pod of a class that was accepted and has ended at these minutes; 0 for not yet.
func move(c model.PodClass, from, end float64, edit ...func(*model.DisruptionRecord)) model.DisruptionRecord {
	r := model.DisruptionRecord{
		Reason: model.ReasonUnderutilized, AcceptTime: at(from), Workloads: []model.WorkloadEvictions{rules.WorkloadOf(&c).Evicts(1)},
	}
	if end != 0 {
		r.EndTime = at(end)
	}
	for _, f := range edit {
		f(&r)
	}
	return r
}

func because(why model.DisruptionReason) func(*model.DisruptionRecord) {
	return func(r *model.DisruptionRecord) { r.Reason = why }
}

func count(n int) func(*model.DisruptionRecord) {
	return func(r *model.DisruptionRecord) { r.Workloads[0].Pods = n }
}

// born is a pod that was made at a minute, and bound a minute later.
func born(id string, minute float64) model.Pod {
	return model.Pod{ID: model.PodID(id), CreateTime: at(minute), BindTime: at(minute + 1)}
}

// resting are the ids of those pods of a class that rest at noon.
func resting(s model.Snapshot, c model.PodClass, pods []model.Pod) []model.PodID {
	m := rules.NewMoves(&s, nil)
	for i := range pods {
		m.Add(&c, &pods[i])
	}
	var out []model.PodID
	for i := range pods {
		if !m.Until(&c, &pods[i], noon()).IsZero() {
			out = append(out, pods[i].ID)
		}
	}
	return out
}

func TestResting(t *testing.T) {
	for name, tc := range map[string]struct {
		records        []model.DisruptionRecord
		rest           *time.Duration
		created, bound float64
		want           answer
	}{
		"nothing was moved":                            {nil, nil, -10, -10, answer{}},
		"a pod that came in the place of a moved one":  {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, -11, -10, answer{model.CodeResting, 20}},
		"one that was there before":                    {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, -16, -10, answer{}},
		"one that came while the move still goes on":   {[]model.DisruptionRecord{move(web(), -15, 0)}, nil, -3, -2, answer{model.CodeResting, 28}},
		"one that came within a minute after the move": {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, -7.5, -5, answer{model.CodeResting, 25}},
		"one that came later":                          {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, -6, -5, answer{}},
		"the second of two moves":                      {[]model.DisruptionRecord{move(web(), -15, -8), move(web(), -6, -2)}, nil, -5, -4, answer{model.CodeResting, 26}},
		"one that has rested":                          {[]model.DisruptionRecord{move(web(), -50, -40)}, nil, -45, -30, answer{}},
		"as long as the policy says":                   {[]model.DisruptionRecord{move(web(), -15, -8)}, minutes(12), -11, -10, answer{model.CodeResting, 2}},
		"a policy of no rest":                          {[]model.DisruptionRecord{move(web(), -15, -8)}, minutes(0), -11, -10, answer{}},
		"a move that was rolled back":                  {[]model.DisruptionRecord{move(web(), -15, -8, func(r *model.DisruptionRecord) { r.RolledBack = true })}, nil, -11, -10, answer{}},
		"an interruption is not by choice":             {[]model.DisruptionRecord{move(web(), -15, -8, because(model.ReasonInterrupted))}, nil, -11, -10, answer{}},
		"an unhealthy node is not by choice":           {[]model.DisruptionRecord{move(web(), -15, -8, because(model.ReasonUnhealthy))}, nil, -11, -10, answer{}},
		"an expiry is by choice":                       {[]model.DisruptionRecord{move(web(), -15, -8, because(model.ReasonExpired))}, nil, -11, -10, answer{model.CodeResting, 20}},
		"a pod that does not say when it was made":     {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, 0, -10, answer{model.CodeResting, 20}},
		"a pod that is not bound":                      {[]model.DisruptionRecord{move(web(), -15, -8)}, nil, -11, 0, answer{}},
		"one that was made in the same second":         {[]model.DisruptionRecord{move(web(), -15+0.9/60, -8)}, nil, -15, -10, answer{model.CodeResting, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			p := model.Pod{ID: "shop/web-1"}
			if tc.created != 0 {
				p.CreateTime = at(tc.created)
			}
			if tc.bound != 0 {
				p.BindTime = at(tc.bound)
			}
			c := web()
			m := rules.NewMoves(&model.Snapshot{Disruptions: tc.records}, tc.rest)
			m.Add(&c, &p)
			check(t, says(m.Resting(&c, &p, noon())), tc.want)
		})
	}
}

func TestRestIsOfThePodsOfOneControllerAndRevision(t *testing.T) {
	others := map[string]func(c *model.PodClass){
		"another namespace":               func(c *model.PodClass) { c.Namespace = "lab" },
		"another kind":                    func(c *model.PodClass) { c.OwnerKind = "ReplicaSet" },
		"another name":                    func(c *model.PodClass) { c.OwnerName = "api" },
		"a Deployment that was made anew": func(c *model.PodClass) { c.OwnerUID = "u2" },
		"a rollout":                       func(c *model.PodClass) { c.OwnerRevision = "8a" },
		"a record stored before uids":     func(c *model.PodClass) { c.OwnerUID, c.OwnerRevision = "", "" },
	}
	for name, edit := range others {
		t.Run(name, func(t *testing.T) {
			other := web()
			edit(&other)
			s := model.Snapshot{Disruptions: []model.DisruptionRecord{move(other, -15, -8)}}
			if got := resting(s, web(), []model.Pod{born("shop/web-1", -11)}); got != nil {
				t.Errorf("%v rest", got)
			}
			if got := resting(s, other, []model.Pod{born("shop/web-1", -11)}); len(got) != 1 {
				t.Errorf("the pod that was moved does not rest")
			}
		})
	}
	none := model.PodClass{Namespace: "shop"}
	s := model.Snapshot{Disruptions: []model.DisruptionRecord{move(none, -15, -8)}}
	if got := resting(s, none, []model.Pod{born("shop/bare", -11)}); got != nil {
		t.Errorf("%v rest, and nothing made them again", got)
	}
}

func TestAsManyPodsRestAsWereMoved(t *testing.T) {
	db := model.PodClass{Namespace: "shop", OwnerKind: "StatefulSet", OwnerName: "db", OwnerUID: "u3", OwnerRevision: "db-5"}
	named := func(ids ...model.PodID) func(*model.DisruptionRecord) {
		return func(r *model.DisruptionRecord) { r.Pods, r.Workloads[0].Pods = ids, len(ids) }
	}
	replacedBy := func(r *model.DisruptionRecord) { r.Replacements = []model.ClaimID{"c-new"} }
	for name, tc := range map[string]struct {
		class   model.PodClass
		records []model.DisruptionRecord
		claims  []model.Claim
		pods    []model.Pod
		want    []model.PodID
	}{
		"the first of three": {
			web(),
			[]model.DisruptionRecord{move(web(), -15, -8)},
			nil,
			[]model.Pod{born("c", -9), born("a", -12), born("b", -10)},
			[]model.PodID{"a"},
		},
		"of those of one second, the first by name": {
			web(), []model.DisruptionRecord{move(web(), -15, -8)}, nil, []model.Pod{born("b", -12), born("a", -12)}, []model.PodID{"a"},
		},
		"one that waits counts, and so does one that ends": {
			web(),
			[]model.DisruptionRecord{move(web(), -15, -8, count(2))},
			nil,
			[]model.Pod{{ID: "a", CreateTime: at(-13)}, {ID: "b", CreateTime: at(-12), BindTime: at(-11), Terminating: true}, born("c", -10)},
			[]model.PodID{"b"},
		},
		"what two records say adds up": {
			web(),
			[]model.DisruptionRecord{move(web(), -15, -8), move(web(), -15, -8)},
			nil,
			[]model.Pod{born("a", -12), born("b", -10), born("c", -9)},
			[]model.PodID{"a", "b"},
		},
		"a pod that two records may mean counts for the one that ends first": {
			web(),
			[]model.DisruptionRecord{move(web(), -14, 0), move(web(), -15, -8)},
			nil,
			[]model.Pod{born("a", -12), born("b", -3), born("c", -2)},
			[]model.PodID{"a", "b"},
		},
		"nothing of a record is left for what came too late": {
			web(),
			[]model.DisruptionRecord{move(web(), -25, -20, count(5)), move(web(), -10, -8)},
			nil,
			[]model.Pod{born("a", -22), born("b", -9), born("c", -9)},
			[]model.PodID{"a", "b"},
		},
		"no pod is evicted before the replacements are there": {
			web(),
			[]model.DisruptionRecord{move(web(), -15, -8, replacedBy)},
			[]model.Claim{{ID: "c-new", InitializeTime: at(-11)}},
			[]model.Pod{born("a", -12), born("b", -10)},
			[]model.PodID{"b"},
		},
		"a replacement that is forgotten says nothing": {
			web(),
			[]model.DisruptionRecord{move(web(), -15, -8, replacedBy)},
			nil,
			[]model.Pod{born("a", -12), born("b", -10)},
			[]model.PodID{"a"},
		},
		"a StatefulSet's pod keeps its name": {
			db,
			[]model.DisruptionRecord{move(db, -15, -8, named("db-1"))},
			nil,
			[]model.Pod{born("db-0", -12), born("db-1", -10)},
			[]model.PodID{"db-1"},
		},
		"a StatefulSet's pods of two records": {
			db,
			[]model.DisruptionRecord{move(db, -15, 0, named("db-0", "db-2")), move(db, -12, 0, named("db-1"))},
			nil,
			[]model.Pod{born("db-0", -20), born("db-1", -10), born("db-2", -11), born("db-3", -10)},
			[]model.PodID{"db-1", "db-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := resting(model.Snapshot{Disruptions: tc.records, Claims: tc.claims}, tc.class, tc.pods)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("resting (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoMorePodsRestThanWereMoved draws records and pods. Never more rest than were moved, each was made when a record
// may mean it, and no other choice of pods for the records finds more.
func TestNoMorePodsRestThanWereMoved(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s model.Snapshot
		moved := 0
		for range r.IntN(5) {
			from := -25 + 20*r.Float64()
			end := from + 5*r.Float64()
			if r.IntN(4) == 0 {
				end = 0
			}
			rec := move(web(), from, end, count(r.IntN(4)))
			moved += rec.Workloads[0].Pods
			s.Disruptions = append(s.Disruptions, rec)
		}
		var pods []model.Pod
		for i := range r.IntN(9) {
			pods = append(pods, born(fmt.Sprintf("shop/web-%d", i), float64(-25+r.IntN(24))))
		}
		got := resting(s, web(), pods)
		if len(got) > moved {
			t.Fatalf("seed %d: %d pods rest, %d were moved", seed, len(got), moved)
		}
		if most := matching(s.Disruptions, pods); len(got) != most {
			t.Fatalf("seed %d: %d pods rest, %d of them may have been moved", seed, len(got), most)
		}
		slices.Reverse(pods)
		r.Shuffle(len(s.Disruptions), func(i, j int) { s.Disruptions[i], s.Disruptions[j] = s.Disruptions[j], s.Disruptions[i] })
		again := resting(s, web(), pods)
		slices.Reverse(again)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("seed %d: the order of lists makes a difference:\n%s", seed, diff)
		}
	}
}

// matching is how many pods find a record of their own at most, by augmenting paths.
func matching(records []model.DisruptionRecord, pods []model.Pod) int {
	var slots []model.DisruptionRecord
	for _, r := range records {
		for range r.Workloads[0].Pods {
			slots = append(slots, r)
		}
	}
	holder := make([]int, len(slots))
	for i := range holder {
		holder[i] = -1
	}
	var find func(pod int, seen map[int]bool) bool
	find = func(pod int, seen map[int]bool) bool {
		made := pods[pod].CreateTime
		for i, s := range slots {
			late := !s.EndTime.IsZero() && made.After(s.EndTime.Add(time.Minute))
			if seen[i] || late || made.Before(s.AcceptTime.Truncate(time.Second)) {
				continue
			}
			seen[i] = true
			if holder[i] < 0 || find(holder[i], seen) {
				holder[i] = pod
				return true
			}
		}
		return false
	}
	n := 0
	for i := range pods {
		if find(i, map[int]bool{}) {
			n++
		}
	}
	return n
}
