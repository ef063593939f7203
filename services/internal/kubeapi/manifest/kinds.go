package manifest

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/legacy"
)

// used lists the kinds that Read returns, by group and version.
func used() map[schema.GroupVersion][]string {
	gv := func(group string) schema.GroupVersion { return schema.GroupVersion{Group: group, Version: "v1"} }
	return map[schema.GroupVersion][]string{
		gv(""):                     {"LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "Service"},
		gv("apps"):                 {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		gv("batch"):                {"CronJob", "Job"},
		gv("node.k8s.io"):          {"RuntimeClass"},
		gv("policy"):               {"PodDisruptionBudget"},
		gv("resource.k8s.io"):      {"DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"},
		gv("scheduling.k8s.io"):    {"PriorityClass"},
		gv("storage.k8s.io"):       {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"},
		karpenterv1.GroupVersion(): {karpenterv1.KindNodeClaim, karpenterv1.KindNodePool},
		awsv1.GroupVersion():       {awsv1.KindEC2NodeClass},

		karpenterv1alpha1.GroupVersion():  {karpenterv1alpha1.KindNodeOverlay},
		autoscalingv1beta1.GroupVersion(): {autoscalingv1beta1.KindCapacityBuffer},
	}
}

// treatment is what is done with a kind.
type treatment int

const (
	takeIt       treatment = iota // read it as a known type
	takeOld                       // read it as an old form and convert it
	takeMoved                     // read it as what it is in today's version
	skipIt                        // Kerf has no use for it
	refuseIt                      // Kerf would need it, and can't read it
	listIt                        // a list of other objects
	foreignIt                     // another program's, which users may take for Kerf's
	kustomizeIt                   // says what kustomize makes of other files
	scaleIt                       // says how many replicas a workload has
	rolloutIt                     // makes pods as a Deployment does
	controllerIt                  // makes pods as a ReplicaSet does
	podsIt                        // makes pods that its text says
)

// kinds knows what to do with each kind.
type kinds struct {
	scheme *runtime.Scheme
	used   map[schema.GroupVersion][]string
}

// treat says what to do with a kind, and for refuseIt what to write instead.
func (k *kinds) treat(apiVersion, kind string) (treatment, string) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return refuseIt, "apiVersion: want group/version such as apps/v1"
	}
	if t, why := foreign(gv, kind); t != skipIt {
		return t, why
	}
	if slices.Contains(k.used[gv], kind) {
		return takeIt, ""
	}
	if legacy.New(apiVersion, kind) != nil {
		return takeOld, ""
	}
	if _, isList := k.itemKind(gv, kind); isList {
		return listIt, ""
	}
	if to, ok := legacy.MovedTo(gv); ok && slices.Contains(k.used[to], kind) {
		return takeMoved, ""
	}
	if version, ok := k.otherVersion(gv, kind); ok {
		return refuseIt, "apiVersion: " + apiVersion + " is too old or too new: write " + version
	}
	question := near.Question(kind, k.ofGroup(gv.Group))
	if ours(gv.Group) || gv.Group == autoscalingv1beta1.GroupVersion().Group && question != "" {
		return refuseIt, apiVersion + " " + kind + " is not a kind that Kerf knows: " + cmp.Or(k.otherGroup(kind), question, "leave it out")
	}
	if at := k.misplaced(gv.Group, kind); at != "" {
		return refuseIt, "apiVersion: " + apiVersion + " has no " + kind + ": write " + at
	}
	return skipIt, ""
}

// misplaced is what a kind of Kubernetes' own is called for which another of its groups was given, or other letters,
// such as v1 Deployment or apps/v1 deployment: it would go for one that planning does not look at.
func (k *kinds) misplaced(group, kind string) string {
	if len(k.ofGroup(group)) == 0 {
		return ""
	}
	for known, names := range k.used {
		if at := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, kind) }); at >= 0 {
			return known.String() + " " + names[at]
		}
	}
	return ""
}

// firstKarpenter is the group of Karpenter's first Provisioners.
const firstKarpenter = "provisioning.karpenter.sh"

// ours tells groups whose kinds change what Kerf decides, so that leaving one out
// must be the user's choice.
func ours(group string) bool {
	return slices.Contains([]string{karpenterv1.Group, awsv1.Group, "kerf.dev", firstKarpenter}, group)
}

// clusterScoped tells the kinds that are in no namespace, of those that are read.
func clusterScoped(kind string) bool {
	return slices.Contains([]string{
		"CSIDriver", "CSINode", "DeviceClass", "DeviceTaintRule", "Namespace", "Node", "PersistentVolume", "PriorityClass", "ResourceSlice", "RuntimeClass",
		"StorageClass", "VolumeAttachment", karpenterv1.KindNodeClaim, karpenterv1.KindNodePool, awsv1.KindEC2NodeClass,
		karpenterv1alpha1.KindNodeOverlay,
	}, kind)
}

// itemKind is the kind of the items of a list such as PodList, and "" for the
// kind List, whose items say theirs themselves.
func (k *kinds) itemKind(gv schema.GroupVersion, kind string) (string, bool) {
	item, isList := strings.CutSuffix(kind, "List")
	if !isList {
		return "", false
	}
	if item == "" {
		return "", gv.Group == "" && gv.Version == "v1"
	}
	known := slices.Contains(k.used[gv], item) || legacy.New(gv.String(), item) != nil
	if to, ok := legacy.MovedTo(gv); ok {
		known = slices.Contains(k.used[to], item)
	}
	return item, known
}

// ofGroup lists the kinds that are read of a group, sorted.
func (k *kinds) ofGroup(group string) []string {
	var out []string
	for known, names := range k.used {
		if known.Group == group {
			out = append(out, names...)
		}
	}
	slices.Sort(out)
	return out
}

// otherGroup says what to write where a kind of ours has another group's name.
func (k *kinds) otherGroup(kind string) string {
	for known, names := range k.used {
		if ours(known.Group) && slices.Contains(names, kind) {
			return "write " + known.String()
		}
	}
	for _, version := range []string{legacy.ProvisionerVersion, legacy.AWSNodeTemplateVersion} {
		if legacy.New(version, kind) != nil {
			return "write " + version + ", or what kerf convert makes of that"
		}
	}
	return ""
}

// otherVersion finds a kind that is known in another version of its group.
func (k *kinds) otherVersion(gv schema.GroupVersion, kind string) (string, bool) {
	for known, names := range k.used {
		if known.Group == gv.Group && slices.Contains(names, kind) {
			return known.String(), true
		}
	}
	return "", false
}
