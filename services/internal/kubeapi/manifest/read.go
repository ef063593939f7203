package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/legacy"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/kustomize"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/skips"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/workloads"
)

// Decode reads one source; see Read.
func Decode(r io.Reader, source string) ([]runtime.Object, []Warning, error) {
	return Read(Source{Name: source, Reader: r})
}

// Read reads with the zero Options.
func Read(sources ...Source) ([]runtime.Object, []Warning, error) {
	return Options{}.Read(sources...)
}

// Options are how sources are understood. The zero value takes them as they are written.
type Options struct {
	// Assume fills in what is missing or gone, where a plan does not depend on it, with a warning for each: a class
	// that pools name, a class's role, an instance profile from old settings. Workloads of other controllers are read
	// for what they run: a Rollout as a Deployment, a ScaledJob as a Job, a RayCluster and others as the pods that they
	// have, an autoscaler as its least number of replicas.
	Assume bool
	// Strict refuses fields that are not known or given twice, and objects without fields that their schema requires.
	// Without it the former are ignored with a warning, as by the API server, and the latter assumed.
	Strict bool
	// InstanceProfile is what the old setting aws.defaultInstanceProfile was; "" when that is not known.
	InstanceProfile string
}

// Read reads all sources as one input and returns its objects in the order in
// which they stand there, in today's forms, with kind and apiVersion set. The
// sources belong together: settings that an old form kept in one object move to
// the object that keeps them today. The same object twice is an error, unless both are alike.
//
// The error joins up to MaxErrors *Errors, or is what a reader returned; then there
// are no objects. Namespaces are as they stand, "" is up to the caller; kinds without one get "".
func (o Options) Read(sources ...Source) ([]runtime.Object, []Warning, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, fmt.Errorf("read manifests: %w", err)
	}
	r := &reader{options: o, kinds: kinds{scheme: scheme, used: used()}, seen: map[identity]entry{}, patches: map[string]string{}, named: map[identity]*maker{}}
	built := r.kustomizations(sources)
	for i, src := range sources {
		docs, known := built[i]
		if !known {
			docs = r.documents(src)
		}
		if r.inFolder = src.Found; src.Found {
			docs = r.manifests(docs)
		}
		for _, doc := range docs {
			r.document(doc)
			if r.full() {
				return nil, r.warnings, errors.Join(r.errs...)
			}
		}
	}
	r.warnSkipped()
	r.makePods()
	if o.Assume && len(r.errs) == 0 { // with errors nothing is planned for, and what could not be read would be taken for missing
		r.assume()
	}
	r.moveKubelets()
	if len(r.errs) > 0 {
		return nil, r.warnings, errors.Join(r.errs...)
	}
	objects := make([]runtime.Object, len(r.read))
	for i, e := range r.read {
		objects[i] = e.object
	}
	return objects, r.warnings, nil
}

// manifests are the documents that claim to be Kubernetes objects. What does not is skipped with a warning.
func (r *reader) manifests(docs []document) []document {
	return slices.DeleteFunc(docs, func(d document) bool {
		var h header
		switch {
		case d.err != nil && template.Is(d.text):
			r.warn(d.place, "", "", "skipped"+template.MeantFor(d.text, ""))
		case d.err != nil:
			return false
		case kjson.UnmarshalCaseSensitivePreserveInts(d.json, &h) != nil || (h.APIVersion == "" || h.Kind == "") && !kustomize.Is(h.APIVersion, h.Kind):
			r.warn(d.place, "", "", "skipped: no Kubernetes object")
		default:
			return false
		}
		return true
	})
}

// identity is what only one object may have.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func idOf(kind schema.GroupVersionKind, o metav1.Object) identity {
	return identity{kind.GroupKind(), cmp.Or(o.GetNamespace(), metav1.NamespaceDefault), o.GetName()}
}

// entry is an object that was read.
type entry struct {
	place    Place
	name     string // for messages
	object   runtime.Object
	template workloadRef
	// Of pods that were read of another project's object; nil for what is an object by itself.
	made *workloads.Made
	// The kubelet settings that an old pool brought; isOldPool tells a pool without any.
	kubelet   *runtime.RawExtension
	isOldPool bool
}

// reader collects objects, warnings and errors.
type reader struct {
	options  Options
	kinds    kinds
	read     []entry
	seen     map[identity]entry
	inFolder bool                // whether the source that is read was named by its folder
	patches  map[string]string   // the kustomization that patches with a file, by the file's name
	makers   []*maker            // the objects of other projects whose pods are planned for
	named    map[identity]*maker // those of them that have a name
	ended    []*maker            // those that make no pods any more
	skipped  skips.List
	scalers  []*scaler
	warnings []Warning
	errs     []error
}

// header is what is looked at before a document's type is known.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Patch      string `json:"$patch"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
}

// maxDepth is how deep lists may stand in lists; kubectl never makes more than one.
const maxDepth = 3

func (r *reader) document(doc document) {
	if doc.err != nil {
		r.errs = append(r.errs, doc.err)
		return
	}
	r.object(doc, 0)
}

func (r *reader) object(doc document, depth int) {
	var h header
	if err := kjson.UnmarshalCaseSensitivePreserveInts(doc.json, &h); err != nil {
		if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && typeErr.Field != "" && h.Kind != "" {
			r.wrongValue(doc, h, &header{}, err)
			return
		}
		problem := "not a Kubernetes object: want apiVersion, kind and metadata"
		if bytes.HasPrefix(doc.json, []byte("[")) {
			problem = "not a Kubernetes object, but a list: write the objects one after the other, or as items of kind: List"
		}
		r.fail(doc.place, "", "", problem)
		return
	}
	if (h.APIVersion == "" || h.Kind == "") && !kustomize.Is(h.APIVersion, h.Kind) {
		r.fail(doc.place, h.title(), "", "not a Kubernetes object: apiVersion or kind is missing")
		return
	}
	treatment, problem := r.kinds.treat(h.APIVersion, h.Kind)
	if h.Patch != "" {
		treatment, problem = foreignIt, "$patch: "+h.Patch+" makes it a patch for kustomize, which kerf does not run"
	}
	switch treatment {
	case skipIt:
		r.skip(doc, h)
	case foreignIt:
		r.warn(doc.place, h.title(), "", "skipped: "+problem)
	case kustomizeIt:
		r.warn(doc.place, h.title(), "", "skipped: kerf does not run kustomize: what it changes, and where, is not known; to plan for it: kustomize build "+kustomize.Folder(doc.place.Source)+" | kerf plan -f -")
	case scaleIt, rolloutIt, controllerIt, podsIt:
		r.stranger(doc, h, treatment)
	case refuseIt:
		r.fail(doc.place, h.title(), "", problem)
	case listIt:
		r.list(doc, h, depth)
	case takeOld:
		r.old(doc, h)
	case takeMoved:
		r.moved(doc, h)
	case takeIt:
		r.known(doc, h)
	}
}

func (h header) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(h.APIVersion, h.Kind)
}

func (h header) title() string {
	name := h.Metadata.Name
	if h.Metadata.Namespace != "" {
		name = h.Metadata.Namespace + "/" + name
	}
	return strings.TrimSpace(h.Kind + " " + name)
}

// list reads the items of a List, PodList and the like.
func (r *reader) list(doc document, h header, depth int) {
	if depth >= maxDepth {
		r.fail(doc.place, h.title(), "", fmt.Sprintf("lists in lists, %d deep: write the objects one after the other", maxDepth))
		return
	}
	var items struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(doc.json, &items); err != nil {
		r.fail(doc.place, h.title(), "items", "want a list of objects")
		return
	}
	gv, _ := schema.ParseGroupVersion(h.APIVersion) // treat has parsed it
	kind, _ := r.kinds.itemKind(gv, h.Kind)
	for i, raw := range items.Items {
		item := document{place: doc.place, json: raw}
		if kind != "" {
			item.json = withType(raw, h.APIVersion, kind)
		}
		before := len(r.errs)
		r.object(item, depth+1)
		nameItem(r.errs[before:], i)
		if r.full() {
			return
		}
	}
}

// nameItem says which item of a list errors without an object are about.
func nameItem(errs []error, item int) {
	for _, err := range errs {
		var e *Error
		if errors.As(err, &e) && e.Object == "" {
			e.Object = fmt.Sprintf("items[%d]", item)
		}
	}
}

// withType sets what items of typed lists leave out. Something that is no object
// stays as it is, to be refused.
func withType(raw json.RawMessage, apiVersion, kind string) []byte {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil || fields["kind"] != nil {
		return raw
	}
	fields["apiVersion"], _ = json.Marshal(apiVersion)
	fields["kind"], _ = json.Marshal(kind)
	typed, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return typed
}

func (r *reader) known(doc document, h header) {
	gv, _ := schema.ParseGroupVersion(h.APIVersion)
	obj, err := r.kinds.scheme.New(gv.WithKind(h.Kind))
	if err != nil {
		r.fail(doc.place, h.title(), "", err.Error())
		return
	}
	if !r.decode(doc, h, obj) || r.foreignPool(doc.place, h, obj) || !r.required(doc, h, obj) || !r.valued(doc, h) {
		return
	}
	e := entry{place: doc.place, name: h.title(), object: obj}
	for _, n := range legacy.Workload(obj) {
		r.warn(doc.place, h.title(), n.Field, n.Message)
	}
	r.add(e)
}

// moved reads a kind of another project in an earlier version.
func (r *reader) moved(doc document, h header) {
	gv, _ := schema.ParseGroupVersion(h.APIVersion) // treat has parsed it
	to, _ := legacy.MovedTo(gv)
	r.warn(doc.place, h.title(), "", h.APIVersion+" is an old version, read as "+to.String())
	doc.json = legacy.Today(doc.json, to, h.Kind)
	h.APIVersion = to.String()
	r.known(doc, h)
}

func (r *reader) old(doc document, h header) {
	form := legacy.New(h.APIVersion, h.Kind)
	if !r.decode(doc, h, form) {
		return
	}
	result, err := legacy.Convert(form, r.options.InstanceProfile)
	if err != nil {
		r.fail(doc.place, h.title(), "", err.Error())
		return
	}
	for _, g := range result.Gaps {
		if r.options.Assume {
			r.warn(doc.place, h.title(), g.Problem.Field, g.Problem.Detail+"; assumed: "+g.Assumed)
		} else {
			r.fail(doc.place, h.title(), g.Problem.Field, g.Problem.ErrorBody())
		}
	}
	for _, p := range result.Problems {
		r.fail(doc.place, h.title(), p.Field, p.ErrorBody())
	}
	if len(result.Problems) > 0 {
		return
	}
	gvk := result.Object.GetObjectKind().GroupVersionKind()
	r.warn(doc.place, h.title(), "", fmt.Sprintf("%s is an old form, read as %s %s", h.APIVersion, gvk.GroupVersion(), gvk.Kind))
	for _, n := range result.Notes {
		r.warn(doc.place, h.title(), n.Field, n.Message)
	}
	isPool := gvk.Kind == "NodePool"
	r.add(entry{place: doc.place, name: h.title(), object: result.Object, kubelet: result.Kubelet, isOldPool: isPool})
	if result.Class != nil {
		r.add(entry{place: doc.place, name: "EC2NodeClass " + result.Class.Name, object: result.Class})
	}
}

// decode fills obj and tells whether nothing was wrong. Fields that are not known or given twice are problems of strict
// options only.
func (r *reader) decode(doc document, h header, obj any) bool {
	if doc.twice != nil && r.options.Strict {
		r.errs = append(r.errs, doc.twice)
		return false
	}
	if doc.twice != nil {
		r.warn(doc.twice.Place, h.title(), "", strings.TrimPrefix(doc.twice.Problem, notYAML)+": the last one counts")
	}
	problems, err := kjson.UnmarshalStrict(doc.json, obj)
	if err != nil {
		r.wrongValue(doc, h, obj, err)
		return false
	}
	for _, p := range problems {
		if r.full() {
			return false
		}
		place, path := doc.place, ""
		if fieldErr, ok := errors.AsType[kjson.FieldError](p); ok {
			path = fieldErr.FieldPath()
			place.Line = lineOf(doc, path)
		}
		unknown := !strings.HasPrefix(p.Error(), "duplicate field")
		switch {
		case r.options.Strict && unknown:
			r.fail(place, h.title(), path, "unknown field"+meant(h, obj, path))
		case r.options.Strict:
			r.fail(place, h.title(), path, "given twice")
		case unknown:
			r.warn(place, h.title(), path, "unknown field: ignored"+meant(h, obj, path))
		default:
			r.warn(place, h.title(), path, "given twice: the last one counts")
		}
	}
	return !r.options.Strict || len(problems) == 0
}

// add takes an object unless its name is missing or taken.
func (r *reader) add(e entry) {
	accessor, err := meta.Accessor(e.object)
	if err != nil {
		r.fail(e.place, e.name, "metadata", err.Error())
		return
	}
	if accessor.GetName() == "" && !r.options.Assume {
		r.fail(e.place, e.name, "metadata.name", "missing: give the object a name")
		return
	}
	if len(r.read) >= MaxObjects {
		r.fail(e.place, e.name, "", fmt.Sprintf("more than %d objects", MaxObjects))
		return
	}
	kind := e.object.GetObjectKind().GroupVersionKind().GroupKind()
	if accessor.GetNamespace() != "" && clusterScoped(kind.Kind) {
		accessor.SetNamespace("")
		e.name = kind.Kind + " " + accessor.GetName()
		r.warn(e.place, e.name, "metadata.namespace", "ignored: objects of this kind are in no namespace")
	}
	id := idOf(e.object.GetObjectKind().GroupVersionKind(), accessor)
	if id.name == "" { // it gets one when all that have one are read
		r.read = append(r.read, e)
		return
	}
	if first, again := r.seen[id]; again {
		if replaces(r, first.place, e.place, e.name, reflect.DeepEqual(first.object, e.object)) {
			r.read[slices.IndexFunc(r.read, func(o entry) bool { return o.object == first.object })] = e
			r.seen[id] = e
		}
		return
	}
	r.seen[id] = e
	r.read = append(r.read, e)
}

// replaces says whether an object that is defined twice counts in the place of the first.
func replaces(r *reader, first, again Place, name string, same bool) bool {
	switch {
	case same:
		r.warn(again, name, "", "the same as in "+first.String()+": read once")
	case r.options.Assume && r.inFolder && first.Source != again.Source:
		r.warn(again, name, "", "defined twice: it is also in "+first.String()+"; this one counts, as with kubectl apply")
		return true
	default:
		r.fail(again, name, "", "defined twice: it is also in "+first.String())
	}
	return false
}

func (r *reader) fail(place Place, object, field, problem string) {
	r.errs = append(r.errs, &Error{Place: place, Object: object, Field: field, Problem: problem})
}

func (r *reader) warn(place Place, object, field, message string) {
	r.warnings = append(r.warnings, Warning{Place: place, Object: object, Field: field, Message: message})
}

func (r *reader) full() bool {
	return len(r.errs) >= MaxErrors || len(r.read) >= MaxObjects && len(r.errs) > 0
}
