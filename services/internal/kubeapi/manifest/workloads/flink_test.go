package workloads

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatFlinkAsksFor: what is said of a manager counts before its settings, and those before Flink's own.
func TestWhatFlinkAsksFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ spec, cpu, memory string }{
		"nothing said":                 {"{job: {parallelism: 1}}", "1", "1728Mi"},
		"a CPU for each slot":          {"{flinkConfiguration: {taskmanager.numberOfTaskSlots: 3}, job: {}}", "3", "1728Mi"},
		"settings":                     {"{flinkConfiguration: {kubernetes.taskmanager.cpu: 1.5, taskmanager.memory.process.size: 3072m}, job: {}}", "1500m", "3Gi"},
		"a manager's own":              {"{flinkConfiguration: {taskmanager.memory.process.size: 3072m}, job: {}, taskManager: {resource: {cpu: 0.5, memory: 2048m}}}", "500m", "2Gi"},
		"in Flink's units":             {"{job: {}, taskManager: {resource: {memory: 2 gb}}}", "1", "2Gi"},
		"in Kubernetes' units":         {"{job: {}, taskManager: {resource: {memory: 1.5Gi}}}", "1", "1536Mi"},
		"as Kubernetes has them":       {"{job: {}, taskManager: {resources: {requests: {cpu: 2, memory: 4Gi}}}}", "2", "4Gi"},
		"no matter what its pods' say": {"{job: {}, podTemplate: {spec: {containers: [{name: flink-main-container, resources: {requests: {cpu: 9, memory: 9Gi}}}]}}}", "1", "1728Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, "flink.apache.org/FlinkDeployment", tt.spec)
			pod := objects[1].(*appsv1.ReplicaSet).Spec.Template.Spec
			got := pod.Containers[0].Resources.Requests
			if !got.Cpu().Equal(resource.MustParse(tt.cpu)) || !got.Memory().Equal(resource.MustParse(tt.memory)) || len(pod.Containers) != 1 {
				t.Errorf("%v of memory and %v CPUs, want %s and %s", got.Memory(), got.Cpu(), tt.memory, tt.cpu)
			}
		})
	}
	if err := json.Unmarshal([]byte(`{"spec": {"taskManager": {"resource": {"memory": "much"}}}}`), &flinkDeployment{}); err == nil {
		t.Error("a size that is none is read")
	}
}

// TestPodsOfFlinkHaveBothTemplates lays a manager's own template over that of all pods.
func TestPodsOfFlinkHaveBothTemplates(t *testing.T) {
	t.Parallel()
	objects, _ := read(t, "flink.apache.org/FlinkDeployment", `{job: {}, podTemplate: {metadata: {labels: {team: a}}, spec: {nodeSelector: {disk: fast}, containers: [
		{name: flink-main-container, volumeMounts: [{name: logs, mountPath: /logs}]}, {name: logs, image: a}]}},
		taskManager: {podTemplate: {spec: {nodeSelector: {kind: spot}, tolerations: [{operator: Exists}]}}}}`)
	jobs, tasks := objects[0].(*appsv1.ReplicaSet).Spec.Template, objects[1].(*appsv1.ReplicaSet).Spec.Template
	if len(jobs.Spec.Tolerations) != 0 || len(jobs.Spec.NodeSelector) != 1 || jobs.Labels["component"] != "jobmanager" {
		t.Errorf("the JobManager is %+v", jobs)
	}
	if s := tasks.Spec; len(s.Tolerations) != 1 || len(s.NodeSelector) != 2 || len(s.Containers) != 2 || s.Containers[0].VolumeMounts[0].Name != "logs" ||
		tasks.Labels["team"] != "a" || tasks.Labels["app"] != "demo" {
		t.Errorf("the TaskManager is %+v", tasks)
	}
}

// TestACanaryOfFlinkRunsNothing: its operator has it to see that it is well itself.
func TestACanaryOfFlinkRunsNothing(t *testing.T) {
	t.Parallel()
	form, gvk := decode(t, "flink.apache.org/FlinkDeployment", "{}")
	m := Maker{Kind: gvk, Meta: metav1.ObjectMeta{Name: "demo", Labels: map[string]string{"flink.apache.org/canary": "true"}}, Form: form}
	if _, said, err := m.Objects(); err != nil || said != "none" {
		t.Errorf("%q, %v, want none", said, err)
	}
}
