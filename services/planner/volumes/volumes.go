// Package volumes decides how many volumes CSI drivers will be able to attach to a node that is yet to be bought.
//
// A node says so itself once its drivers run; until then the nodes of its type tell, and where there are none, EC2's
// rules for EBS. A guess that is too low costs a node at worst, one that is too high is corrected by the node itself, and
// its pods move on. It knows neither views nor plans. Start reading at Limits.Of.
package volumes

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// EBS is the CSI driver of Amazon's block storage.
const EBS model.Resource = "ebs.csi.aws.com"

// What EC2 lets be attached. On Nitro instances volumes share 28 places with network interfaces, local disks and
// accelerators; newer families have places for volumes alone, which are not fewer.
const (
	nitroPlaces = 28
	xenPlaces   = 39
	// interfaces is how many network interfaces a node mostly has by the time its driver counts.
	interfaces = 2
	// diskGB is how large a local disk is taken to be; most are larger, so that there are fewer.
	diskGB = 1900
	// fewest is what every instance can attach, whatever else takes its places.
	fewest = 8
)

// Limits knows the attach limits of nodes that are there, by type. Make it with New; it is not changed afterwards.
type Limits struct {
	learned map[model.TypeName]model.Amounts
}

// New learns from nodes that are ready. Of several of a type the highest limit counts, by driver: what lowers it on some
// are volumes that are just being detached.
func New(nodes []model.Node) *Limits {
	l := &Limits{learned: make(map[model.TypeName]model.Amounts)}
	for i := range nodes {
		typ, ok := nodes[i].Labels.Get(labels.InstanceType)
		if !ok || !nodes[i].Ready {
			continue
		}
		t := model.TypeName(typ)
		for _, a := range nodes[i].VolumeLimits {
			l.learned[t] = raise(l.learned[t], a)
		}
	}
	return l
}

func raise(list model.Amounts, a model.Amount) model.Amounts {
	i, ok := slices.BinarySearchFunc(list, a.Resource, func(x model.Amount, r model.Resource) int { return cmp.Compare(x.Resource, r) })
	if !ok {
		return slices.Insert(list, i, a)
	}
	list[i].Value = max(list[i].Value, a.Value)
	return list
}

// Of are the limits of a new node of a type, by driver; a driver that is not listed has none that is known. The caller
// must not change it.
func (l *Limits) Of(t *model.InstanceType) model.Amounts {
	known := l.learned[t.Name]
	if _, ok := known.Get(EBS); ok {
		return known
	}
	return raise(slices.Clone(known), model.Amount{Resource: EBS, Value: ebs(t.Labels)})
}

// ebs is EC2's limit less what an instance has from the start: its root volume, its network interfaces, its local disks
// and its accelerators.
func ebs(labels model.Labels) int64 {
	const own = "karpenter.k8s.aws/instance-"
	if v, _ := labels.Get(own + "hypervisor"); v == "xen" {
		return xenPlaces
	}
	disks := (number(labels, own+"local-nvme") + diskGB - 1) / diskGB
	return max(fewest, nitroPlaces-1-interfaces-disks-number(labels, own+"gpu-count")-number(labels, own+"accelerator-count"))
}

// number is a label's value; 0 where it has none.
func number(labels model.Labels, key string) int64 {
	v, _ := labels.Get(key)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
