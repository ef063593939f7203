package market

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestWhatPoolsAllowIsWhatRightsAreAskedFor changes the pools of a class.
func TestWhatPoolsAllowIsWhatRightsAreAskedFor(t *testing.T) {
	s := NewClasses(New(config()))
	s.leads = true
	s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: "default", UID: "1"}})
	c := s.Get("default")
	kind := func(name model.TypeName, family, arch, gpus string) model.InstanceType {
		own := map[string]string{labels.InstanceFamily: family, labels.Arch: arch}
		if gpus != "" {
			own[labels.InstanceGPUCount] = gpus
		}
		return model.InstanceType{Name: name, Labels: model.LabelsOf(own)}
	}
	c.catalogue = &catalogue{inventory: &model.Catalog{InstanceTypes: []model.InstanceType{
		kind("g5g.large", "g5g", "arm64", "1"), kind("m5.large", "m5", "amd64", ""), kind("m7g.2xlarge", "m7g", "arm64", ""),
		kind("m7g.large", "m7g", "arm64", ""), kind("r7g.large", "r7g", "arm64", ""),
	}}}
	s.market.onDemand = map[model.TypeName]int64{"g5g.large": 1, "m5.large": 90, "m7g.2xlarge": 320, "m7g.large": 80, "r7g.large": 100}
	in := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: model.In, Values: values}
	}
	pool := func(class model.NodeClassName, r ...model.Requirement) cluster.Pool {
		return cluster.Pool{NodePool: model.NodePool{Name: "p", NodeClass: class, Requirements: r}}
	}
	for name, tt := range map[string]struct {
		pools []cluster.Pool
		want  []model.TypeName
	}{
		"no pool":            {nil, nil},
		"a pool of another":  {[]cluster.Pool{pool("other")}, nil},
		"one that is open":   {[]cluster.Pool{pool("default")}, []model.TypeName{"m7g.large", "m5.large", "r7g.large", "g5g.large"}},
		"by family":          {[]cluster.Pool{pool("default", in(labels.InstanceFamily, "m7g", "c7g"))}, []model.TypeName{"m7g.large"}},
		"what types lack":    {[]cluster.Pool{pool("default", model.Requirement{Key: labels.InstanceGPUCount, Operator: model.Exists})}, []model.TypeName{"g5g.large"}},
		"what they say not":  {[]cluster.Pool{pool("default", in(labels.Zone, "a"), in("team", "x"), in(labels.Arch, "amd64"))}, []model.TypeName{"m5.large"}},
		"of several, either": {[]cluster.Pool{pool("default", in(labels.InstanceFamily, "r7g")), pool("default", in(labels.Arch, "amd64"))}, []model.TypeName{"m5.large", "r7g.large"}},
	} {
		before := c.likely
		c.due = false
		s.anticipate(tt.pools)
		if d := cmp.Diff(tt.want, c.likely); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.due == cmp.Equal(before, c.likely) {
			t.Errorf("%s: it is resolved again: %v", name, c.due)
		}
	}
}
