package rules_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

func TestProtected(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  model.Pod
		want answer
	}{
		"a pod that does not say":           {model.Pod{}, answer{}},
		"for ever":                          {model.Pod{DoNotDisrupt: true}, answer{model.CodePodDoNotDisrupt, 0}},
		"for a while":                       {model.Pod{DoNotDisrupt: true, DoNotDisruptUntil: at(12)}, answer{model.CodePodDoNotDisrupt, 12}},
		"for a while that is over":          {model.Pod{DoNotDisrupt: true, DoNotDisruptUntil: at(0)}, answer{}},
		"an end alone protects nothing":     {model.Pod{DoNotDisruptUntil: at(12)}, answer{}},
		"its end is the end, to the second": {model.Pod{DoNotDisrupt: true, DoNotDisruptUntil: at(1.0 / 60)}, answer{model.CodePodDoNotDisrupt, 1.0 / 60}},
	} {
		t.Run(name, func(t *testing.T) {
			r, until := rules.Protected(&tc.pod, noon())
			if r.Code != tc.want.code || tc.want.until != 0 && !until.Equal(at(tc.want.until)) {
				t.Errorf("%v until %s, want %v", r, until, tc.want)
			}
		})
	}
}

func TestLeaves(t *testing.T) {
	ready, web := model.Node{Ready: true}, model.PodClass{OwnerKind: "ReplicaSet"}
	ends := func(seconds float64) model.Pod {
		return model.Pod{Terminating: true, TerminationDeadline: at(seconds / 60)}
	}
	for name, tc := range map[string]struct {
		pod   model.Pod
		class model.PodClass
		node  model.Node
		wait  *time.Duration
		want  bool
	}{
		"a pod that stays":                     {model.Pod{}, web, ready, nil, false},
		"one whose end is not known":           {model.Pod{Terminating: true}, web, ready, nil, false},
		"one that ends as soon as is usual":    {ends(30), web, ready, nil, true},
		"one that ends later":                  {ends(30.5), web, ready, nil, false},
		"later, where the policy waits longer": {ends(60), web, ready, new(time.Minute), true},
		"sooner than usual, but not enough":    {ends(20), web, ready, new(10 * time.Second), false},
		"one that ends now, for no wait":       {ends(0), web, ready, new(time.Duration(0)), false},
		"one that is late":                     {ends(-9.5), web, ready, nil, true},
		"one that is too late":                 {ends(-10), web, ready, nil, false},
		"on a node that is not ready":          {ends(10), web, model.Node{}, nil, false},
		"a DaemonSet's":                        {ends(10), model.PodClass{OwnerKind: "DaemonSet", Daemon: true}, ready, nil, false},
		"the kubelet's own":                    {ends(10), model.PodClass{OwnerKind: "Node", Mirror: true}, ready, nil, false},
		"a StatefulSet's, which comes back":    {ends(10), model.PodClass{OwnerKind: "StatefulSet"}, ready, nil, false},
		"an operator's, which may come back":   {ends(10), model.PodClass{OwnerKind: "StrimziPodSet"}, ready, nil, false},
		"a Deployment's":                       {ends(10), model.PodClass{OwnerKind: "Deployment"}, ready, nil, true},
		"one that has devices":                 {ends(10), model.PodClass{DeviceClaims: []model.DeviceClaim{{}}}, ready, nil, false},
		"one that has a volume for itself":     {ends(10), model.PodClass{Volumes: []model.VolumeTopology{{Exclusive: true}}}, ready, nil, false},
		"one that nothing makes again":         {ends(10), model.PodClass{}, ready, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			soon, until := rules.Leaves(&tc.pod, &tc.class, &tc.node, tc.wait, noon())
			if soon != tc.want || soon && !until.Equal(tc.pod.TerminationDeadline.Add(10*time.Second)) {
				t.Errorf("%v until %s, want %v", soon, until, tc.want)
			}
		})
	}
}

func TestPatient(t *testing.T) {
	since := func(seconds float64) model.Pod { return model.Pod{UnschedulableTime: at(-seconds / 60)} }
	for name, tc := range map[string]struct {
		pod  model.Pod
		wait *time.Duration
		want bool
	}{
		"a pod that was not refused yet": {model.Pod{}, nil, true},
		"one that just was":              {since(0), nil, true},
		"one that has waited":            {since(39.5), nil, true},
		"one that has waited for long":   {since(40), nil, false},
		"by the policy, not for long":    {since(60), new(time.Minute), true},
		"by the policy, for long":        {since(20), new(5 * time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules.Patient(&tc.pod, tc.wait, noon()); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestRollingOut(t *testing.T) {
	web, db := rules.Owner{Namespace: "shop", Kind: "Deployment", Name: "web"}, rules.Owner{Namespace: "shop", Kind: "StatefulSet", Name: "db"}
	var r rules.Rollouts
	check(t, says(r.RollingOut(web, "shop/web-1", noon())), answer{})
	r.Add(web, "1", at(-90))
	r.Add(web, "1", at(-1))
	check(t, says(r.RollingOut(web, "shop/web-1", noon())), answer{})
	r.Add(db, "1", at(-1))
	r.Add(db, "2", time.Time{}) // not bound yet
	check(t, says(r.RollingOut(db, "shop/db-1", noon())), answer{model.CodeRollout, 9})
	r.Add(web, "2", at(-3))
	check(t, says(r.RollingOut(web, "shop/web-1", noon())), answer{model.CodeRollout, 9})
	r.Add(db, "2", at(0))
	if got := r.Next(noon()); !got.Equal(at(9)) {
		t.Errorf("the first of two rollouts ends at %s", got)
	}
	if got := r.Until(web, at(9)); !got.IsZero() {
		t.Errorf("ten minutes after the newest pod it still counts as being rolled out, until %s", got)
	}
	r.Add(rules.Owner{}, "1", at(0))
	r.Add(rules.Owner{}, "2", at(0))
	check(t, says(r.RollingOut(rules.Owner{}, "shop/bare", noon())), answer{})
}
