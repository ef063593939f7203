package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/legacy"
)

// autoMode is the group of EKS Auto Mode's kinds.
const autoMode = "eks.amazonaws.com"

const autoModeText = "it belongs to EKS Auto Mode (group " + autoMode + "), whose nodes AWS itself runs; Kerf leaves them alone"

// foreign knows kinds of other programs that say more than that they are not Kerf's; skipIt for all others.
func foreign(gv schema.GroupVersion, kind string) (treatment, string) {
	switch {
	case gv.Group == autoMode:
		return foreignIt, autoModeText
	case gv.Group == "kustomize.config.k8s.io":
		return foreignIt, "what kustomize would make of the files is not known; to plan for it, " + renderIt
	case gv.Group == "" && kind == "ReplicationController":
		return controllerIt, ""
	case gv.Group == "autoscaling" && kind == "HorizontalPodAutoscaler":
		return scaleIt, ""
	case gv.Group == "keda.sh" && kind == "ScaledObject":
		return scaleIt, ""
	case gv.Group == "keda.sh" && kind == "ScaledJob":
		return jobIt, ""
	case gv.Group == "argoproj.io" && kind == "Rollout":
		return rolloutIt, ""
	default:
		return skipIt, ""
	}
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
		r.skip(doc.place, h)
	case t == rolloutIt:
		r.rollout(doc, h)
	case t == jobIt:
		r.scaledJob(doc, h)
	case t == controllerIt:
		r.controller(doc, h)
	default:
		r.scaler(doc, h)
	}
}

// scaler reads how many replicas an autoscaler keeps: a HorizontalPodAutoscaler 1, and KEDA's none, where they don't say.
func (r *reader) scaler(doc document, h header) {
	s := scaler{place: doc.place, name: h.title(), namespace: h.Metadata.Namespace}
	if json.Unmarshal(doc.json, &s) != nil {
		r.skip(doc.place, h)
		return
	}
	switch {
	case s.Spec.MinReplicas != nil:
		s.least = *s.Spec.MinReplicas
	case s.Spec.MinReplicaCount != nil:
		s.least = *s.Spec.MinReplicaCount
	case h.Kind == "HorizontalPodAutoscaler":
		s.least = 1
	}
	if s.Spec.ScaleTargetRef.Kind == "" {
		s.Spec.ScaleTargetRef.Kind = "Deployment"
	}
	r.scalers = append(r.scalers, s)
}

// scaledJob reads one of the Jobs that KEDA makes.
func (r *reader) scaledJob(doc document, h header) {
	var form struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			JobTargetRef batchv1.JobSpec `json:"jobTargetRef"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(doc.json, &form); err != nil {
		r.wrongValue(doc, h, &form, err)
		return
	}
	j := &batchv1.Job{ObjectMeta: form.ObjectMeta, Spec: form.Spec.JobTargetRef}
	j.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	r.warn(doc.place, h.title(), "", "planned for as one of its Jobs")
	r.add(entry{place: doc.place, name: h.title(), object: j})
}

// rollout reads a Rollout as the Deployment that runs the same pods.
func (r *reader) rollout(doc document, h header) {
	var form struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			appsv1.DeploymentSpec `json:",inline"`
			WorkloadRef           *struct {
				Name string `json:"name"`
			} `json:"workloadRef"`
			Strategy any `json:"strategy"` // not a Deployment's
		} `json:"spec"`
	}
	if err := json.Unmarshal(doc.json, &form); err != nil {
		r.wrongValue(doc, h, &form, err)
		return
	}
	if ref := form.Spec.WorkloadRef; ref != nil {
		r.warn(doc.place, h.title(), "spec.workloadRef", "skipped: its pods are those of Deployment "+ref.Name+", which is planned for as it is written")
		return
	}
	d := &appsv1.Deployment{ObjectMeta: form.ObjectMeta, Spec: form.Spec.DeploymentSpec}
	d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	r.warn(doc.place, h.title(), "", "planned for as a Deployment of the same pods")
	for _, n := range legacy.Workload(d) {
		r.warn(doc.place, h.title(), n.Field, n.Message)
	}
	r.add(entry{place: doc.place, name: h.title(), object: d})
}

// controller reads a ReplicationController as the ReplicaSet that took its place.
func (r *reader) controller(doc document, h header) {
	var old corev1.ReplicationController
	if !r.decode(doc, h, &old) {
		return
	}
	set := &appsv1.ReplicaSet{ObjectMeta: old.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: old.Spec.Replicas}}
	set.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
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

// scaler says how many replicas a workload has at least.
type scaler struct {
	place           Place
	name, namespace string
	least           int32
	Spec            struct {
		MinReplicas     *int32 `json:"minReplicas"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		ScaleTargetRef  struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
	} `json:"spec"`
}

// scale gives workloads the replicas that their autoscalers keep at least.
func (r *reader) scale() {
	for _, s := range r.scalers {
		to := s.Spec.ScaleTargetRef
		i := slices.IndexFunc(r.read, func(e entry) bool {
			m, ok := e.object.(metav1.Object)
			kind := strings.Fields(e.name)[0] // as it was written: a Rollout has become a Deployment
			return ok && kind == to.Kind && m.GetName() == to.Name && m.GetNamespace() == s.namespace
		})
		if i < 0 {
			r.warn(s.place, s.name, "", fmt.Sprintf("skipped: %s %s, which it scales, is not among the files", to.Kind, to.Name))
			continue
		}
		replicas := replicasOf(r.read[i].object)
		if replicas == nil || s.least == 0 || (*replicas != nil && **replicas >= s.least) {
			continue
		}
		*replicas = new(s.least)
		r.warn(r.read[i].place, r.read[i].name, "spec.replicas", fmt.Sprintf("assumed: %d, the least that %s keeps", s.least, s.name))
	}
}

func replicasOf(obj runtime.Object) **int32 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Replicas
	default:
		return nil
	}
}

// skipped is how many objects of one kind a source holds that Kerf has no use for.
type skipped struct {
	source, kind string
	count        int
}

func (r *reader) skip(place Place, h header) {
	group, _, _ := strings.Cut(h.APIVersion, "/")
	kind := h.Kind
	if strings.Contains(h.APIVersion, "/") {
		kind += " (" + group + ")"
	}
	for i := range r.skipped {
		if s := &r.skipped[i]; s.source == place.Source && s.kind == kind {
			s.count++
			return
		}
	}
	r.skipped = append(r.skipped, skipped{place.Source, kind, 1})
}

// warnSkipped says in one line for each source what was left out.
func (r *reader) warnSkipped() {
	texts := map[string][]string{}
	var order []string
	for _, s := range r.skipped {
		if texts[s.source] == nil {
			order = append(order, s.source)
		}
		texts[s.source] = append(texts[s.source], fmt.Sprintf("%d %s", s.count, s.kind))
	}
	for _, source := range order {
		r.warn(Place{Source: source}, "", "", "skipped, because planning does not look at them: "+strings.Join(texts[source], ", "))
	}
}
