package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

const (
	deployment = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}\n"
	replicaSet = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, namespace: default, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}\n" +
		"spec: {replicas: 3, selector: {matchLabels: {app: web, pod-template-hash: a}}}\n"
	itsPod  = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1-a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}\n"
	barePod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-2, labels: {app: web}}\n"
	cronJob = "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: a}\nspec: {schedule: '0 1 * * *', jobTemplate: {spec: {parallelism: 2}}}\n"
)

func TestWhatStandsForTheSamePodsCountsOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string // the workloads that ask for pods
		note string
	}{
		"a Deployment alone":                         {deployment, []string{"Deployment web"}, ""},
		"a Deployment and its ReplicaSet":            {deployment + replicaSet, []string{"Deployment web"}, "ReplicaSet web-1: its pods, or what makes them"},
		"a Deployment and one of its pods":           {deployment + itsPod, nil, "Deployment web: its pods"},
		"all three":                                  {deployment + replicaSet + itsPod, nil, "Deployment web, ReplicaSet web-1: its pods"},
		"a Deployment and a pod of no controller":    {deployment + barePod, []string{"Deployment web"}, ""},
		"a ReplicaSet whose Deployment is not there": {replicaSet, []string{"ReplicaSet web-1"}, ""},
		"a CronJob":                          {cronJob, []string{"Job a/nightly"}, "CronJob a/nightly: planned for as one run of it"},
		"a CronJob beside a Job of its name": {cronJob + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: nightly, namespace: a}\n", []string{"Job a/nightly-run", "Job a/nightly"}, "one run"},
		"a CronJob that is suspended":        {strings.Replace(cronJob, "{schedule", "{suspend: true, schedule", 1), nil, "CronJob a/nightly: skipped: it is suspended"},
		"a Job that has ended":               {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nstatus: {conditions: [{type: Complete, status: 'True'}]}\n", nil, "Job a: skipped: it has ended"},
		"a Job that is suspended":            {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {suspend: true}\n", nil, "Job a: skipped: it is suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, _, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			objects, notes := convert.Once(read)
			var got []string
			for _, o := range objects {
				asks := false
				switch o := o.(type) {
				case *appsv1.Deployment:
					asks = o.Spec.Replicas == nil || *o.Spec.Replicas > 0
				case *appsv1.ReplicaSet:
					asks = o.Spec.Replicas == nil || *o.Spec.Replicas > 0
				case *batchv1.Job:
					asks = true
				}
				if asks {
					got = append(got, convert.TitleOf(o))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if said := strings.Join(notes, "\n"); (tt.note == "") != (said == "") || !strings.Contains(said, tt.note) {
				t.Errorf("notes %q, want %q", said, tt.note)
			}
		})
	}
}

func TestWhatTheClusterHasIsAssumed(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  runtimeClassName: gvisor
  priorityClassName: high
  volumes:
  - {name: a, persistentVolumeClaim: {claimName: data}}
  - {name: b, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop}
spec: {priorityClassName: system-node-critical, volumes: [{name: a, persistentVolumeClaim: {claimName: data}}]}
`
	read, _, err := manifest.Decode(strings.NewReader(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	assumed, notes := convert.Missing(read)
	var got []string
	for _, o := range assumed {
		got = append(got, convert.TitleOf(o))
	}
	want := []string{"RuntimeClass gvisor", "PriorityClass high", "StorageClass assumed", "PersistentVolumeClaim shop/data", "StorageClass fast"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != len(want) {
		t.Errorf("notes %q", notes)
	}
	again, notes := convert.Missing(slices.Concat(read, assumed))
	if len(again) > 0 || len(notes) > 0 {
		t.Errorf("what is there is assumed: %v", notes)
	}
}
