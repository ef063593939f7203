package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
)

const (
	betaDefaultClass    = "volume.beta.kubernetes.io/storage-class"
	inTreeEBS           = "kubernetes.io/aws-ebs"
	inTreePluginsPrefix = "kubernetes.io/"
)

// volumes reads where the pod's volumes can be reached, how many count against an attach limit, and which drivers keep the
// pod off nodes without them. A volume keeps its
// name where pods may share it, so that it can be counted once on a node. One that each pod has for itself loses its
// name, which would make a class of every pod of a StatefulSet: where it can be reached and who attaches it is all that
// scheduling needs.
func (b *classBuilder) volumes() {
	attached := map[string]int64{}
	claims := map[string]bool{}
	var out []model.VolumeTopology
	for i, v := range b.pod.Spec.Volumes {
		claim, spec := claimOf(b.pod, v)
		if spec == nil && claim == "" {
			if v.AWSElasticBlockStore != nil {
				attached[storage.EBSDriver]++
			}
			continue
		}
		if claims[claim] {
			continue
		}
		claims[claim] = true
		found, bad := b.volume(claim, spec)
		if bad != "" {
			b.refuse(fmt.Sprintf("spec.volumes[%d]: %s", i, bad))
			continue
		}
		if found.Driver != "" {
			attached[found.Driver]++
		}
		t := model.VolumeTopology{Terms: found.Terms, Driver: found.Driver}
		alone := b.exclusive(claim)
		if !ownVolume(b.pod.Name, claim, spec) || alone && b.refs.ClaimUsers(b.pod.Namespace, claim) > 1 {
			t.Name, t.Exclusive = b.pod.Namespace+"/"+claim, alone
		}
		if len(t.Terms) > 0 || (t.Name != "" && t.Driver != "") || t.Exclusive {
			out = append(out, t)
		}
	}
	sortVolumes(out)
	b.class.Volumes = core.Volumes(out)
	b.class.VolumeAttachments = countsOf(attached)
	for _, driver := range slices.Sorted(maps.Keys(attached)) {
		if storage.KeepsOff(b.refs.CSIDriver(driver)) {
			b.class.NeededDrivers = append(b.class.NeededDrivers, driver)
		}
	}
}

// ownVolume says whether a claim is one that its pod has for itself: made from the pod, or called after it, as those of
// StatefulSets ("data-db-0") and of most operators ("db-1", "db-1-wal") are. Should another pod use such a claim all the
// same, it is counted for both, which errs towards more nodes; of one for one pod at a time volumes asks who else uses it.
func ownVolume(pod, claim string, spec *corev1.PersistentVolumeClaimSpec) bool {
	return spec != nil || claim == pod || strings.HasSuffix(claim, "-"+pod) || strings.HasPrefix(claim, pod+"-")
}

// exclusive says whether one pod at a time may use a claim's volume.
func (b *classBuilder) exclusive(claim string) bool {
	return storage.ForOnePod(b.refs.PersistentVolumeClaim(b.pod.Namespace, claim))
}

// sortVolumes orders volumes by name, and those without a name by what they are, so that their names, which differ from
// pod to pod, do not order them.
func sortVolumes(list []model.VolumeTopology) {
	slices.SortFunc(list, func(x, y model.VolumeTopology) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Driver, y.Driver),
			slices.CompareFunc(x.Terms, y.Terms, func(s, t model.NodeAffinityTerm) int {
				return slices.CompareFunc(s.Requirements, t.Requirements, model.Requirement.Compare)
			}))
	})
}

// claimOf names the claim that stands behind a volume. For a generic ephemeral volume, whose claim is made from the pod,
// it also returns the claim's spec. "" and nil: there is no claim behind it.
func claimOf(p *corev1.Pod, v corev1.Volume) (string, *corev1.PersistentVolumeClaimSpec) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, nil
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		return p.Name + "-" + v.Name, &v.Ephemeral.VolumeClaimTemplate.Spec
	default:
		return "", nil
	}
}

// ClaimKeys lists the claims of a pod as "namespace/name", in the order of its volumes.
func ClaimKeys(p *corev1.Pod) []string {
	var out []string
	for _, v := range p.Spec.Volumes {
		if name, _ := claimOf(p, v); name != "" {
			out = append(out, p.Namespace+"/"+name)
		}
	}
	return out
}

// volume answers for one claim. spec stands in for a claim that has yet to be made.
func (b *classBuilder) volume(name string, spec *corev1.PersistentVolumeClaimSpec) (storage.Reach, string) {
	pvc := b.refs.PersistentVolumeClaim(b.pod.Namespace, name)
	switch {
	case pvc == nil && spec == nil:
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s is not there", name)
	case pvc == nil:
		return b.unbound(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.pod.Namespace, Name: name}, Spec: *spec})
	case pvc.DeletionTimestamp != nil:
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s is being deleted", name)
	case spec != nil && b.pod.UID != "" && !metav1.IsControlledBy(pvc, b.pod): // without a uid it is a pod of a file, or of a template
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s is there, but was not made for the pod", name)
	case pvc.Status.Phase == corev1.ClaimLost:
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s has lost its volume", name)
	case pvc.Spec.VolumeName == "":
		return b.unbound(pvc)
	}
	if _, ok := pvc.Annotations[labels.VolumeBound]; !ok {
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s is still being bound to volume %s", name, pvc.Spec.VolumeName)
	}
	pv := b.refs.PersistentVolume(pvc.Spec.VolumeName)
	switch {
	case pv == nil:
		return storage.Reach{}, fmt.Sprintf("persistent volume %s of claim %s is not there", pvc.Spec.VolumeName, name)
	case storage.Stuck(pv, b.refs):
		return storage.Reach{}, fmt.Sprintf("persistent volume %s of claim %s is being deleted, and is attached to no node any more", pv.Name, name)
	}
	return storage.Bound(pv)
}

// unbound answers for a claim that gets its volume where its pod comes to run.
func (b *classBuilder) unbound(claim *corev1.PersistentVolumeClaim) (storage.Reach, string) {
	name, className := claim.Name, claim.Annotations[betaDefaultClass]
	if claim.Spec.StorageClassName != nil {
		className = *claim.Spec.StorageClassName
		if className == "" {
			return storage.Reach{}, fmt.Sprintf("persistent volume claim %s has no storage class and is not bound", name)
		}
	}
	sc := b.refs.StorageClass(className)
	switch {
	case sc == nil && className == "":
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s names no storage class, and the cluster has no default", name)
	case sc == nil:
		return storage.Reach{}, fmt.Sprintf("storage class %s of persistent volume claim %s is not there", className, name)
	case sc.VolumeBindingMode == nil || *sc.VolumeBindingMode == storagev1.VolumeBindingImmediate:
		return storage.Reach{}, fmt.Sprintf("persistent volume claim %s waits for its volume: storage class %s binds at once, not with the pod", name, sc.Name)
	}
	driver := sc.Provisioner
	switch {
	case driver == inTreeEBS:
		driver = storage.EBSDriver
	case storage.MakesNoVolumes(sc):
		return storage.Existing(claim, sc.Name, b.refs.PersistentVolumes(sc.Name))
	case strings.HasPrefix(driver, inTreePluginsPrefix):
		return storage.Reach{}, fmt.Sprintf("storage class %s: provisioner %s is built into Kubernetes and not planned for", sc.Name, driver)
	}
	out := storage.Reach{Driver: driver}
	for _, t := range sc.AllowedTopologies {
		var reqs []model.Requirement
		for _, e := range t.MatchLabelExpressions {
			reqs = append(reqs, reader.In(labels.Normal(e.Key), e.Values...))
		}
		if len(reqs) > 0 { // an empty term matches nothing
			reader.SortRequirements(reqs)
			out.Terms = append(out.Terms, model.NodeAffinityTerm{Requirements: reqs})
		}
	}
	if len(out.Terms) == 0 && len(sc.AllowedTopologies) > 0 {
		return storage.Reach{}, fmt.Sprintf("storage class %s: allowedTopologies: no term can match a node; a term needs at least one expression", sc.Name)
	}
	if node := claim.Annotations[volume.AnnSelectedNode]; node != "" {
		// The volume is being made for it. The scheduler takes no other node until the volume is there, or its maker
		// gives up and the claim names no node any more, as where the node is gone.
		return out.Narrowed(reader.In(model.KeyNodeName, node)), ""
	}
	full, bad := storage.Full(sc, claim, b.refs)
	if bad != "" || full == nil {
		return out, bad
	}
	return out.Narrowed(*full), ""
}
