package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPendingPodsGetTheCheapestNodes(t *testing.T) {
	tests := map[string]struct {
		pods  int
		class string
		want  []string
		price int64
	}{
		"no pods need no node":                          {0, "inflate", []string{}, 0},
		"5 pods fit on one m5.large":                    {5, "inflate", []string{"m5.large×5"}, 96000},
		"12 pods tie with an m5.xlarge; smaller wins":   {12, "inflate", []string{"m5.large×6", "m5.large×6"}, 192000},
		"13 pods are cheaper on one m5.xlarge":          {13, "inflate", []string{"m5.xlarge×13"}, 192000},
		"one pod gets the cheapest node":                {1, "inflate", []string{"c5.large×1"}, 85000},
		"2 CPU and 2.5 GiB need an m5.xlarge":           {1, "big", []string{"m5.xlarge×1"}, 192000},
		"a pod that is short of memory gets an r5":      {1, "fat", []string{"r5.large×1"}, 126000},
		"many pods fill large nodes and the rest small": {20, "inflate", []string{"m5.xlarge×13", "r5.large×7"}, 318000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.class("big", 2000, 2560*mib, nil)
			w.class("fat", 500, 12*gib, nil)
			w.pending(tt.class, tt.pods)
			p := w.decide(t)
			if diff := cmp.Diff(tt.want, types(p)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if p.CostAfter != tt.price || len(p.Pending) > 0 {
				t.Errorf("costs %d and leaves %d pods, want %d and none", p.CostAfter, len(p.Pending), tt.price)
			}
			if p.LowerBound == nil != (tt.pods == 0) {
				t.Errorf("lower bound is %v", p.LowerBound)
			}
		})
	}
}

func TestThePlanNamesTheTie(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pending("inflate", 12)
	p := w.decide(t)
	for _, r := range p.NodeClaims[0].RunnersUp {
		if r.Offering.InstanceType == "m5.xlarge" && r.Reason.Code == model.CodeTie {
			return
		}
	}
	t.Errorf("no runner-up says that m5.xlarge ties: %+v", p.NodeClaims[0].RunnersUp)
}

func TestNodesThatAreNotWorthTheirPriceGo(t *testing.T) {
	type want struct {
		reasons []model.DisruptionReason
		claims  []string
		cost    int64
	}
	tests := map[string]struct {
		build func(*world)
		want  want
	}{
		"an empty node goes": {
			func(w *world) { w.node("n1", "m5.large", "inflate", 0) },
			want{[]model.DisruptionReason{model.ReasonEmpty}, []string{}, 0},
		},
		"of two half-empty nodes one goes": {
			func(w *world) {
				w.node("n1", "m5.large", "inflate", 3)
				w.node("n2", "m5.large", "inflate", 2)
			},
			want{[]model.DisruptionReason{model.ReasonUnderutilized}, []string{}, 96000},
		},
		"one pod moves to a cheaper node": {
			func(w *world) { w.node("n1", "m5.large", "inflate", 1) },
			want{[]model.DisruptionReason{model.ReasonUnderutilized}, []string{"c5.large×1"}, 85000},
		},
		"a node that is well used stays": {
			func(w *world) { w.node("n1", "m5.large", "inflate", 5) },
			want{nil, []string{}, 96000},
		},
		"two nodes become one": {
			func(w *world) {
				w.class("half", 1000, 2900*mib, nil)
				w.node("n1", "r5.large", "half", 1)
				w.node("n2", "r5.large", "half", 1)
				w.node("n3", "r5.large", "half", 1)
			},
			want{[]model.DisruptionReason{model.ReasonUnderutilized}, []string{"m5.xlarge×3"}, 192000},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			tt.build(w)
			p := w.decide(t)
			var reasons []model.DisruptionReason
			for _, d := range p.Disruptions {
				reasons = append(reasons, d.Reason)
			}
			got := want{reasons, types(p), p.CostAfter}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s\n%+v", diff, p.Nodes)
			}
		})
	}
}
