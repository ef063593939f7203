package manifest

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Assumed stands where a name is missing that no plan depends on.
const Assumed = "assumed"

// assume fills in what is missing where a plan does not depend on it, and says so.
func (r *reader) assume() {
	r.giveNames()
	r.countOnce()
	r.takeTemplates()
	r.scale()
	classes := map[string]bool{}
	for _, e := range r.read {
		if class, ok := e.object.(*awsv1.EC2NodeClass); ok {
			classes[class.Name] = true
			r.assumeRole(e, class)
		}
	}
	for _, e := range r.read {
		pool, ok := e.object.(*karpenterv1.NodePool)
		if !ok {
			continue
		}
		ref := &pool.Spec.Template.Spec.NodeClassRef
		if *ref == (karpenterv1.NodeClassReference{}) {
			r.assumeRef(e, ref, classes)
		}
		if ref.Group == "" && (ref.Kind == "" || ref.Kind == awsv1.KindEC2NodeClass) {
			ref.Group, ref.Kind = awsv1.Group, awsv1.KindEC2NodeClass
			r.warn(e.place, e.name, "spec.template.spec.nodeClassRef", "has no group; assumed: that of an EC2NodeClass, "+awsv1.Group)
		}
		if ref.Group != awsv1.Group || ref.Kind != awsv1.KindEC2NodeClass {
			r.warn(e.place, e.name, "spec.template.spec.nodeClassRef", fmt.Sprintf(
				"want group %s and kind %s; nothing is bought for the pool", awsv1.Group, awsv1.KindEC2NodeClass))
			continue
		}
		if ref.Name == "" || classes[ref.Name] {
			continue
		}
		classes[ref.Name] = true
		r.warn(e.place, e.name, "spec.template.spec.nodeClassRef", fmt.Sprintf(
			"EC2NodeClass %s is not among the files; assumed: a plain one, of the newest AL2023 image, in all zones", ref.Name))
		r.add(entry{place: e.place, name: awsv1.KindEC2NodeClass + " " + ref.Name, object: plainClass(ref.Name)})
	}
}

// giveNames names the objects that have no name, each by its own: as the API server would by generateName, or else any
// that is free.
func (r *reader) giveNames() {
	for _, e := range r.read {
		m, ok := e.object.(metav1.Object)
		if !ok || m.GetName() != "" {
			continue
		}
		id := func() identity { return idOf(e.object.GetObjectKind().GroupVersionKind(), m) }
		if giveName(m, func() bool { return r.seen[id()].object != nil }) {
			r.warn(e.place, e.name, "metadata.name", "is missing; assumed: "+m.GetName())
		}
		r.seen[id()] = e
	}
}

// giveName names an object by what is not taken; assumed where nothing says how.
func giveName(m metav1.Object, taken func() bool) (assumed bool) {
	base := strings.TrimRight(m.GetGenerateName(), "-.")
	m.SetName(cmp.Or(base, "unnamed"))
	number(m, taken)
	return base == ""
}

// number adds a number to an object's name where that is taken.
func number(m metav1.Object, taken func() bool) {
	first := m.GetName()
	for i := 2; taken(); i++ {
		m.SetName(fmt.Sprintf("%s-%d", first, i))
	}
}

// assumeRef names the only class there is, or else one of the name default.
func (r *reader) assumeRef(e entry, ref *karpenterv1.NodeClassReference, classes map[string]bool) {
	*ref = karpenterv1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.KindEC2NodeClass, Name: "default"}
	if len(classes) == 1 {
		for name := range classes {
			ref.Name = name
		}
	}
	r.warn(e.place, e.name, "spec.template.spec.nodeClassRef", "is missing; assumed: EC2NodeClass "+ref.Name)
}

func (r *reader) assumeRole(e entry, class *awsv1.EC2NodeClass) {
	if class.Spec.Role == "" && class.Spec.InstanceProfile == nil {
		class.Spec.Role = Assumed
		r.warn(e.place, e.name, "spec.role", "is missing; assumed: a role that nodes can join with")
	}
}

func plainClass(name string) *awsv1.EC2NodeClass {
	class := &awsv1.EC2NodeClass{}
	class.SetGroupVersionKind(awsv1.EC2NodeClassGVK())
	class.Name = name
	tags := map[string]string{labels.TagDiscovery: Assumed}
	class.Spec = awsv1.EC2NodeClassSpec{
		Role:                       Assumed,
		AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@" + awsv1.VersionLatest}},
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: tags}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: tags}},
	}
	return class
}
