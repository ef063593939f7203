package manifest_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// TestPodsOfOthersCountOnce: what kubectl gets of a cluster has objects of other projects beside what these have made.
func TestPodsOfOthersCountOnce(t *testing.T) {
	t.Parallel()
	const (
		cluster = "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: rays, namespace: ml}\nspec: {headGroupSpec: {template: {spec: {containers: [{name: a, image: a}]}}}}\n"
		pod     = "apiVersion: v1\nkind: Pod\nmetadata: {name: rays-head-x, namespace: ml, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: rays, uid: u, controller: true}]}\n"
	)
	for name, tt := range map[string]struct {
		text string
		want int
		says string
	}{
		"a cluster":                    {cluster, 1, "planned for as the pods that its controller makes: 1 head"},
		"a cluster and its pod":        {cluster + "---\n" + pod, 1, "skipped: its pods, or what makes them, are among the files too"},
		"a cluster and another's pod":  {cluster + "---\n" + strings.ReplaceAll(pod, "namespace: ml", "namespace: web"), 2, "1 head"},
		"a slip in its pods":           {strings.Replace(cluster, "spec: {containers", "spec: {nodeSelecter: {a: b}, containers", 1), 1, "spec.headGroupSpec.template.spec.nodeSelecter: unknown field: ignored; did you mean nodeSelector?"},
		"a field that Ray alone knows": {strings.Replace(cluster, "spec: {headGroupSpec", "spec: {rayVersion: '2', headGroupSpec", 1), 1, "1 head"},
		"a slip in a Rollout's pods":   {"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\nspec: {template: {spec: {tolerationz: []}}}\n", 1, "spec.template.spec.tolerationz: unknown field: ignored; did you mean tolerations?"},
		"one that is being deleted":    {strings.Replace(cluster, "{name", "{deletionTimestamp: 2026-01-01T00:00:00Z, name", 1), 0, "skipped: it has ended, or is being deleted"},
		"an application that has run":  {"apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: a}\nstatus: {applicationState: {state: COMPLETED}}\n", 0, "has ended"},
		"Jobs of a set that have run":  {"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {replicatedJobs: [{name: b}]}\nstatus: {conditions: [{type: Completed, status: 'True'}]}\n", 0, "has ended"},
		"tasks that have":              {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {tasks: [{name: b}]}\nstatus: {state: {phase: Completed}}\n", 0, "has ended"},
		"the autoscaler of one that has ended": {
			"apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaNodePool\nmetadata: {name: a, deletionTimestamp: 2026-01-01T00:00:00Z}\n---\n" +
				"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: KafkaNodePool, name: a}}\n", 0,
			"HorizontalPodAutoscaler b: skipped: KafkaNodePool a, which it scales, has ended, or is being deleted",
		},
		"tasks that run": {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {tasks: [{name: b}]}\nstatus: {state: {phase: Running}}\n", 1, "1 b"},
		"one of a live cluster, beside another's pod": {strings.Replace(cluster, "{name", "{uid: v, name", 1) + "---\n" + strings.ReplaceAll(pod, "kind: RayCluster", "kind: ReplicaSet"), 1, "skipped: its pods"},
		"one of a live cluster, beside a pod of another namespace": {
			strings.Replace(cluster, "{name", "{uid: v, name", 1) + "---\n" + strings.NewReplacer("kind: RayCluster", "kind: ReplicaSet", "namespace: ml", "namespace: web").Replace(pod), 2, "1 head",
		},
		"tasks without names":                          {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {tasks: [{replicas: 2}, {replicas: 2}]}\n", 2, "2 default0, 2 default1"},
		"parts of one object that are called the same": {strings.Replace(cluster, "spec: {", "spec: {workerGroupSpecs: [{groupName: head, replicas: 3}], ", 1), 2, "1 head, 3 head"},
		"parts of two objects that are called the same": {
			"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {replicatedJobs: [{name: b-c}]}\n---\n" +
				"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a-b}\nspec: {replicatedJobs: [{name: c}]}\n", 2, "1 c",
		},
		"one that is there twice": {cluster + "---\n" + cluster, 1, "read once"},
		"a Kafka of today": {
			"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events, annotations: {strimzi.io/node-pools: enabled, strimzi.io/kraft: enabled}}\n" +
				"spec: {kafka: {}, zookeeper: {replicas: 3}, cruiseControl: {resources: {requests: {cpu: 1}}}, kafkaExporter: {}}\n", 2, "1 cruise-control, 1 kafka-exporter",
		},
		"one whose pod has failed": {cluster + "---\n" + strings.TrimSpace(pod) + "\nstatus: {phase: Failed}\n", 2, "1 head"},
		"one of another group's kind": {
			"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: rays, namespace: ml}\nspec: {tasks: [{name: b}]}\n---\n" +
				strings.ReplaceAll(strings.ReplaceAll(pod, "kind: RayCluster", "kind: Job"), "ray.io/v1", "batch/v1"), 2, "1 b",
		},
		"daemons of a live cluster": {
			"apiVersion: apps.kruise.io/v1alpha1\nkind: DaemonSet\nmetadata: {name: rays, namespace: ml, uid: v}\nspec: {template: {spec: {containers: [{name: a, image: a}]}}}\n---\n" +
				strings.ReplaceAll(strings.ReplaceAll(pod, "kind: RayCluster", "kind: DaemonSet"), "ray.io/v1", "apps.kruise.io/v1alpha1"), 2, "",
		},
		"what Knative alone knows of a pod": {"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {template: {spec: {containerConcurrency: 10, timeoutSeconds: 60, containers: [{image: a}]}}}\n", 1, "planned for"},
		"two that are named by their beginnings": {
			strings.Replace(cluster, "{name: rays", "{generateName: rays-", 1) + "---\n" +
				strings.Replace(strings.Replace(cluster, "{name: rays", "{generateName: rays-", 1), "name: a", "name: b", 1), 2, "1 head",
		},
		"a service and what its revision makes": {
			"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{image: a}]}}}\n---\n" +
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a-1}\nspec: {template: {metadata: {labels: {serving.knative.dev/service: a}}}}\n", 1, "skipped: its pods, or what makes them, are among the files too",
		},
		"brokers of a file and those of a cluster": {
			"apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: events, namespace: ml}\nspec: {kafka: {replicas: 1}}\n---\n" +
				strings.NewReplacer("ray.io/v1, kind: RayCluster, name: rays", "core.strimzi.io/v1beta2, kind: StrimziPodSet, name: events-kafka", "ml,",
					"ml, labels: {strimzi.io/cluster: events, strimzi.io/name: events-kafka, strimzi.io/kind: Kafka, strimzi.io/pool-name: kafka},").Replace(pod), 1, "skipped: its pods",
		},
		"a service and its revision's pods": {
			"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a, namespace: ml}\nspec: {template: {spec: {containers: [{image: a}]}}}\n---\n" +
				strings.NewReplacer("ray.io/v1, kind: RayCluster, name: rays", "apps/v1, kind: ReplicaSet, name: a-1", "ml,", "ml, labels: {serving.knative.dev/service: a},").Replace(pod), 1, "skipped: its pods",
		},
		"tasks and their pods": {
			"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a, namespace: ml}\nspec: {tasks: [{name: b}]}\n---\n" +
				strings.NewReplacer("ray.io/v1, kind: RayCluster", "apps/v1, kind: ReplicaSet", "ml,", "ml, labels: {volcano.sh/job-name: a, volcano.sh/task-spec: b},").Replace(pod), 1, "skipped: its pods",
		},
		"a service whose revision's pods have ended": {
			"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a, namespace: ml}\nspec: {template: {spec: {containers: [{image: a}]}}}\n---\n" +
				strings.NewReplacer("ray.io/v1, kind: RayCluster", "apps/v1, kind: ReplicaSet", "ml,", "ml, labels: {serving.knative.dev/service: a},").Replace(strings.TrimSpace(pod)) + "\nstatus: {phase: Failed}\n", 2, "planned for",
		},
		"clones whose own labels another has": {
			"apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}}\n---\n" +
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-canary}\nspec: {template: {metadata: {labels: {app: web, track: canary}}}}\n", 2, "planned for",
		},
		"metrics beside the alerts of the same name": {
			"apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: main}\nspec: {replicas: 2}\n---\n" +
				"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: alertmanager-main}\nspec: {template: {metadata: {labels: {alertmanager: main, app.kubernetes.io/instance: main, app.kubernetes.io/managed-by: prometheus-operator, app.kubernetes.io/name: alertmanager}}}}\n", 2, "planned for",
		},
		"one whose beginning is the name of another": {
			strings.Replace(cluster, "{name: rays", "{generateName: rays-", 1) + "---\n" + strings.Replace(cluster, "name: a", "name: b", 1), 2, "1 head",
		},
		"one that has only a beginning": {"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {generateName: a-}\nspec: {replicatedJobs: [{name: b}]}\n", 1, "1 b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, warnings, err := manifest.Options{Assume: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tt.text)})
			if err != nil || len(objects) != tt.want {
				t.Errorf("%d objects, error %v; want %d", len(objects), err, tt.want)
			}
			var said []string
			for _, w := range warnings {
				said = append(said, w.String())
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, tt.says) || strings.Contains(name, "Knative") && strings.Contains(all, "unknown") {
				t.Errorf("no %q in %q", tt.says, said)
			}
		})
	}
}

// TestAutoscalersOfOthersObjects: they set the number of the object, which is not that of the workloads that stand for
// its pods.
func TestAutoscalersOfOthersObjects(t *testing.T) {
	t.Parallel()
	const (
		scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: auto}\nspec: {minReplicas: 3, maxReplicas: 5, scaleTargetRef: {kind: KIND, name: big}}\n"
		object = "apiVersion: GROUP/v1\nkind: KIND\nmetadata: {name: big}\nspec: SPEC\n"
	)
	for kind, tt := range map[string]struct {
		spec string
		says []string
	}{
		"leaderworkerset.x-k8s.io/LeaderWorkerSet": {"{leaderWorkerTemplate: {size: 4}}", []string{"spec.replicas: assumed: 3, the least that HorizontalPodAutoscaler auto keeps", "3 leaders, 9 workers"}},
		"monitoring.coreos.com/Prometheus":         {"{replicas: 2}", []string{"spec.shards: assumed: 3, the least", "2 shard-0, 2 shard-1, 2 shard-2"}},
		"monitoring.coreos.com/Alertmanager":       {"{replicas: 2}", []string{"spec.replicas: assumed: 3, the least", "makes: 3"}},
		"kafka.strimzi.io/KafkaNodePool":           {"{replicas: 7}", []string{"spec.replicas: assumed: 5, the most", "makes: 5"}},
		"kibana.k8s.elastic.co/Kibana":             {"{count: 1}", []string{"spec.count: assumed: 3, the least", "makes: 3"}},
		"postgresql.cnpg.io/Cluster":               {"{instances: 1}", []string{"spec.instances: assumed: 3, the least", "makes: 3"}},
		"apps.kruise.io/CloneSet":                  {"{replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}", []string{"spec.replicas: assumed: 3, the least"}},
		"ray.io/RayCluster":                        {"{headGroupSpec: {}}", []string{"HorizontalPodAutoscaler auto: skipped: RayCluster big, which it scales, has no number of its own that kerf knows an autoscaler to set"}},
	} {
		for order, text := range map[string]string{"before": scaler + "---\n" + object, "after": object + "---\n" + scaler} {
			t.Run(kind+" "+order, func(t *testing.T) {
				t.Parallel()
				group, kind, _ := strings.Cut(kind, "/")
				text := strings.NewReplacer("GROUP", group, "KIND", kind, "SPEC", tt.spec).Replace(text)
				_, warnings, err := manifest.Options{Assume: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(text)})
				if err != nil {
					t.Fatal(err)
				}
				var all strings.Builder
				for _, w := range warnings {
					all.WriteString(w.String() + "\n")
				}
				for _, want := range tt.says {
					if !strings.Contains(all.String(), want) || strings.Contains(all.String(), "which it scales, is not among") {
						t.Errorf("no %q in\n%s", want, all.String())
					}
				}
			})
		}
	}
}
