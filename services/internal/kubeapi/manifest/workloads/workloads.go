// Package workloads reads kinds of other projects for the pods that their controllers make, where their text alone says
// how many of these there are and what they are like.
//
// Each becomes workloads of Kubernetes' own that make the same pods, with the labels that their controller gives them.
// What of such an object says other things is not looked at, and a field that is not known is no mistake here: its
// project knows. The package must never know a file. Start reading at New, then Form.
package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/replicas"
)

// Form is what is read of an object: decode its JSON into one. It makes groups of pods, or is a workload.
type Form any

type (
	grouped interface {
		groups(meta metav1.ObjectMeta) []group
	}
	whole interface {
		object() (o runtime.Object, said string)
	}
	scaled interface {
		scale() (field string, n **int32)
	}
)

// New is the form of a kind; nil for one of which the pods are not known.
func New(of schema.GroupKind) Form {
	if form := forms()[of]; form != nil {
		return form()
	}
	if of.Group == "kubeflow.org" && strings.HasSuffix(of.Kind, "Job") {
		return &trainingJob{}
	}
	return nil
}

// forms are the kinds of which the pods are known.
func forms() map[schema.GroupKind]func() Form {
	gk := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	return map[schema.GroupKind]func() Form{
		gk("apps.kruise.io", "CloneSet"):                          func() Form { return &cloneSet{} },
		gk("apps.kruise.io", "DaemonSet"):                         func() Form { return &daemonSet{} },
		gk("apps.kruise.io", "StatefulSet"):                       func() Form { return &statefulSet{} },
		gk("agent.k8s.elastic.co", "Agent"):                       func() Form { return &elasticRun{name: "agent", memory: "400Mi", cpu: "200m"} },
		gk("apm.k8s.elastic.co", "ApmServer"):                     func() Form { return &elasticPods{name: "apm-server", label: "apm", memory: "512Mi"} },
		gk("batch.volcano.sh", "Job"):                             func() Form { return &volcanoJob{} },
		gk("beat.k8s.elastic.co", "Beat"):                         func() Form { return &elasticRun{name: "beat", memory: "300Mi", cpu: "100m"} },
		gk("elasticsearch.k8s.elastic.co", "Elasticsearch"):       func() Form { return &elasticsearch{} },
		gk("enterprisesearch.k8s.elastic.co", "EnterpriseSearch"): func() Form { return &elasticPods{name: "enterprise-search", label: "enterprisesearch", memory: "4Gi"} },
		gk("flink.apache.org", "FlinkDeployment"):                 func() Form { return &flinkDeployment{} },
		gk("jobset.x-k8s.io", "JobSet"):                           func() Form { return &jobSet{} },
		gk("kafka.strimzi.io", "Kafka"):                           func() Form { return &kafka{} },
		gk("kafka.strimzi.io", "KafkaBridge"):                     func() Form { return &kafkaClient{kind: "KafkaBridge", name: "bridge", part: "kafka-bridge", pods: 1} },
		gk("kafka.strimzi.io", "KafkaConnect"): func() Form {
			return &kafkaClient{kind: "KafkaConnect", name: "connect", part: "kafka-connect", pods: 3}
		},
		gk("kafka.strimzi.io", "KafkaMirrorMaker2"): func() Form {
			return &kafkaClient{kind: "KafkaMirrorMaker2", name: "mirrormaker2", part: "kafka-mirror-maker-2", pods: 3}
		},
		gk("kafka.strimzi.io", "KafkaNodePool"):                 func() Form { return &kafkaPool{} },
		gk("keda.sh", "ScaledJob"):                              func() Form { return &scaledJob{} },
		gk("kibana.k8s.elastic.co", "Kibana"):                   func() Form { return &elasticPods{name: "kibana", label: "kibana", memory: "1Gi"} },
		gk("leaderworkerset.x-k8s.io", "LeaderWorkerSet"):       func() Form { return &leaderWorkerSet{} },
		gk("logstash.k8s.elastic.co", "Logstash"):               func() Form { return &elasticPods{name: "logstash", label: "logstash", memory: "2Gi", cpu: "1"} },
		gk("maps.k8s.elastic.co", "ElasticMapsServer"):          func() Form { return &elasticPods{name: "maps", label: "maps", memory: "200Mi"} },
		gk("monitoring.coreos.com", "Alertmanager"):             func() Form { return &alertmanager{} },
		gk("monitoring.coreos.com", "Prometheus"):               func() Form { return &prometheus{} },
		gk("postgresql.cnpg.io", "Cluster"):                     func() Form { return &postgres{} },
		gk("postgresql.cnpg.io", "Pooler"):                      func() Form { return &pooler{} },
		gk("ray.io", "RayCluster"):                              func() Form { return &rayCluster{} },
		gk("ray.io", "RayJob"):                                  func() Form { return &rayJob{} },
		gk("ray.io", "RayService"):                              func() Form { return &rayService{} },
		gk("serving.knative.dev", "Service"):                    func() Form { return &knativeService{} },
		gk("serving.kserve.io", "InferenceService"):             func() Form { return &inference{} },
		gk("sparkoperator.k8s.io", "ScheduledSparkApplication"): func() Form { return &scheduledSpark{} },
		gk("sparkoperator.k8s.io", "SparkApplication"):          func() Form { return &sparkApplication{} },
	}
}

// group are pods of one template.
type group struct {
	// What is said of them: "workers"; the name of the workload that stands for them ends in it, unless it is "".
	name     string
	part     string // which it is of several with the same name; "" for the only one
	field    string // where their number is said; "" where that is the field that autoscalers set, or is not known
	pods     int64  // as many as are asked for, however wrong that number is
	template corev1.PodTemplateSpec
	ignores  string // what is not looked at of it, in words; "" for nothing
	// labels are those that the controller gives the pods.
	labels map[string]string
	// ends says that the pods run to their end, and daemons that there is one on each node, whatever pods says.
	ends, daemons bool
}

// Objects are the workloads that make an object's pods, and how many of which there are, in words: "1 head, 3 workers".
// Numbers of pods that a manifest can't ask for are an error, which names their groups.
func (m *Maker) Objects() (made []Made, said string, err error) {
	add := func(o runtime.Object, labels map[string]string) {
		o.GetObjectKind().SetGroupVersionKind(m.Kind)
		made = append(made, Made{Object: o, owner: m.owner(), labels: labels})
	}
	if w, ok := m.Form.(whole); ok {
		o, said := w.object()
		add(o, nil) // all labels of its pods are the user's
		return made, said, nil
	}
	g, ok := m.Form.(grouped)
	if !ok {
		return nil, "", nil
	}
	field, _, _ := m.Scale()
	var wrong []string
	var all []group
	for _, g := range g.groups(m.Meta) {
		if err := replicas.Check(g.pods); err != nil {
			at := slices.DeleteFunc([]string{cmp.Or(g.field, field), g.name, err.Error()}, func(s string) bool { return s == "" })
			wrong = append(wrong, strings.Join(at, ": "))
			continue
		}
		if g.pods == 0 && !g.daemons {
			continue
		}
		own := *m.Meta.DeepCopy()
		own.GenerateName = ""
		for _, part := range []string{g.name, g.part} {
			own.Name = strings.TrimSuffix(own.Name+"-"+part, "-")
		}
		add(g.workload(own), g.labels)
		all = append(all, g)
	}
	switch {
	case len(wrong) > 0:
		return nil, "", errors.New(strings.Join(wrong, ", "))
	case len(all) == 0:
		return nil, "none", nil
	default:
		return made, words(all) + ignored(m.Meta.Annotations, all), nil
	}
}

// words say how many pods there are of what, those of all parts of one name together.
func words(all []group) string {
	var out []string
	for i, g := range all {
		if g.daemons {
			out = append(out, strings.TrimSpace("one on each node "+g.name))
			continue
		}
		if i > 0 && g.part != "" && all[i-1].name == g.name {
			continue // it was counted with the first
		}
		pods := g.pods
		for _, o := range all[i+1:] {
			if g.part == "" || o.name != g.name {
				break
			}
			pods += o.pods
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s", pods, g.name)))
	}
	return strings.Join(out, ", ")
}

// ignored says what of an object's annotations would place its pods otherwise.
func ignored(annotations map[string]string, all []group) string {
	for _, g := range all {
		if g.ignores != "" {
			return g.ignores
		}
	}
	for _, key := range []string{"leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology", nodeSelectorStrategy} {
		if annotations[key] != "" {
			return "; " + key + " is not looked at"
		}
	}
	return ""
}

func (g *group) workload(meta metav1.ObjectMeta) runtime.Object {
	t, pods := *g.template.DeepCopy(), int32(g.pods)
	for key, value := range g.labels {
		metav1.SetMetaDataLabel(&t.ObjectMeta, key, value)
	}
	if g.daemons {
		t.Spec.RestartPolicy = corev1.RestartPolicyAlways
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: g.labels}, Template: t}}
	}
	if g.ends {
		if t.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
			t.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &pods, Template: t}}
	}
	t.Spec.RestartPolicy = corev1.RestartPolicyAlways // whatever else they say is their own controller's matter
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
		Replicas: &pods, Selector: &metav1.LabelSelector{MatchLabels: g.labels}, Template: t,
	}}
}

// or is a number that has a default.
func or(n *int32, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	return int64(*n)
}

// times is so many groups of so many pods: what is below 0 stays so, that two such numbers don't become one that looks
// right.
func times(groups, pods int64) int64 {
	if less := min(groups, pods); less < 0 {
		return less
	}
	return groups * pods
}
