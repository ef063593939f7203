package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/legacy"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/kustomize"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/workloads"
)

// autoMode is the group of EKS Auto Mode's kinds.
const autoMode = "eks.amazonaws.com"

const autoModeText = "it belongs to EKS Auto Mode (group " + autoMode + "), whose nodes AWS itself runs; Kerf leaves them alone"

// foreign knows kinds of other programs that say more than that they are not Kerf's; skipIt for all others.
func foreign(gv schema.GroupVersion, kind string) (treatment, string) {
	switch {
	case gv.Group == autoMode:
		return foreignIt, autoModeText
	case gv.Group == "kustomize.config.k8s.io" || kustomize.Is(gv.String(), kind):
		return kustomizeIt, ""
	case gv.Group == "" && gv.Version == "v1" && kind == "ReplicationController":
		return controllerIt, ""
	case gv.Group == "autoscaling" && kind == "HorizontalPodAutoscaler":
		return scaleIt, ""
	case gv.Group == "keda.sh" && kind == "ScaledObject":
		return scaleIt, ""
	case gv.Group == "argoproj.io" && kind == "Rollout":
		return rolloutIt, ""
	case workloads.New(gv.WithKind(kind).GroupKind()) != nil:
		return podsIt, ""
	default:
		return skipIt, ""
	}
}

// documents are those of a source; none of one that is a patch.
func (r *reader) documents(src Source) []document {
	if by := r.patches[kustomize.Same(src.Name)]; by != "" {
		r.warn(Place{Source: src.Name}, "", "", "skipped: a patch for kustomize: "+by+" changes other objects with it")
		return nil
	}
	docs, err := split(src)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return docs
}

// kustomizations are the documents of the sources, by their place, that say which of the others are patches: they are
// read first.
func (r *reader) kustomizations(sources []Source) map[int][]document {
	found := map[int][]document{}
	for i, src := range sources {
		if !kustomize.IsFile(src.Name) {
			continue
		}
		found[i] = r.documents(src)
		for _, d := range found[i] {
			for _, name := range kustomize.Patches(src.Name, d.json) {
				r.patches[name] = src.Name
			}
		}
	}
	return found
}

// foreignPool leaves out pools whose nodes are another provider's.
func (r *reader) foreignPool(place Place, h header, obj runtime.Object) bool {
	pool, ok := obj.(*karpenterv1.NodePool)
	if !ok {
		return false
	}
	ref := pool.Spec.Template.Spec.NodeClassRef
	switch {
	case ref.Group == autoMode:
		r.warn(place, h.title(), "spec.template.spec.nodeClassRef.group", "skipped: "+autoModeText)
		return true
	case ref.Group != "" && ref.Group != awsv1.Group && !strings.Contains(ref.Group, "/"):
		r.warn(place, h.title(), "spec.template.spec.nodeClassRef.group", fmt.Sprintf(
			"skipped: %s %s is another provider's; Kerf buys nodes with %s %s", ref.Group, ref.Kind, awsv1.Group, awsv1.KindEC2NodeClass))
		return true
	default:
		return false
	}
}

// stranger reads what other programs' kinds say about pods, where things may be assumed.
func (r *reader) stranger(doc document, h header, t treatment) {
	switch {
	case !r.options.Assume:
		r.skip(doc, h)
	case t == rolloutIt:
		r.rollout(doc, h)
	case t == controllerIt:
		r.controller(doc, h)
	case t == podsIt:
		r.maker(doc, h)
	default:
		r.scaler(doc, h)
	}
}

// rollout reads a Rollout as the Deployment that runs the same pods.
func (r *reader) rollout(doc document, h header) {
	var form struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			appsv1.DeploymentSpec `json:",inline"`
			WorkloadRef           workloadRef `json:"workloadRef"`
			Strategy              any         `json:"strategy"` // not a Deployment's
		} `json:"spec"`
	}
	if err := json.Unmarshal(doc.json, &form); err != nil {
		r.wrongValue(doc, h, &form, err)
		return
	}
	r.unknownOfPods(doc, h, &form)
	d := &appsv1.Deployment{ObjectMeta: form.ObjectMeta, Spec: form.Spec.DeploymentSpec}
	d.SetGroupVersionKind(h.kind())
	r.warn(doc.place, h.title(), "", "planned for as a Deployment of the same pods")
	for _, n := range legacy.Workload(d) {
		r.warn(doc.place, h.title(), n.Field, n.Message)
	}
	r.add(entry{place: doc.place, name: h.title(), object: d, template: form.Spec.WorkloadRef})
}

// workloadRef names the object whose pods a Rollout makes in its place; the zero value none.
type workloadRef struct {
	Kind      string `json:"kind"` // Deployment, which is also "", ReplicaSet or PodTemplate
	Name      string `json:"name"`
	ScaleDown string `json:"scaleDown"` // of a Deployment: never, which is also "", onsuccess or progressively
}

// takeTemplates gives Rollouts the pods of the objects that they name. Deployments keep their own unless they are to be
// scaled down.
func (r *reader) takeTemplates() {
	r.read = slices.DeleteFunc(r.read, func(e entry) bool {
		own, ok := e.object.(*appsv1.Deployment)
		if !ok || e.template.Name == "" {
			return false
		}
		kind := cmp.Or(e.template.Kind, "Deployment")
		group, known := templateGroups()[kind]
		if !known {
			r.warn(e.place, e.name, "spec.workloadRef.kind", "skipped: "+kind+" is none that a Rollout can name: want Deployment, ReplicaSet or PodTemplate")
			return true
		}
		named := &metav1.ObjectMeta{Namespace: own.Namespace, Name: e.template.Name}
		of := r.seen[idOf(group.WithKind(kind), named)]
		switch o := of.object.(type) {
		case *appsv1.Deployment:
			own.Spec.Selector, own.Spec.Template = cmp.Or(own.Spec.Selector, o.Spec.Selector), *o.Spec.Template.DeepCopy()
			if down := e.template.ScaleDown; down != "" && down != "never" {
				o.Spec.Replicas = new(int32)
				r.warn(of.place, of.name, "spec.replicas", "assumed: 0, to which "+e.name+" scales it down")
			}
		case *appsv1.ReplicaSet:
			own.Spec.Selector, own.Spec.Template = cmp.Or(own.Spec.Selector, o.Spec.Selector), *o.Spec.Template.DeepCopy()
		case *corev1.PodTemplate:
			own.Spec.Template = *o.Template.DeepCopy()
			own.Spec.Selector = cmp.Or(own.Spec.Selector, &metav1.LabelSelector{MatchLabels: o.Template.Labels})
		default:
			r.warn(e.place, e.name, "spec.workloadRef", "skipped: "+kind+" "+e.template.Name+", whose pods it makes, is not among the files")
			return true
		}
		return false
	})
}

// templateGroups are the groups of the kinds whose pods a Rollout can make.
func templateGroups() map[string]schema.GroupVersion {
	return map[string]schema.GroupVersion{
		"Deployment": appsv1.SchemeGroupVersion, "ReplicaSet": appsv1.SchemeGroupVersion, "PodTemplate": corev1.SchemeGroupVersion,
	}
}

// maker is an object of another project whose pods are planned for.
type maker struct {
	workloads.Maker
	place Place
	name  string // for messages
}

func (m *maker) id() identity { return idOf(m.Kind, &m.Meta) }

// maker reads an object for the pods that its controller makes; see makePods.
func (r *reader) maker(doc document, h header) {
	form := workloads.New(h.kind().GroupKind())
	if err := json.Unmarshal(doc.json, form); err != nil {
		r.wrongValue(doc, h, form, err)
		return
	}
	var own struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(doc.json, &own); err != nil {
		r.wrongValue(doc, h, &own, err)
		return
	}
	r.unknownOfPods(doc, h, form)
	m := &maker{Maker: workloads.Maker{Kind: h.kind(), Meta: own.ObjectMeta, Form: form}, place: doc.place, name: h.title()}
	if workloads.Ended(doc.json) {
		r.warn(doc.place, h.title(), "", "skipped: it has ended, or is being deleted")
		r.ended = append(r.ended, m)
		return
	}
	if first := r.named[m.id()]; first != nil && own.Name != "" {
		if replaces(r, first.place, m.place, m.name, reflect.DeepEqual(first.Maker, m.Maker)) {
			*first = *m
		}
		return
	}
	if r.makers = append(r.makers, m); own.Name != "" {
		r.named[m.id()] = m
	}
}

// makePods makes the workloads of the objects of other projects, when all are read: they are named for their object, which
// may get a name that none has.
func (r *reader) makePods() {
	all := make([]*workloads.Maker, 0, len(r.makers))
	for _, m := range r.makers {
		if m.Meta.Name == "" && giveName(&m.Meta, func() bool { return r.named[m.id()] != nil }) {
			r.warn(m.place, m.name, "metadata.name", "is missing; assumed: "+m.Meta.Name)
		}
		r.named[m.id()] = m
		all = append(all, &m.Maker)
	}
	workloads.Join(all)
	taken := map[identity]bool{}
	for _, m := range r.makers {
		if r.full() {
			return
		}
		for _, n := range m.Notes {
			r.warn(m.place, m.name, n.Field, n.Message)
		}
		for _, s := range r.scalers {
			s.scaleMaker(r, m)
		}
		made, pods, err := m.Objects()
		if err != nil {
			r.fail(m.place, m.name, "", err.Error())
			continue
		}
		r.warn(m.place, m.name, "", "planned for as the pods that its controller makes: "+pods)
		for _, w := range made {
			for _, n := range legacy.Workload(w.Object) {
				r.warn(m.place, m.name, n.Field, n.Message)
			}
			if o, ok := w.Object.(metav1.Object); ok { // parts of two objects may be called the same
				number(o, func() bool { return taken[idOf(m.Kind, o)] })
				taken[idOf(m.Kind, o)] = true
			}
			r.read = append(r.read, entry{place: m.place, name: m.name, object: w.Object, made: &w})
		}
	}
}

// unknownOfPods warns of fields that are not known of the pods in an object of another project, of which no other fields
// are looked at. It reads the object into form once more.
func (r *reader) unknownOfPods(doc document, h header, form any) {
	fresh := reflect.New(reflect.TypeOf(form).Elem()).Interface()
	problems, err := kjson.UnmarshalStrict(doc.json, fresh)
	if err != nil {
		return // it was read before
	}
	for _, p := range problems {
		f, ok := errors.AsType[kjson.FieldError](p)
		if !ok || !strings.Contains(f.FieldPath(), "emplate.spec.") {
			continue
		}
		place := doc.place
		place.Line = lineOf(doc, f.FieldPath())
		r.warn(place, h.title(), f.FieldPath(), "unknown field: ignored"+meant(h, fresh, f.FieldPath()))
	}
}

// countOnce leaves out pods of other projects' objects that are among the files too.
func (r *reader) countOnce() {
	if len(r.makers) == 0 {
		return
	}
	live := workloads.NewLive()
	for _, e := range r.read {
		live.Add(e.object, e.made != nil)
	}
	r.read = slices.DeleteFunc(r.read, func(e entry) bool {
		twice := e.made != nil && live.Has(e.made)
		if twice {
			r.warn(e.place, e.name, "", "skipped: its pods, or what makes them, are among the files too")
		}
		return twice
	})
}

// controller reads a ReplicationController as the ReplicaSet that took its place.
func (r *reader) controller(doc document, h header) {
	var old corev1.ReplicationController
	if !r.decode(doc, h, &old) {
		return
	}
	set := &appsv1.ReplicaSet{ObjectMeta: old.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: old.Spec.Replicas}}
	set.SetGroupVersionKind(h.kind())
	if old.Spec.Template != nil {
		set.Spec.Template = *old.Spec.Template
	}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: old.Spec.Selector}
	if len(old.Spec.Selector) == 0 {
		set.Spec.Selector.MatchLabels = set.Spec.Template.Labels
	}
	r.warn(doc.place, h.title(), "", "planned for as a ReplicaSet of the same pods")
	r.add(entry{place: doc.place, name: h.title(), object: set})
}

func (r *reader) skip(doc document, h header) {
	group := ""
	if strings.Contains(h.APIVersion, "/") {
		group, _, _ = strings.Cut(h.APIVersion, "/")
	}
	r.skipped.Add(doc.place.Source, group, h.Kind, doc.json)
}

// warnSkipped says in few lines for each source what was left out.
func (r *reader) warnSkipped() {
	for _, l := range r.skipped.Lines() {
		r.warn(Place{Source: l.Source}, "", "", l.Text)
	}
}
