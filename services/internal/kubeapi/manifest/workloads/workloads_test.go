package workloads

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const pod = "{spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}}"

// TestTheirPods reads an object each, and says which pods its controller makes.
func TestTheirPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"a cluster of Ray": {
			"ray.io/RayCluster", "{headGroupSpec: {template: " + pod + "}, workerGroupSpecs: [{groupName: small, replicas: 3, template: " + pod + "}]}",
			"1 head, 3 small",
		},
		"one between its least and its most": {
			"ray.io/RayCluster", "{headGroupSpec: {template: " + pod + "}, workerGroupSpecs: [{groupName: few, minReplicas: 2, template: " + pod + "}, " +
				"{groupName: many, replicas: 9, maxReplicas: 4, numOfHosts: 2, template: " + pod + "}, {groupName: none, replicas: 2, suspend: true, template: " + pod + "}]}",
			"1 head, 2 few, 8 many",
		},
		"one that is suspended": {"ray.io/RayCluster", "{suspend: true, headGroupSpec: {template: " + pod + "}}", "none"},
		"a job of Ray":          {"ray.io/RayJob", "{rayClusterSpec: {headGroupSpec: {template: " + pod + "}}}", "1 head, 1 submitter"},
		"a job that is sent":    {"ray.io/RayJob", "{submissionMode: HTTPMode, rayClusterSpec: {headGroupSpec: {template: " + pod + "}}}", "1 head"},
		"a service of Ray":      {"ray.io/RayService", "{rayClusterConfig: {headGroupSpec: {template: " + pod + "}}}", "1 head"},
		"leaders and workers":   {"leaderworkerset.x-k8s.io/LeaderWorkerSet", "{replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: " + pod + "}}", "2 leaders, 6 workers"},
		"leaders alone":         {"leaderworkerset.x-k8s.io/LeaderWorkerSet", "{leaderWorkerTemplate: {workerTemplate: " + pod + "}}", "1 leaders"},
		"Jobs of a set": {
			"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, template: {spec: {template: " + pod + "}}}, {name: b, replicas: 3, template: {spec: {parallelism: 4, completions: 2, template: " + pod + "}}}]}",
			"1 a, 6 b",
		},
		"training":                 {"kubeflow.org/PyTorchJob", "{pytorchReplicaSpecs: {Worker: {replicas: 3, template: " + pod + "}, Master: {template: " + pod + "}}}", "1 master, 3 worker"},
		"training, suspended":      {"kubeflow.org/MPIJob", "{runPolicy: {suspend: true}, mpiReplicaSpecs: {Worker: {template: " + pod + "}}}", "none"},
		"tasks":                    {"batch.volcano.sh/Job", "{tasks: [{name: ps, replicas: 2, template: " + pod + "}, {name: worker, template: " + pod + "}]}", "2 ps, 1 worker"},
		"a service":                {"serving.knative.dev/Service", "{template: " + pod + "}", "1"},
		"a service of more":        {"serving.knative.dev/Service", "{template: {metadata: {annotations: {autoscaling.knative.dev/min-scale: '3'}}, spec: {}}}", "3"},
		"none at first":            {"serving.knative.dev/Service", "{template: {metadata: {annotations: {autoscaling.knative.dev/initial-scale: '0'}}, spec: {}}}", "none"},
		"an application":           {"sparkoperator.k8s.io/SparkApplication", "{driver: {}, executor: {instances: 20}}", "1 driver, 20 executor"},
		"one that grows":           {"sparkoperator.k8s.io/ScheduledSparkApplication", "{template: {dynamicAllocation: {enabled: true, minExecutors: 3}, driver: {}, executor: {}}}", "1 driver, 3 executor"},
		"a database":               {"postgresql.cnpg.io/Cluster", "{instances: 3}", "3"},
		"a search engine":          {"elasticsearch.k8s.elastic.co/Elasticsearch", "{nodeSets: [{name: masters, count: 3}, {name: data, count: 5, podTemplate: " + pod + "}]}", "3 masters, 5 data"},
		"a dashboard":              {"kibana.k8s.elastic.co/Kibana", "{count: 1}", "1"},
		"brokers":                  {"kafka.strimzi.io/Kafka", "{kafka: {replicas: 3}, zookeeper: {replicas: 3}, entityOperator: {topicOperator: {}}}", "3 kafka, 3 zookeeper, 1 entity-operator"},
		"brokers of pools":         {"kafka.strimzi.io/Kafka", "{kafka: {}, entityOperator: {}}", "none"},
		"what runs beside brokers": {"kafka.strimzi.io/KafkaConnect", "{bootstrapServers: a}", "3"},
		"a bridge to brokers":      {"kafka.strimzi.io/KafkaBridge", "{replicas: 2}", "2"},
		"a pool of connections":    {"postgresql.cnpg.io/Pooler", "{instances: 2}", "2"},
		"a server of Elastic's":    {"logstash.k8s.elastic.co/Logstash", "{count: 2}", "2"},
		"one of a Deployment":      {"agent.k8s.elastic.co/Agent", "{deployment: {replicas: 2}}", "2"},
		"one on each node":         {"beat.k8s.elastic.co/Beat", "{type: filebeat, daemonSet: {}}", "one on each node"},
		"a job of Flink":           {"flink.apache.org/FlinkDeployment", "{flinkConfiguration: {taskmanager.numberOfTaskSlots: '2'}, job: {parallelism: 5}}", "1 jobmanager, 3 taskmanager"},
		"one of nested settings":   {"flink.apache.org/FlinkDeployment", "{flinkConfiguration: {taskmanager: {numberOfTaskSlots: 4}, parallelism.default: 8}, job: {}}", "1 jobmanager, 2 taskmanager"},
		"one of so many pods":      {"flink.apache.org/FlinkDeployment", "{flinkConfiguration: {taskmanager.numberOfTaskSlots: '2'}, taskManager: {replicas: 5}, job: {parallelism: 2}}", "1 jobmanager, 5 taskmanager"},
		"one that was scaled":      {"flink.apache.org/FlinkDeployment", "{flinkConfiguration: {pipeline.jobvertex-parallelism-overrides: 'a1:3,b2:7', taskmanager.numberOfTaskSlots: 2}, job: {parallelism: 2}}", "1 jobmanager, 4 taskmanager"},
		"one that was, in a map":   {"flink.apache.org/FlinkDeployment", "{flinkConfiguration: {pipeline.jobvertex-parallelism-overrides: {a1: 3, b2: 7}}, job: {parallelism: 9}}", "1 jobmanager, 7 taskmanager"},
		"one that is stopped":      {"flink.apache.org/FlinkDeployment", "{job: {parallelism: 5, state: suspended}}", "none"},
		"a session of Flink":       {"flink.apache.org/FlinkDeployment", "{jobManager: {replicas: 2}}", "2 jobmanager"},
		"a standalone session":     {"flink.apache.org/FlinkDeployment", "{mode: standalone, taskManager: {replicas: 2}}", "1 jobmanager, 2 taskmanager"},
		"a pool of brokers":        {"kafka.strimzi.io/KafkaNodePool", "{replicas: 3}", "3"},
		"metrics":                  {"monitoring.coreos.com/Prometheus", "{replicas: 2, shards: 2}", "2 shard-0, 2 shard-1"},
		"metrics, no shards":       {"monitoring.coreos.com/Prometheus", "{replicas: 2, shards: 0}", "2"},
		"metrics, no pods":         {"monitoring.coreos.com/Prometheus", "{replicas: -1, shards: 2147483647}", "none"},
		"metrics, paused":          {"monitoring.coreos.com/Prometheus", "{paused: true}", "1"},
		"alerts":                   {"monitoring.coreos.com/Alertmanager", "{replicas: 3}", "3"},
		"a model of several pods":  {"serving.kserve.io/InferenceService", "{predictor: {minReplicas: 2, model: {modelFormat: {name: huggingface}}, workerSpec: {pipelineParallelSize: 3, containers: [{name: worker-container, image: a}]}}}", "2 predictor, 4 predictor-worker"},
		"a model":                  {"serving.kserve.io/InferenceService", "{predictor: {minReplicas: 2, model: {modelFormat: {name: triton}, storageUri: 's3://a', resources: {limits: {nvidia.com/gpu: 1}}}}, transformer: {containers: [{name: a, image: a}]}}", "2 predictor, 1 transformer"},
		"a field misplaced":        {"serving.kserve.io/InferenceService", "{nodeName: a, predictor: {pytorch: {storageUri: 's3://a'}}}", "1 predictor"},
		"a Job for each":           {"keda.sh/ScaledJob", "{jobTargetRef: {template: " + pod + "}}", "those of one of its Jobs"},
		"a set of clones":          {"apps.kruise.io/CloneSet", "{replicas: 2, selector: {matchLabels: {a: b}}, template: " + pod + "}", "those of such a workload of Kubernetes' own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, said := read(t, tt.kind, tt.spec)
			if said != tt.want {
				t.Errorf("%q, want %q", said, tt.want)
			}
			if n := len(strings.Split(said, ",")); said != "none" && n != len(objects) {
				t.Errorf("%d workloads, want %d", len(objects), n)
			}
		})
	}
	for _, kind := range []string{"ray.io/RayCronJob", "apps.kruise.io/BroadcastJob", "apps/Deployment", "kubeflow.org/Notebook"} {
		group, kind, _ := strings.Cut(kind, "/")
		if New(schema.GroupKind{Group: group, Kind: kind}) != nil {
			t.Errorf("pods of a %s are known", kind)
		}
	}
}

// TestNumbersNameTheirGroup: of each that is wrong it is said whose it is.
func TestNumbersNameTheirGroup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"more than a number holds": {"leaderworkerset.x-k8s.io/LeaderWorkerSet", "{replicas: 65536, leaderWorkerTemplate: {size: 65537}}", "spec.replicas: workers: 4294967296 pods; want 0 to 100000"},
		"two that are wrong":       {"elasticsearch.k8s.elastic.co/Elasticsearch", "{nodeSets: [{name: a, count: -1}, {name: b, count: 3}, {name: c, count: 100001}]}", "spec.nodeSets[0].count: a: -1 pods; want 0 to 100000, spec.nodeSets[2].count: c: 100001 pods; want 0 to 100000"},
		"workers of a job of Ray":  {"ray.io/RayJob", "{rayClusterSpec: {workerGroupSpecs: [{groupName: a, replicas: -1, minReplicas: -1}]}}", "spec.rayClusterSpec.workerGroupSpecs[0].replicas: a: -1 pods; want 0 to 100000"},
		"Jobs of a set":            {"jobset.x-k8s.io/JobSet", "{replicatedJobs: [{name: a, replicas: -1}]}", "spec.replicatedJobs[0].replicas: a: -1 pods; want 0 to 100000"},
		"training":                 {"kubeflow.org/TFJob", "{tfReplicaSpecs: {PS: {replicas: -1}}}", "spec.tfReplicaSpecs.PS.replicas: ps: -1 pods; want 0 to 100000"},
		"shards beyond measure":    {"monitoring.coreos.com/Prometheus", "{replicas: 2, shards: 2147483647}", "spec.shards: 4294967294 pods; want 0 to 100000"},
		"one without a name":       {"kibana.k8s.elastic.co/Kibana", "{count: -2}", "spec.count: -2 pods; want 0 to 100000"},
		"fewer groups than none":   {"leaderworkerset.x-k8s.io/LeaderWorkerSet", "{replicas: -1, leaderWorkerTemplate: {size: 1}}", "spec.replicas: leaders: -1 pods; want 0 to 100000, spec.replicas: workers: -1 pods; want 0 to 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, gvk := decode(t, tt.kind, tt.spec)
			m := Maker{Kind: gvk, Meta: metav1.ObjectMeta{Name: "demo"}, Form: form}
			if _, _, err := m.Objects(); err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestWhatTheirPodsAreLike looks at one of each kind of workload.
func TestWhatTheirPodsAreLike(t *testing.T) {
	t.Parallel()
	objects, _ := read(t, "ray.io/RayCluster", "{enableInTreeAutoscaling: true, headGroupSpec: {template: "+pod+"}}")
	head := objects[0].(*appsv1.ReplicaSet)
	selector, _ := metav1.LabelSelectorAsSelector(head.Spec.Selector)
	if head.Name != "demo-head" || head.Namespace != "ml" || len(head.Spec.Template.Spec.Containers) != 2 || head.Spec.Template.Labels["ray.io/group"] != "headgroup" || selector.Empty() {
		t.Errorf("the head is %+v", head)
	}
	objects, _ = read(t, "postgresql.cnpg.io/Cluster", "{instances: 3, affinity: {podAntiAffinityType: required, topologyKey: zone, nodeSelector: {a: b}}}")
	db := objects[0].(*appsv1.ReplicaSet).Spec.Template.Spec
	if terms := db.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution; len(terms) != 1 || terms[0].TopologyKey != "zone" || db.NodeSelector["a"] != "b" {
		t.Errorf("the database is %+v", db)
	}
	objects, _ = read(t, "batch.volcano.sh/Job", "{tasks: [{name: ps, template: "+pod+"}]}")
	if task := objects[0].(*batchv1.Job).Spec.Template.Spec; task.SchedulerName != "volcano" || task.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("the task is %+v", task)
	}
}

// TestTheirPodsHaveTheLabelsOfTheirController: users' own rules select by them, and by those that they want on the pods.
func TestTheirPodsHaveTheLabelsOfTheirController(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[string]struct {
		spec string
		want []string // for each workload
	}{
		"elasticsearch.k8s.elastic.co/Elasticsearch": {"{nodeSets: [{name: data, count: 3, podTemplate: {metadata: {labels: {team: a}}}}]}", []string{
			"common.k8s.elastic.co/type=elasticsearch,elasticsearch.k8s.elastic.co/cluster-name=demo,elasticsearch.k8s.elastic.co/node-data=true,elasticsearch.k8s.elastic.co/node-data_cold=true," +
				"elasticsearch.k8s.elastic.co/node-data_content=true,elasticsearch.k8s.elastic.co/node-data_frozen=true,elasticsearch.k8s.elastic.co/node-data_hot=true," +
				"elasticsearch.k8s.elastic.co/node-data_warm=true,elasticsearch.k8s.elastic.co/node-ingest=true,elasticsearch.k8s.elastic.co/node-master=true," +
				"elasticsearch.k8s.elastic.co/node-ml=true,elasticsearch.k8s.elastic.co/node-remote_cluster_client=true,elasticsearch.k8s.elastic.co/node-transform=true," +
				"elasticsearch.k8s.elastic.co/node-voting_only=false,elasticsearch.k8s.elastic.co/statefulset-name=demo-es-data,team=a",
		}},
		"kibana.k8s.elastic.co/Kibana": {"{count: 1}", []string{"common.k8s.elastic.co/type=kibana,kibana.k8s.elastic.co/name=demo"}},
		"monitoring.coreos.com/Alertmanager": {"{podMetadata: {labels: {team: a, alertmanager: b}}}", []string{
			"alertmanager=demo,app.kubernetes.io/instance=demo,app.kubernetes.io/managed-by=prometheus-operator,app.kubernetes.io/name=alertmanager,team=a",
		}},
		"monitoring.coreos.com/Prometheus": {"{shards: 2, podMetadata: {labels: {team: a}}}", []string{
			"app.kubernetes.io/instance=demo,app.kubernetes.io/managed-by=prometheus-operator,app.kubernetes.io/name=prometheus,operator.prometheus.io/name=demo,operator.prometheus.io/shard=0,prometheus=demo,team=a",
			"app.kubernetes.io/instance=demo,app.kubernetes.io/managed-by=prometheus-operator,app.kubernetes.io/name=prometheus,operator.prometheus.io/name=demo,operator.prometheus.io/shard=1,prometheus=demo,team=a",
		}},
		"serving.kserve.io/InferenceService": {"{predictor: {labels: {team: a, owner: c}, sklearn: {}}}", []string{"component=predictor,owner=c,serving.kserve.io/inferenceservice=demo,team=a"}},
		"postgresql.cnpg.io/Cluster":         {"{inheritedMetadata: {labels: {team: a}}}", []string{"cnpg.io/cluster=demo,cnpg.io/podRole=instance,team=a"}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, kind, tt.spec)
			var got []string
			for _, o := range objects {
				got = append(got, labels.Set(o.(*appsv1.ReplicaSet).Spec.Template.Labels).String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestModelsHaveWhatKServeAsksFor: its settings fill in each resource by itself, for the model's server, and for no
// container beside it.
func TestModelsHaveWhatKServeAsksFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ predictor, requests, limits, image string }{
		"nothing said":      {"{tolerations: [{key: a}], sklearn: {storageUri: 'gs://a'}}", "cpu=1 memory=2Gi", "cpu=1 memory=2Gi", "kserve"},
		"a GPU alone":       {"{model: {resources: {limits: {nvidia.com/gpu: 1}}}}", "cpu=1 memory=2Gi", "cpu=1 memory=2Gi nvidia.com/gpu=1", "kserve"},
		"a limit of memory": {"{model: {resources: {limits: {memory: 8Gi}}}}", "cpu=1 memory=2Gi", "cpu=1 memory=8Gi", "kserve"},
		"requests of both":  {"{model: {resources: {requests: {cpu: 500m, memory: 1Gi}}}}", "cpu=500m memory=1Gi", "cpu=1 memory=2Gi", "kserve"},
		"one of the user's": {"{containers: [{name: a, image: b, resources: {requests: {cpu: 3}, limits: {cpu: 4}}}]}", "cpu=3 memory=2Gi", "cpu=4 memory=2Gi", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, "serving.kserve.io/InferenceService", "{predictor: "+tt.predictor+"}")
			server := objects[0].(*appsv1.ReplicaSet).Spec.Template.Spec.Containers[0]
			if requests, limits := amountsOf(server.Resources.Requests), amountsOf(server.Resources.Limits); requests != tt.requests || limits != tt.limits || server.Image != tt.image {
				t.Errorf("%s, limits %s, image %s", requests, limits, server.Image)
			}
		})
	}
	objects, _ := read(t, "serving.kserve.io/InferenceService", "{predictor: {tolerations: [{key: a}], containers: [{name: beside}], sklearn: {}}, transformer: {containers: [{name: a}, {name: b}]}}")
	predictor, transformer := objects[0].(*appsv1.ReplicaSet).Spec.Template.Spec, objects[1].(*appsv1.ReplicaSet).Spec.Template.Spec
	for what, got := range map[string]string{
		"beside a model":  amountsOf(predictor.Containers[0].Resources.Requests) + "," + amountsOf(predictor.Containers[1].Resources.Requests),
		"beside a server": amountsOf(transformer.Containers[1].Resources.Requests) + "," + amountsOf(transformer.Containers[0].Resources.Requests),
	} {
		if got != ",cpu=1 memory=2Gi" {
			t.Errorf("a container %s: %s", what, got)
		}
	}
	if len(predictor.Tolerations) != 1 {
		t.Errorf("the predictor tolerates %v", predictor.Tolerations)
	}
}

// TestPoolsTakeOverFromTheirKafka: what a pool says of resources and of its template counts as a whole, and what it
// does not say is that of its Kafka.
func TestPoolsTakeOverFromTheirKafka(t *testing.T) {
	t.Parallel()
	cluster := "{kafka: {replicas: 3, resources: {requests: {cpu: 2, memory: 8Gi}}, template: {pod: {priorityClassName: high}}}, " +
		"entityOperator: {topicOperator: {resources: {requests: {cpu: 100m}}}, userOperator: {resources: {requests: {cpu: 200m}}}, template: {pod: {priorityClassName: low}}}}"
	maker := func(kind, name, namespace, spec string) *Maker {
		form, gvk := decode(t, "kafka.strimzi.io/"+kind, spec)
		return &Maker{Kind: gvk, Form: form, Meta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"strimzi.io/cluster": "events"}}}
	}
	all := []*Maker{
		maker("KafkaNodePool", "plain", "", "{replicas: 1}"),
		maker("Kafka", "events", "default", cluster),
		maker("KafkaNodePool", "own", "default", "{replicas: 1, resources: {requests: {cpu: 1}}, template: {pod: {}}}"),
		maker("KafkaNodePool", "elsewhere", "other", "{replicas: 1}"),
	}
	Join(all)
	var got []string
	for _, m := range all {
		made, _, err := m.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range made {
			set := w.Object.(*appsv1.ReplicaSet)
			words := []string{set.Name, set.Spec.Template.Spec.PriorityClassName}
			for _, c := range set.Spec.Template.Spec.Containers {
				words = append(words, c.Name+" "+amountsOf(c.Resources.Requests))
			}
			got = append(got, strings.Join(words, ", "))
		}
		for _, n := range m.Notes {
			got = append(got, m.Meta.Name+": "+n.Field+": "+n.Message)
		}
	}
	want := []string{
		"plain, high, kafka cpu=2 memory=8Gi",
		"events-entity-operator, low, topic-operator cpu=100m, user-operator cpu=200m",
		"own, , kafka cpu=1",
		"elsewhere, , kafka ",
		"elsewhere: spec.resources: is missing, and Kafka events, which may say it for its pools, is not among the files; assumed: none",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func amountsOf(list corev1.ResourceList) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount := list[name]
		words = append(words, string(name)+"="+amount.String())
	}
	return strings.Join(words, " ")
}

// TestShardsAreSpreadAsTheOperatorKnows: a rule may be one of the pods of a shard, or of all, by labels that the
// operator adds.
func TestShardsAreSpreadAsTheOperatorKnows(t *testing.T) {
	t.Parallel()
	objects, _ := read(t, "monitoring.coreos.com/Prometheus", "{nodeSelector: {a: b}, topologySpreadConstraints: [{topologyKey: a, additionalLabelSelectors: OnShard}, "+
		"{topologyKey: b, additionalLabelSelectors: OnResource, labelSelector: {matchLabels: {team: a}}}, {topologyKey: c}]}")
	spec := objects[0].(*appsv1.ReplicaSet).Spec.Template.Spec
	rules := spec.TopologySpreadConstraints
	if len(rules) != 3 || rules[2].LabelSelector != nil || spec.NodeSelector["a"] != "b" {
		t.Fatalf("%+v", spec)
	}
	shard, all := rules[0].LabelSelector.MatchLabels, rules[1].LabelSelector.MatchLabels
	if rules[0].TopologyKey != "a" || shard["operator.prometheus.io/shard"] != "0" || shard["prometheus"] != "demo" {
		t.Errorf("of a shard: %v", shard)
	}
	if _, has := all["operator.prometheus.io/shard"]; has || all["prometheus"] != "demo" || all["team"] != "a" {
		t.Errorf("of all: %v", all)
	}
}

func read(t *testing.T, kind, spec string) (objects []interface{ GetName() string }, said string) {
	t.Helper()
	form, gvk := decode(t, kind, spec)
	m := Maker{Kind: gvk, Meta: metav1.ObjectMeta{Namespace: "ml", Name: "demo", Labels: map[string]string{"owner": "b"}}, Form: form}
	made, said, err := m.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range made {
		o := m.Object
		if o.GetObjectKind().GroupVersionKind() != gvk {
			t.Errorf("it is a %v", o.GetObjectKind())
		}
		objects = append(objects, o.(interface{ GetName() string }))
	}
	return objects, said
}

func decode(t *testing.T, kind, spec string) (Form, schema.GroupVersionKind) {
	t.Helper()
	group, kind, _ := strings.Cut(kind, "/")
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	text, err := yaml.YAMLToJSON([]byte("spec: " + spec))
	if err != nil {
		t.Fatal(err)
	}
	form := New(gvk.GroupKind())
	if err := json.Unmarshal(text, form); err != nil {
		t.Fatal(err)
	}
	return form, gvk
}

// TestWhatSparkAsksFor compares with what Spark's own documentation says.
func TestWhatSparkAsksFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ spec, cpu, memory string }{
		"nothing said":        {"{}", "1", "1408Mi"},
		"a tenth beside":      {"{driver: {cores: 4, memory: 20g}}", "4", "22Gi"},
		"more for Python":     {"{type: Python, driver: {memory: 10240m}}", "1", "14Gi"},
		"as much as is said":  {"{driver: {coreRequest: 500m, memory: 1g, memoryOverhead: 512m}}", "500m", "1536Mi"},
		"a part of a core":    {"{driver: {cores: 0.1}}", "100m", "1408Mi"},
		"a factor of its own": {"{memoryOverheadFactor: '0.5', driver: {memory: 2Gi}}", "1", "3Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, "sparkoperator.k8s.io/SparkApplication", tt.spec)
			requests := objects[0].(*batchv1.Job).Spec.Template.Spec.Containers[0].Resources.Requests
			memory := resource.MustParse(tt.memory)
			if slack := requests.Memory().Value() - memory.Value(); requests.Cpu().String() != tt.cpu || slack < -100 || slack > 0 {
				t.Errorf("%s and %s, want %s and %s", requests.Cpu(), requests.Memory(), tt.cpu, tt.memory)
			}
		})
	}
	var s size
	if err := json.Unmarshal([]byte(`"4 apples"`), &s); err == nil {
		t.Errorf("4 apples are %d bytes", s)
	}
}

// TestMonitorsHaveAllTheirContainers: those of the operator, and those of the user, which may say more of the operator's.
func TestMonitorsHaveAllTheirContainers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"alone": {"Prometheus", "{resources: {requests: {memory: 400Mi}}}", "prometheus memory=400Mi, config-reloader cpu=10m memory=50Mi"},
		"with others": {
			"Prometheus", "{thanos: {resources: {requests: {cpu: 1}}}, containers: [{name: proxy, resources: {requests: {cpu: 500m}}}, {name: prometheus, resources: {requests: {cpu: 2}}}], resources: {requests: {memory: 400Mi}}}",
			"prometheus cpu=2 memory=400Mi, config-reloader cpu=10m memory=50Mi, thanos-sidecar cpu=1, proxy cpu=500m",
		},
		"an Alertmanager":             {"Alertmanager", "{}", "alertmanager memory=200Mi, config-reloader cpu=10m memory=50Mi"},
		"an Alertmanager with memory": {"Alertmanager", "{resources: {requests: {memory: 1Gi}}}", "alertmanager memory=1Gi, config-reloader cpu=10m memory=50Mi"},
	} {
		form, gvk := decode(t, "monitoring.coreos.com/"+tt.kind, tt.spec)
		m := &Maker{Kind: gvk, Form: form, Meta: metav1.ObjectMeta{Name: "main"}}
		made, _, err := m.Objects()
		if err != nil || len(made) != 1 {
			t.Fatalf("%s: %d workloads, error %v", name, len(made), err)
		}
		var words []string
		for _, c := range made[0].Object.(*appsv1.ReplicaSet).Spec.Template.Spec.Containers {
			words = append(words, c.Name+" "+amountsOf(c.Resources.Requests))
		}
		if got := strings.Join(words, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
