package convert

import (
	"cmp"
	"fmt"
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
)

const (
	ebsDriver           = "ebs.csi.aws.com"
	noProvisioner       = "kubernetes.io/no-provisioner"
	betaDefaultClass    = "volume.beta.kubernetes.io/storage-class"
	inTreeEBS           = "kubernetes.io/aws-ebs"
	inTreePluginsPrefix = "kubernetes.io/"
	zoneSeparator       = "__" // between the zones of an old volume's zone label
)

// volumes reads where the pod's volumes can be reached, and how many count against an attach limit. A volume keeps its
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
				attached[ebsDriver]++
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
		if found.driver != "" {
			attached[found.driver]++
		}
		t := model.VolumeTopology{Terms: found.terms, Driver: found.driver}
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
}

// ownVolume says whether a claim is one that its pod has for itself: made from the pod, or called after it, as those of
// StatefulSets ("data-db-0") and of most operators ("db-1", "db-1-wal") are. Should another pod use such a claim all the
// same, it is counted for both, which errs towards more nodes; of one for one pod at a time volumes asks who else uses it.
func ownVolume(pod, claim string, spec *corev1.PersistentVolumeClaimSpec) bool {
	return spec != nil || claim == pod || strings.HasSuffix(claim, "-"+pod) || strings.HasPrefix(claim, pod+"-")
}

// exclusive says whether one pod at a time may use a claim's volume.
func (b *classBuilder) exclusive(claim string) bool {
	return ForOnePod(b.refs.PersistentVolumeClaim(b.pod.Namespace, claim))
}

// ForOnePod says that one pod at a time may use a claim; false for nil.
func ForOnePod(pvc *corev1.PersistentVolumeClaim) bool {
	return pvc != nil && slices.Contains(pvc.Spec.AccessModes, corev1.ReadWriteOncePod)
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

// reach is where a volume can be reached and which driver attaches it; "" when none counts.
type reach struct {
	driver string
	terms  []model.NodeAffinityTerm
}

// volume answers for one claim. spec stands in for a claim that has yet to be made.
func (b *classBuilder) volume(name string, spec *corev1.PersistentVolumeClaimSpec) (reach, string) {
	pvc := b.refs.PersistentVolumeClaim(b.pod.Namespace, name)
	switch {
	case pvc == nil && spec == nil:
		return reach{}, fmt.Sprintf("persistent volume claim %s is not there", name)
	case pvc == nil:
		return b.unbound(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.pod.Namespace, Name: name}, Spec: *spec})
	case pvc.DeletionTimestamp != nil:
		return reach{}, fmt.Sprintf("persistent volume claim %s is being deleted", name)
	case spec != nil && b.pod.UID != "" && !metav1.IsControlledBy(pvc, b.pod): // without a uid it is a pod of a file, or of a template
		return reach{}, fmt.Sprintf("persistent volume claim %s is there, but was not made for the pod", name)
	case pvc.Status.Phase == corev1.ClaimLost:
		return reach{}, fmt.Sprintf("persistent volume claim %s has lost its volume", name)
	case pvc.Spec.VolumeName == "":
		return b.unbound(pvc)
	}
	if _, ok := pvc.Annotations[labels.VolumeBound]; !ok {
		return reach{}, fmt.Sprintf("persistent volume claim %s is still being bound to volume %s", name, pvc.Spec.VolumeName)
	}
	pv := b.refs.PersistentVolume(pvc.Spec.VolumeName)
	if pv == nil {
		return reach{}, fmt.Sprintf("persistent volume %s of claim %s is not there", pvc.Spec.VolumeName, name)
	}
	return bound(pv) // also where it is being deleted: it stays as long as its claim does, and pods run with it
}

// bound reads a volume's own word on where it can be reached. Of one on the disk of a node that is the node's name: whether the node
// is still there is for the planner to say; see rules.Disks.
func bound(pv *corev1.PersistentVolume) (reach, string) {
	out, labelled := reach{driver: DriverOf(pv)}, labelledZones(pv.Labels)
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		if len(labelled) > 0 {
			out.terms = []model.NodeAffinityTerm{{Requirements: labelled}}
		}
		return out, ""
	}
	for i, t := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		path := fmt.Sprintf("persistent volume %s: spec.nodeAffinity.required.nodeSelectorTerms[%d]", pv.Name, i)
		reqs, bad := reader.NodeTerm(t)
		if bad != "" {
			return reach{}, path + "." + bad
		}
		if len(reqs) > 0 { // to Kubernetes an empty term matches nothing
			reqs = append(reqs, labelled...)
			reader.SortRequirements(reqs)
			reqs = slices.CompactFunc(reqs, func(a, b model.Requirement) bool { return a.Compare(b) == 0 }) // most volumes say both alike
			out.terms = append(out.terms, model.NodeAffinityTerm{Requirements: reqs})
		}
	}
	if len(out.terms) == 0 {
		return reach{}, fmt.Sprintf("persistent volume %s: spec.nodeAffinity.required.nodeSelectorTerms: no term can match a node; "+
			"a term needs at least one expression", pv.Name)
	}
	return out, ""
}

// labelledZones reads the zone and region labels of volumes that are older than volume node affinity. The scheduler goes by both.
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

// DriverOf is the CSI driver that attaches a volume; "" for volumes that nothing attaches. Volumes of the old EBS plugin
// are attached by its CSI driver.
func DriverOf(pv *corev1.PersistentVolume) string {
	switch {
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.Driver
	case pv.Spec.AWSElasticBlockStore != nil:
		return ebsDriver
	default:
		return ""
	}
}

// unbound answers for a claim that gets its volume where its pod comes to run.
func (b *classBuilder) unbound(claim *corev1.PersistentVolumeClaim) (reach, string) {
	name, className := claim.Name, claim.Annotations[betaDefaultClass]
	if claim.Spec.StorageClassName != nil {
		className = *claim.Spec.StorageClassName
		if className == "" {
			return reach{}, fmt.Sprintf("persistent volume claim %s has no storage class and is not bound", name)
		}
	}
	sc := b.refs.StorageClass(className)
	switch {
	case sc == nil && className == "":
		return reach{}, fmt.Sprintf("persistent volume claim %s names no storage class, and the cluster has no default", name)
	case sc == nil:
		return reach{}, fmt.Sprintf("storage class %s of persistent volume claim %s is not there", className, name)
	case sc.VolumeBindingMode == nil || *sc.VolumeBindingMode == storagev1.VolumeBindingImmediate:
		return reach{}, fmt.Sprintf("persistent volume claim %s waits for its volume: storage class %s binds at once, not with the pod", name, sc.Name)
	}
	driver := sc.Provisioner
	switch {
	case driver == inTreeEBS:
		driver = ebsDriver
	case MakesNoVolumes(sc):
		return existing(claim, sc.Name, b.refs.PersistentVolumes(sc.Name))
	case strings.HasPrefix(driver, inTreePluginsPrefix):
		return reach{}, fmt.Sprintf("storage class %s: provisioner %s is built into Kubernetes and not planned for", sc.Name, driver)
	}
	out := reach{driver: driver}
	for _, t := range sc.AllowedTopologies {
		var reqs []model.Requirement
		for _, e := range t.MatchLabelExpressions {
			reqs = append(reqs, reader.In(labels.Normal(e.Key), e.Values...))
		}
		if len(reqs) > 0 { // an empty term matches nothing
			reader.SortRequirements(reqs)
			out.terms = append(out.terms, model.NodeAffinityTerm{Requirements: reqs})
		}
	}
	if len(out.terms) == 0 && len(sc.AllowedTopologies) > 0 {
		return reach{}, fmt.Sprintf("storage class %s: allowedTopologies: no term can match a node; a term needs at least one expression", sc.Name)
	}
	if node := claim.Annotations[volume.AnnSelectedNode]; node != "" {
		// The volume is being made for it. The scheduler takes no other node until the volume is there, or its maker gives up and
		// the claim names no node any more, as where the node is gone.
		return out.narrowed(reader.In(model.KeyNodeName, node)), ""
	}
	full, bad := b.full(sc, claim)
	if bad != "" || full == nil {
		return out, bad
	}
	return out.narrowed(*full), ""
}

// narrowed is where a volume can be reached if a requirement holds as well.
func (r reach) narrowed(by model.Requirement) reach {
	if len(r.terms) == 0 {
		r.terms = []model.NodeAffinityTerm{{}}
	}
	for i, t := range r.terms {
		reqs := append(slices.Clone(t.Requirements), by)
		reader.SortRequirements(reqs)
		r.terms[i].Requirements = reqs
	}
	return r
}
