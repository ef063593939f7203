package cloudtest

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestFake(t *testing.T) {
	c, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	Suite(t, func(*testing.T) World {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		f := New(c, func() time.Time { return now }, time.Second)
		return World{
			Cloud: f, Classes: f, Market: f, Queue: f, Checks: f,
			Spec: cloud.ClassSpec{
				Name: "default", Role: "nodes",
				SubnetTerms: []cloud.SelectorTerm{{Tags: model.Labels{{Key: "karpenter.sh/discovery", Value: "test"}}}},
			},
			Exhaust: f.Exhaust, Limit: f.Limit, Send: f.Send,
			Impair:  func(id string, _ bool) { f.Report(cloud.Status{InstanceID: id, Impaired: true, ImpairedSince: now}) },
			Advance: func(d time.Duration) { now = now.Add(d) },
		}
	})
}
