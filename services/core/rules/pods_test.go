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

func TestResting(t *testing.T) {
	web := rules.Owner{Namespace: "shop", Kind: "ReplicaSet", Name: "web"}
	// move is a disruption of web's pods that was accepted and has ended at these minutes; 0 for not yet.
	move := func(from, end float64) model.DisruptionRecord {
		r := model.DisruptionRecord{
			Reason: model.ReasonUnderutilized, AcceptTime: at(from),
			Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "web", Pods: 1}},
		}
		if end != 0 {
			r.EndTime = at(end)
		}
		return r
	}
	because := func(why model.DisruptionReason) model.DisruptionRecord {
		r := move(-15, -8)
		r.Reason = why
		return r
	}
	undone := move(-15, -8)
	undone.RolledBack = true
	for name, tc := range map[string]struct {
		records        []model.DisruptionRecord
		rest           *time.Duration
		created, bound float64
		want           answer
	}{
		"nothing was moved":                             {nil, nil, -10, -10, answer{}},
		"a pod that came in the place of a moved one":   {[]model.DisruptionRecord{move(-15, -8)}, nil, -11, -10, answer{model.CodeResting, 20}},
		"one that was there before":                     {[]model.DisruptionRecord{move(-15, -8)}, nil, -16, -10, answer{}},
		"one that came while the move still goes on":    {[]model.DisruptionRecord{move(-15, 0)}, nil, -3, -2, answer{model.CodeResting, 28}},
		"one that came within a minute after the move":  {[]model.DisruptionRecord{move(-15, -8)}, nil, -7.5, -5, answer{model.CodeResting, 25}},
		"one that came later rests from the move's end": {[]model.DisruptionRecord{move(-15, -8)}, nil, -6, -5, answer{model.CodeResting, 22}},
		"the longer of two moves":                       {[]model.DisruptionRecord{move(-15, -8), move(-6, -2)}, nil, -5, -4, answer{model.CodeResting, 26}},
		"one that has rested":                           {[]model.DisruptionRecord{move(-50, -40)}, nil, -45, -30, answer{}},
		"as long as the policy says":                    {[]model.DisruptionRecord{move(-15, -8)}, minutes(12), -11, -10, answer{model.CodeResting, 2}},
		"a policy of no rest":                           {[]model.DisruptionRecord{move(-15, -8)}, minutes(0), -11, -10, answer{}},
		"a move that was rolled back":                   {[]model.DisruptionRecord{undone}, nil, -11, -10, answer{}},
		"an interruption is not by choice":              {[]model.DisruptionRecord{because(model.ReasonInterrupted)}, nil, -11, -10, answer{}},
		"an unhealthy node is not by choice":            {[]model.DisruptionRecord{because(model.ReasonUnhealthy)}, nil, -11, -10, answer{}},
		"an expiry is by choice":                        {[]model.DisruptionRecord{because(model.ReasonExpired)}, nil, -11, -10, answer{model.CodeResting, 20}},
		"a pod that does not say when it was made":      {[]model.DisruptionRecord{move(-15, -8)}, nil, 0, -10, answer{model.CodeResting, 20}},
		"a pod that is not bound":                       {[]model.DisruptionRecord{move(-15, -8)}, nil, -11, 0, answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := model.Pod{ID: "shop/web-1"}
			if tc.created != 0 {
				p.CreateTime = at(tc.created)
			}
			if tc.bound != 0 {
				p.BindTime = at(tc.bound)
			}
			m := rules.NewMoves(tc.records, tc.rest)
			check(t, says(m.Resting(web, &p, noon())), tc.want)
			check(t, says(m.Resting(rules.Owner{Namespace: "shop", Kind: "Deployment", Name: "web"}, &p, noon())), answer{})
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
