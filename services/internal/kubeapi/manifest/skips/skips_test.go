package skips

import "testing"

func TestWhatPodsComeOf(t *testing.T) {
	tests := map[string]struct {
		group, kind, object string
		want                bool
	}{
		"workers of a cluster":      {"ray.io", "RayCluster", `{"spec":{"workerGroupSpecs":[{"template":{"spec":{"containers":[{"image":"a"}]}}}]}}`, true},
		"a group of workers":        {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", `{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"containers":[{"image":"a"}]}}}}}`, true},
		"only sizes":                {"sparkoperator.k8s.io", "SparkApplication", `{"spec":{"executor":{"cores":4}}}`, true},
		"a collector":               {"opentelemetry.io", "OpenTelemetryCollector", `{"spec":{"mode":"daemonset"}}`, true},
		"a virtual machine":         {"kubevirt.io", "VirtualMachine", `{"spec":{"running":true}}`, true},
		"its size":                  {"instancetype.kubevirt.io", "VirtualMachineInstancetype", `{"spec":{"cpu":{"guest":1}}}`, false},
		"a kind of the same group":  {"kafka.strimzi.io", "KafkaTopic", `{"spec":{"partitions":3}}`, false},
		"rules for others' pods":    {"kyverno.io", "ClusterPolicy", `{"spec":{"rules":[{"validate":{"pattern":{"spec":{"containers":[{"image":"!*:latest"}]}}}}]}}`, false},
		"rules in a group of those": {"constraints.gatekeeper.sh", "K8sPodImages", `{"spec":{"containers":[{"image":"a"}]}}`, false},
		"Kubernetes' own":           {"networking.k8s.io", "Ingress", `{"spec":{"rules":[]}}`, false},
		"one of ConfigMaps":         {"", "ConfigMap", `{"data":{"a":"containers:"}}`, false},
		"names of containers alone": {"example.com", "Scan", `{"spec":{"containers":["web"]}}`, false},
		"a list that is none":       {"example.com", "Scan", `{"spec":{"containers":3}}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := makesPods(tt.group, tt.kind, []byte(tt.object)); got != tt.want {
				t.Errorf("%s %s makes pods: %t, want %t", tt.group, tt.kind, got, tt.want)
			}
		})
	}
}

func TestLinesForEachSource(t *testing.T) {
	var l List
	l.Add("a.yaml", "", "ConfigMap", nil)
	l.Add("a.yaml", "ray.io", "RayCluster", []byte(`{"spec":{"headGroupSpec":{"template":{"spec":{"containers":[{"image":"a"}]}}}}}`))
	l.Add("b.yaml", "", "Secret", nil)
	l.Add("b.yaml", "", "ResourceQuota", nil)
	l.Add("a.yaml", "", "ConfigMap", nil)
	want := []Line{
		{"a.yaml", "not planned for, though they make pods: 1 RayCluster (ray.io); how many and which, their controllers alone know: to plan for those, give kerf Deployments or Jobs of the same pods"},
		{"a.yaml", "skipped, because planning does not look at them: 2 ConfigMap"},
		{"b.yaml", "not looked at: 1 ResourceQuota; pods that a quota keeps from being made are planned for as all others"},
		{"b.yaml", "skipped, because planning does not look at them: 1 Secret"},
	}
	got := l.Lines()
	if len(got) != len(want) {
		t.Fatalf("%d lines %q, want %d", len(got), got, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: %q, want %q", i+1, got[i], want[i])
		}
	}
}
