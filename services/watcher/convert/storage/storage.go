// Package storage says from where volumes can be reached: those that are there, those of classes that make none, and
// those that are to be made where a driver has room.
//
// It knows volumes, claims and classes, and must never know a pod. Start reading at Reach, then Bound, Existing and Full.
package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// EBSDriver is the CSI driver of EBS volumes.
const EBSDriver = "ebs.csi.aws.com"

const (
	noProvisioner = "kubernetes.io/no-provisioner"
	zoneSeparator = "__" // between the zones of an old volume's zone label
)

// References finds what stands behind a class of volumes. A nil answer means that there is none.
type References interface {
	// PersistentVolumes are the volumes of a class, taken ones included.
	PersistentVolumes(class string) []*corev1.PersistentVolume
	CSIDriver(name string) *storagev1.CSIDriver
	// StorageCapacities say how much room there is for new volumes of a class, and where.
	StorageCapacities(class string) []*storagev1.CSIStorageCapacity
}

// Reach is where a volume can be reached and which driver attaches it; "" when none counts.
type Reach struct {
	Driver string
	Terms  []model.NodeAffinityTerm
}

// ForOnePod says that one pod at a time may use a claim; false for nil.
func ForOnePod(pvc *corev1.PersistentVolumeClaim) bool {
	return pvc != nil && slices.Contains(pvc.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// Bound reads a volume's own word on where it can be reached. Of one on the disk of a node that is the node's name:
// whether the node is still there is for the planner to say; see rules.Disks.
func Bound(pv *corev1.PersistentVolume) (Reach, string) {
	out, labelled := Reach{Driver: DriverOf(pv)}, labelledZones(pv.Labels)
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		if len(labelled) > 0 {
			out.Terms = []model.NodeAffinityTerm{{Requirements: labelled}}
		}
		return out, ""
	}
	for i, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		path := fmt.Sprintf("persistent volume %s: spec.nodeAffinity.required.nodeSelectorTerms[%d]", pv.Name, i)
		reqs, bad := reader.NodeTerm(t)
		if bad != "" {
			return Reach{}, path + "." + bad
		}
		if len(reqs) > 0 { // to Kubernetes an empty term matches nothing
			reqs = append(reqs, labelled...)
			reader.SortRequirements(reqs)
			reqs = slices.CompactFunc(reqs, func(a, b model.Requirement) bool { return a.Compare(b) == 0 }) // most volumes say both alike
			out.Terms = append(out.Terms, model.NodeAffinityTerm{Requirements: reqs})
		}
	}
	if len(out.Terms) == 0 {
		return Reach{}, fmt.Sprintf("persistent volume %s: spec.nodeAffinity.required.nodeSelectorTerms: no term can match a node; "+
			"a term needs at least one expression", pv.Name)
	}
	return out, ""
}

// labelledZones reads the zone and region labels of volumes that are older than volume node affinity. The scheduler
// goes by both.
func labelledZones(own map[string]string) []model.Requirement {
	zones := map[string][]string{}
	for key, v := range own {
		stable := labels.Normal(key)
		if stable == corev1.LabelTopologyZone || stable == corev1.LabelTopologyRegion {
			zones[stable] = append(zones[stable], strings.Split(v, zoneSeparator)...)
		}
	}
	var reqs []model.Requirement
	for key, values := range zones {
		reqs = append(reqs, reader.In(key, values...))
	}
	reader.SortRequirements(reqs)
	return reqs
}

// Stuck says that a volume comes to no node where it is not attached already. One that is being deleted stays as long as
// its claim does, and the scheduler binds pods that use it; but what attaches CSI volumes refuses it. A driver that
// attaches none, as that of EFS, has it mounted all the same.
func Stuck(pv *corev1.PersistentVolume, refs References) bool {
	driver := DriverOf(pv)
	if pv.DeletionTimestamp == nil || driver == "" {
		return false
	}
	d := refs.CSIDriver(driver)
	return d == nil || d.Spec.AttachRequired == nil || *d.Spec.AttachRequired
}

// KeepsOff says that a driver has the scheduler keep pods with its volumes off nodes where it does not run; false for nil.
func KeepsOff(d *storagev1.CSIDriver) bool {
	return d != nil && d.Spec.PreventPodSchedulingIfMissing != nil && *d.Spec.PreventPodSchedulingIfMissing
}

// DriverOf is the CSI driver that attaches a volume; "" for volumes that nothing attaches. Volumes of the old EBS plugin
// are attached by its CSI driver.
func DriverOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return EBSDriver
	default:
		return ""
	}
}

// Narrowed is where a volume can be reached if a requirement holds as well.
func (r Reach) Narrowed(by model.Requirement) Reach {
	if len(r.Terms) == 0 {
		r.Terms = []model.NodeAffinityTerm{{}}
	}
	for i, t := range r.Terms {
		reqs := append(slices.Clone(t.Requirements), by)
		reader.SortRequirements(reqs)
		r.Terms[i].Requirements = reqs
	}
	return r
}
