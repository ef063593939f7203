// Package convert makes a snapshot out of Kubernetes manifests and a catalogue of instance types, for a plan without a
// cluster and without AWS.
//
// What the API server would say comes from the manifests, by the watcher's own conversion; what the actuator would say of
// node classes, shapes and prices comes from the catalogue, by the actuator's own arithmetic. What only AWS knows, such as
// a class's subnets, is assumed, and each assumption is put in words. The package must never open a file or a connection.
// Start reading at Builder.Snapshot.
package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// World is where the nodes of a dry run could be bought.
type World struct {
	// Catalog holds types and prices. It is not changed.
	Catalog *catalog.Catalog
	// Bundled says that objects of another region are planned for with what is bundled of that.
	Bundled bool
	// Region is the one that is planned for, whatever objects name if Fixed says so, else where they name none; "" leaves
	// it to them and to the catalogue.
	Region string
	Fixed  bool
	// Amiss is what is wrong with the region that would be planned for where no object and no zone names one; nil if
	// nothing.
	Amiss error
	// By says what named the region of the catalogue, for people; "" where that is not known.
	By string
	// Zones are those that node classes have subnets in; none means all of the catalogue's.
	Zones []string
	// ReservedENIs is how many network interfaces of each node pods can't use, as the actuator's config says.
	ReservedENIs int64
}

// Builder collects manifests. The zero Builder is empty and ready; it is owned by one goroutine.
type Builder struct {
	cluster  manifests.Cluster
	pools    []*karpenterv1.NodePool
	overlays []*karpenterv1alpha1.NodeOverlay
	classes  []*awsv1.EC2NodeClass
	claims   []*karpenterv1.NodeClaim
	claimed  map[[2]string]*karpenterv1.NodeClaim // by a field that no two share, and its value
	pods     []*madePods                          // those that wait, or are made
	daemons  bool
	objects  int
}

// ObjectError is what is wrong with one of the manifests' objects.
type ObjectError struct {
	// Object is its kind and name, as TitleOf has it.
	Object string
	Err    error
}

// Error implements error: the object before each line.
func (e *ObjectError) Error() string {
	return e.Object + ": " + strings.ReplaceAll(e.Err.Error(), "\n", "\n"+e.Object+": ")
}

// Unwrap implements errors.Unwrap.
func (e *ObjectError) Unwrap() error { return e.Err }

// Title is how an object is called in messages: "NodePool default", "Deployment shop/web".
func Title(kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

// TitleOf is the Title of an object that has its kind set. The namespace default is never said.
func TitleOf(o runtime.Object) string {
	m, ok := o.(metav1.Object)
	if !ok {
		return fmt.Sprintf("%T", o)
	}
	namespace := m.GetNamespace()
	if namespace == metav1.NamespaceDefault {
		namespace = ""
	}
	return Title(o.GetObjectKind().GroupVersionKind().Kind, namespace, m.GetName())
}

// Add takes an object that has its defaults and is valid; it belongs to the builder from then on. One that says nothing
// to a dry run is left out. Errors are *ObjectErrors.
func (b *Builder) Add(o runtime.Object) error {
	switch o := o.(type) {
	case *karpenterv1.NodeClaim:
		if err := b.clash(o); err != nil {
			return &ObjectError{TitleOf(o), err}
		}
		b.claims = append(b.claims, o)
		b.objects++ // of one that stands alone it is told why nothing comes of it
		return nil
	case *storagev1.VolumeAttachment:
		return nil // what is attached where, pods and their claims say
	}
	for _, err := range []error{manifests.Check(o), b.cluster.Add(o, nil)} {
		if err != nil {
			return &ObjectError{TitleOf(o), err}
		}
	}
	b.objects++
	if p := podsIn(o); p != nil && p.spec.NodeName == "" {
		b.pods = append(b.pods, p)
	}
	switch o := o.(type) {
	case *karpenterv1.NodePool:
		b.pools = append(b.pools, o)
	case *karpenterv1alpha1.NodeOverlay:
		b.overlays = append(b.overlays, o)
	case *awsv1.EC2NodeClass:
		b.classes = append(b.classes, o)
	case *appsv1.DaemonSet:
		b.daemons = true
	}
	return nil
}

// clash says that another claim has what only one can: a node would be billed twice.
func (b *Builder) clash(o *karpenterv1.NodeClaim) error {
	if b.claimed == nil {
		b.claimed = map[[2]string]*karpenterv1.NodeClaim{}
	}
	for _, own := range [][2]string{{"status.providerID", o.Status.ProviderID}, {"status.nodeName", o.Status.NodeName}} {
		if c := b.claimed[own]; c != nil && own[1] != "" {
			return fmt.Errorf("%s: %s is that of %s too; each node has one NodeClaim", own[0], own[1], TitleOf(c))
		}
		b.claimed[own] = o
	}
	return nil
}

// Len is how many objects were taken that can be planned for or with.
func (b *Builder) Len() int { return b.objects }

// Built is what manifests and a world make together.
type Built struct {
	Snapshot *clusterpb.Snapshot
	// Currency is what prices are in, as an ISO 4217 code; "" for US dollars.
	Currency string
	// Assumed says in one sentence each what the snapshot holds that neither manifests nor catalogue say.
	Assumed []string
	// Warnings are what the user should know of the objects, a line each.
	Warnings []string
}

// Snapshot is the cluster that the manifests describe, at the time now, with everything that the world sells. Errors
// about an object are *ObjectErrors and name the field.
func (b *Builder) Snapshot(w World, now time.Time) (Built, error) {
	events, err := b.cluster.Events(now)
	if err != nil {
		return Built{}, err
	}
	var places Places
	places.Classes(b.classes)
	objects := wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{})
	if err := checkPods(objects); err != nil {
		return Built{}, err
	}
	places.Snapshot(objects)
	w, elsewhere := w.In(places)
	if err := w.CheckZones(); err != nil {
		return Built{}, err
	}
	inv, err := b.inventory(w)
	if err != nil {
		return Built{}, err
	}
	for _, o := range wire.InventoryObjects(inv.snapshot) {
		events = append(events, snapshot.Put(now, o))
	}
	s := wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{})
	inv.warnings = append(inv.warnings, b.readyPools(s)...)
	inv.warnings = append(inv.warnings, Owned{b.pools, b.classes, b.claims}.Put(s, w.Catalog)...)
	if elsewhere != "" {
		inv.warnings = append(inv.warnings, "assumed: "+elsewhere)
	}
	inv.warnings = append(inv.warnings, b.unknownValues(w)...)
	inv.warnings = append(inv.warnings, inv.unknownLimits(b.pools)...)
	waiting, err := checkBuffers(s)
	return Built{s, w.Catalog.Currency, b.assumed(w, inv, elsewhere), append(inv.warnings, waiting...)}, err
}

// checkPods names the first object whose pods the planner would refuse: a class of pods has no name that users know.
func checkPods(s *clusterpb.Snapshot) error {
	if _, err := core.Part(&clusterpb.Snapshot{PodClasses: s.GetPodClasses()}); err == nil {
		return nil
	}
	for _, p := range s.GetPods() {
		i := slices.IndexFunc(s.GetPodClasses(), func(c *clusterpb.PodClass) bool { return c.GetId() == p.GetClassId() })
		if i < 0 {
			continue
		}
		class := s.GetPodClasses()[i]
		_, err := core.Part(&clusterpb.Snapshot{PodClasses: []*clusterpb.PodClass{class}})
		bad, ok := errors.AsType[*core.Error](err)
		if !ok {
			continue
		}
		namespace, name, _ := strings.Cut(p.GetId(), "/")
		if namespace == metav1.NamespaceDefault {
			namespace = ""
		}
		return &ObjectError{Title(cmp.Or(class.GetOwnerKind(), "Pod"), namespace, cmp.Or(class.GetOwnerName(), name)), errors.New(bad.Problems[0].Text)}
	}
	return nil // the planner says what it is
}

// checkBuffers finds capacity buffers that ask for nothing: because what they refer to is not among the manifests, of which
// it warns, or because they have no size, which is an error.
func checkBuffers(s *clusterpb.Snapshot) (warnings []string, err error) {
	for _, b := range s.GetCapacityBuffers() {
		reason := b.GetNotReady()
		if reason == nil {
			continue
		}
		namespace, name, _ := strings.Cut(b.GetId(), "/")
		if namespace == metav1.NamespaceDefault {
			namespace = ""
		}
		title := Title(autoscalingv1beta1.KindCapacityBuffer, namespace, name)
		if reason.GetCode() == clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE {
			warnings = append(warnings, title+": left out: "+reason.GetMessage()+" among the files; add its manifest")
			continue
		}
		return nil, &ObjectError{title, errors.New(reason.GetMessage())}
	}
	return warnings, nil
}

func (b *Builder) assumed(w World, inv inventory, elsewhere string) []string {
	var out []string
	if elsewhere != "" {
		out = append(out, elsewhere)
	} else if len(b.classes) > 0 {
		prices := "list prices of " + w.Catalog.Region
		if w.Catalog.ToldSpotPrices() {
			prices = "list and spot prices of " + w.Catalog.Region
		}
		if w.By != "" {
			prices += " (" + w.By + ")"
		}
		if name := map[string]string{"CNY": "yuan (CNY)", "EUR": "euros (EUR)"}[w.Catalog.Currency]; name != "" {
			prices += ", in " + name
		}
		if len(w.Zones) == 0 && inv.assumedZones {
			prices += ", and a subnet in each of its zones"
		}
		out = append(out, prices)
	}
	out = append(out, inv.assumedImages...)
	if !b.daemons {
		out = append(out, "no DaemonSets, because none is among the files")
	}
	return out
}
