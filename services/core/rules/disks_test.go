package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// TestWhereVolumesOnDisksCanBeReached has one node, n1.
func TestWhereVolumesOnDisksCanBeReached(t *testing.T) {
	in := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: model.In, Values: values}
	}
	term := func(reqs ...model.Requirement) model.NodeAffinityTerm {
		return model.NodeAffinityTerm{Requirements: reqs}
	}
	on := func(host string) model.NodeAffinityTerm { return term(in(labels.Hostname, host)) }
	inZone := in(labels.Zone, "a")
	nodes := []model.Node{{Name: "n1", Labels: model.LabelsOf(map[string]string{labels.Hostname: "n1", model.KeyNodeName: "n1"})}}

	for name, tc := range map[string]struct {
		driver     string
		terms, now []model.NodeAffinityTerm
	}{
		"a node that is there":             {terms: []model.NodeAffinityTerm{on("n1")}, now: []model.NodeAffinityTerm{on("n1")}},
		"a node that is gone":              {terms: []model.NodeAffinityTerm{on("gone")}},
		"a node that is gone, in a zone":   {terms: []model.NodeAffinityTerm{term(in(labels.Hostname, "gone"), inZone)}, now: []model.NodeAffinityTerm{term(inZone)}},
		"a node that is gone, by its name": {terms: []model.NodeAffinityTerm{term(in(model.KeyNodeName, "gone"))}},
		"one of two nodes is there": {
			terms: []model.NodeAffinityTerm{on("gone"), on("n1")}, now: []model.NodeAffinityTerm{on("gone"), on("n1")},
		},
		"a node that is gone, or a zone": {
			terms: []model.NodeAffinityTerm{on("gone"), term(inZone)}, now: []model.NodeAffinityTerm{on("gone"), term(inZone)},
		},
		"a driver attaches it": {driver: "disk.example.com", terms: []model.NodeAffinityTerm{on("gone")}, now: []model.NodeAffinityTerm{on("gone")}},
	} {
		t.Run(name, func(t *testing.T) {
			class := model.PodClass{Volumes: []model.VolumeTopology{{Name: "shop/data", Driver: tc.driver, Terms: tc.terms}}}
			got := rules.DisksOf(&model.Snapshot{PodClasses: []model.PodClass{class}, Nodes: nodes}, time.Time{}).Reachable(&class)
			if diff := cmp.Diff(tc.now, got.Volumes[0].Terms); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.terms, class.Volumes[0].Terms); diff != "" {
				t.Errorf("the class itself changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADiskGoesWithANodeThatItsAgeForcesToGo(t *testing.T) {
	now := time.Now()
	on := model.VolumeTopology{Name: "shop/data", Terms: []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: labels.Hostname, Operator: model.In, Values: []string{"n1"}}}}}}
	s := &model.Snapshot{
		PodClasses: []model.PodClass{{Volumes: []model.VolumeTopology{on}}},
		Nodes:      []model.Node{{Name: "n1", Labels: model.Labels{{Key: labels.Hostname, Value: "n1"}}}},
		Claims:     []model.Claim{{ID: "c1", Node: "n1", ExpireTime: now}},
	}
	grace := time.Hour
	for _, x := range []struct {
		grace *time.Duration
		at    time.Time
		there int
	}{{nil, now, 1}, {&grace, now.Add(-time.Second), 1}, {&grace, now, 0}} {
		s.Claims[0].TerminationGracePeriod = x.grace
		if got := rules.DisksOf(s, x.at); len(got) != x.there {
			t.Errorf("a grace of %v at %s: %v", x.grace, x.at.Sub(now), got)
		}
	}
}
