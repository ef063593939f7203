package volumes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

func TestLimits(t *testing.T) {
	node := func(ready bool, limits ...model.Amount) model.Node {
		return model.Node{Ready: ready, VolumeLimits: limits, Labels: model.Labels{{Key: labels.InstanceType, Value: "m5.large"}}}
	}
	ebs := func(n int64) model.Amount { return model.Amount{Resource: volumes.EBS, Value: n} }
	other := model.Amount{Resource: "a.example.com", Value: 5}
	label := func(key, value string) model.Labels {
		return model.Labels{{Key: "karpenter.k8s.aws/instance-" + key, Value: value}}
	}
	tests := map[string]struct {
		nodes  []model.Node
		labels model.Labels
		want   model.Amounts
	}{
		"EC2's rule":                        {nil, nil, model.Amounts{ebs(25)}},
		"a node of the type knows better":   {[]model.Node{node(true, ebs(31)), node(true, ebs(29))}, nil, model.Amounts{ebs(31)}},
		"a node that is not ready does not": {[]model.Node{node(false, ebs(31))}, nil, model.Amounts{ebs(25)}},
		"another driver's limit":            {[]model.Node{node(true, other)}, nil, model.Amounts{other, ebs(25)}},
		"accelerators take places":          {nil, label("gpu-count", "8"), model.Amounts{ebs(17)}},
		"disks take places":                 {nil, label("local-nvme", "3800"), model.Amounts{ebs(23)}},
		"something is always left":          {nil, label("accelerator-count", "32"), model.Amounts{ebs(8)}},
		"older than Nitro":                  {nil, label("hypervisor", "xen"), model.Amounts{ebs(39)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := volumes.New(tc.nodes).Of(&model.InstanceType{Name: "m5.large", Labels: tc.labels})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}
