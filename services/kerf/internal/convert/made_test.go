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
	itsPod    = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1-a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}\n"
	job       = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
	ended     = itsPod + "status: {phase: Failed}\n"
	othersPod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-0, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}\n"
	barePod   = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-2, labels: {app: web}}\n"
	cronJob   = "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: a}\nspec: {schedule: '0 1 * * *', jobTemplate: {spec: {parallelism: 2}}}\n"
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
		"a Deployment and a pod of its ReplicaSet, which is not there, that has ended": {deployment + ended, []string{"Deployment web"}, ""},
		"a Deployment and another's pod with its labels":                               {deployment + othersPod, []string{"Deployment web"}, ""},
		"a Deployment and a pod of another's ReplicaSet, which is there": {
			deployment + strings.Replace(replicaSet, "name: web,", "name: api,", 1) + itsPod, []string{"Deployment web"}, "ReplicaSet web-1: its pods",
		},
		"a Rollout and its pod": {
			strings.Replace(deployment, "apps/v1\nkind: Deployment", "argoproj.io/v1alpha1\nkind: Rollout", 1) + strings.Replace(itsPod, "labels: {", "labels: {rollouts-pod-template-hash: '1', ", 1), nil, "Rollout web: its pods",
		},
		"a Job and its pod":                  {job + "---\n" + strings.NewReplacer("ReplicaSet", "Job", "web-1", "a").Replace(itsPod), nil, "Job a: its pods"},
		"a Job of another controller":        {job + "spec: {managedBy: kueue.x-k8s.io/multikueue}\n", nil, "Job a: skipped: its pods are made by kueue.x-k8s.io/multikueue"},
		"a Deployment that is being deleted": {strings.Replace(deployment, "{name: web}", "{name: web, deletionTimestamp: '2026-01-01T00:00:00Z'}", 1), nil, "Deployment web: skipped: it is being deleted"},
		"a Job that Helm runs at the end":    {strings.Replace(job, "{name: a}", "{name: a, annotations: {helm.sh/hook: 'pre-delete, post-rollback'}}", 1), nil, "Job a: skipped: Helm makes it only for pre-delete and post-rollback"},
		"a Job that Helm runs first":         {strings.Replace(job, "{name: a}", "{name: a, annotations: {helm.sh/hook: 'pre-install,test'}}", 1), []string{"Job a"}, "Job a: planned for beside the rest"},
		"a CronJob":                          {cronJob, []string{"Job a/nightly"}, "CronJob a/nightly: planned for as one run of it"},
		"a CronJob beside a Job of its name": {cronJob + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: nightly, namespace: a}\n", []string{"Job a/nightly-run", "Job a/nightly"}, "one run"},
		"a CronJob that is suspended":        {strings.Replace(cronJob, "{schedule", "{suspend: true, schedule", 1), nil, "CronJob a/nightly: skipped: it is suspended"},
		"a Job that has ended":               {job + "status: {conditions: [{type: Complete, status: 'True'}]}\n", nil, "Job a: skipped: it has ended"},
		"a Job that Kueue holds back":        {strings.Replace(job, "{name: a}", "{name: a, labels: {kueue.x-k8s.io/queue-name: q}}", 1) + "spec: {suspend: true}\n", []string{"Job a"}, "Job a: planned for though suspended, as if Kueue's queue had room for it now"},
		"one that waits in a cluster":        {strings.Replace(job, "{name: a}", "{name: a, uid: u, labels: {kueue.x-k8s.io/queue-name: q}}", 1) + "spec: {suspend: true}\n", nil, "Job a: skipped: it is suspended"},
		"a Job that is suspended":            {job + "spec: {suspend: true}\n", nil, "Job a: skipped: it is suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, _, err := manifest.Options{Assume: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tt.text)})
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
					asks = o.Spec.Parallelism == nil || *o.Spec.Parallelism > 0
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
	old := "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a, annotations: {storageclass.beta.kubernetes.io/is-default-class: 'true'}}\nvolumeBindingMode: WaitForFirstConsumer\n---\n" +
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: b}\n"
	known, _, err := manifest.Decode(strings.NewReader(old), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, notes := convert.Missing(known); len(notes) > 0 {
		t.Errorf("beside a default class that says so by its old name: %q", notes)
	}
	const older = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {volumeClaimTemplates: [{metadata: {name: data, annotations: {volume.beta.kubernetes.io/storage-class: fast}}}]}\n"
	immediate, _, err := manifest.Decode(strings.NewReader("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: ebs.csi.aws.com\n---\n"+older), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	where := []string{"StorageClass fast: volumeBindingMode: volumes are made before their pods; assumed: where the pods can run"}
	if added, notes := convert.Missing(immediate); len(added) > 0 || !slices.Equal(notes, where) {
		t.Errorf("a claim with its class in an annotation: assumed %v, notes %q, want %q", added, notes, where)
	}
	again, notes := convert.Missing(slices.Concat(read, assumed))
	if len(again) > 0 || len(notes) > 0 {
		t.Errorf("what is there is assumed: %v", notes)
	}
}

// TestWhatTheAPIServerWouldRefuseIsSaid takes a pod's spec each, or the spec of a Deployment.
func TestWhatTheAPIServerWouldRefuseIsSaid(t *testing.T) {
	t.Parallel()
	const c, spread = "spec.containers[0].resources.", "spec.topologySpreadConstraints[0]."
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"nothing":                        {"Pod", "{containers: [{name: c, image: c, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 1Gi, nvidia.com/gpu: 1}}}]}", ""},
		"no containers":                  {"Pod", "{}", "spec.containers: there is none; the API server refuses that"},
		"more than the limit":            {"Pod", "{containers: [{name: c, image: c, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}", c + "requests.cpu: 2 is more than its limit, 1; the API server refuses that"},
		"a device without a limit":       {"Pod", "{containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: 1}}}]}", c + "limits.nvidia.com/gpu: is missing: of devices the limit counts; the API server refuses that"},
		"half a device":                  {"Pod", "{containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 500m}}}]}", c + "limits.nvidia.com/gpu: 500m is no whole number; the API server refuses that"},
		"less than nothing":              {"Pod", "{containers: [{name: c, image: c, resources: {requests: {cpu: -1}}}]}", c + "requests.cpu: -1 is negative; the API server refuses that"},
		"half a byte":                    {"Pod", "{containers: [{name: c, image: c, resources: {requests: {memory: 512m}}}]}", c + "requests.memory: 512m is in thousandths of a byte; did you mean 512Mi?"},
		"a fraction of what is large":    {"Pod", "{containers: [{name: c, image: c, resources: {requests: {memory: 1.2Gi, ephemeral-storage: 3.3Mi}}}]}", ""},
		"millions of processors":         {"Pod", "{containers: [{name: c, image: c, resources: {requests: {cpu: 500M}}}]}", c + "requests.cpu: 500M is in millions; did you mean 500m?"},
		"no resource at all":             {"Pod", "{containers: [{name: c, image: c, resources: {requests: {'': 1}}}]}", c + "requests.: has no resource's name; the API server refuses that"},
		"two containers of one name":     {"Pod", "{containers: [{name: c, image: c}], initContainers: [{name: c, image: c}]}", "spec.initContainers[0].name: spec.containers[0] has the name c too; the API server refuses that"},
		"ports that are none":            {"Pod", "{containers: [{name: c, image: c, ports: [{containerPort: 80, hostPort: -1}, {containerPort: 70000}]}]}", "spec.containers[0].ports[0].hostPort: -1 is no port; want 1 to 65535; the API server refuses that\nPod a: spec.containers[0].ports[1].containerPort: 70000 is no port; want 1 to 65535; the API server refuses that"},
		"a spread over no domains":       {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, minDomains: 0}]}", spread + "minDomains: 0 is less than 1; the API server refuses that"},
		"domains of what is preferred":   {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}]}", spread + "minDomains: needs whenUnsatisfiable: DoNotSchedule; the API server refuses that"},
		"a spread twice":                 {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, {topologyKey: z, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]}", "spec.topologySpreadConstraints[1].topologyKey: topologySpreadConstraints[0] has z with DoNotSchedule too; want one of both; the API server refuses that"},
		"a label that is selected twice": {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: w}}, matchLabelKeys: [app]}]}", spread + "matchLabelKeys: app is in labelSelector too; leave it out in one of them; the API server refuses that"},
		"keys without a selector":        {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [app]}]}", spread + "matchLabelKeys: need a labelSelector; the API server refuses that"},
		"a policy in lower case":         {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: honor}]}", spread + `nodeTaintsPolicy: "honor" is neither Honor nor Ignore; the API server refuses that`},
		"a toleration of any value":      {"Pod", "{containers: [{name: c, image: c}], tolerations: [{key: a, operator: Exists, value: b}]}", "spec.tolerations[0].value: b has no place with operator Exists; leave it out, or write Equal; the API server refuses that"},
		"a toleration of no key":         {"Pod", "{containers: [{name: c, image: c}], tolerations: [{value: b}]}", "spec.tolerations[0].key: is missing: only operator Exists needs none; the API server refuses that"},
		"a toleration for a while":       {"Pod", "{containers: [{name: c, image: c}], tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]}", "spec.tolerations[0].tolerationSeconds: need effect: NoExecute; the API server refuses that"},
		"a weight of other pods":         {"Pod", "{containers: [{name: c, image: c}], affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 500}]}}}", "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 500 is not between 1 and 100; the API server refuses that"},
		"a weight of nodes":              {"Pod", "{containers: [{name: c, image: c}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0}]}}}", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 0 is not between 1 and 100; the API server refuses that"},
		"a budget":                       {"PodDisruptionBudget", "{minAvailable: 100%, selector: {matchLabels: {app: w}}}", ""},
		"a budget of both":               {"PodDisruptionBudget", "{minAvailable: 1, maxUnavailable: 1}", "spec.maxUnavailable: minAvailable is there too; want one of both; the API server refuses that"},
		"a budget in quotes":             {"PodDisruptionBudget", "{maxUnavailable: '2'}", `spec.maxUnavailable: "2" is no number and no percentage; write a number without quotes, or one with %; the API server refuses that`},
		"a budget of more than all":      {"PodDisruptionBudget", "{minAvailable: 150%}", "spec.minAvailable: 150% is not between 0% and 100%; the API server refuses that"},
		"a budget of less than none":     {"PodDisruptionBudget", "{minAvailable: -1}", "spec.minAvailable: -1 is negative; the API server refuses that"},
		"a budget of another policy":     {"PodDisruptionBudget", "{minAvailable: 1, unhealthyPodEvictionPolicy: alwaysallow}", `spec.unhealthyPodEvictionPolicy: "alwaysallow" is neither IfHealthyBudget nor AlwaysAllow; the API server refuses that`},
		"a budget that selects in":       {"PodDisruptionBudget", "{minAvailable: 1, selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}}", `spec.selector.matchExpressions[0].operator: "in" is none of In, NotIn, Exists, DoesNotExist; the API server refuses that`},
		"a spread of nothing":            {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 0, whenUnsatisfiable: ScheduleAnyway}]}", "spec.topologySpreadConstraints[0].maxSkew: 0 is less than 1; the API server refuses that"},
		"a spread of another word":       {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedul}]}", `spec.topologySpreadConstraints[0].whenUnsatisfiable: "DoNotSchedul" is neither DoNotSchedule nor ScheduleAnyway; the API server refuses that`},
		"a selector of other pods":       {"Deployment", "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: c}]}}}", "spec.selector: does not select the labels of spec.template; the API server refuses that"},
		"no selector":                    {"Deployment", "{template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: c}]}}}", "spec.selector: is missing; the API server refuses that"},
		"a selector that is no such":     {"Deployment", "{selector: {matchExpressions: [{key: a, operator: Inn}]}, template: {spec: {containers: [{name: c, image: c}]}}}", `spec.selector.matchExpressions[0].operator: "Inn" is none of In, NotIn, Exists, DoesNotExist; the API server refuses that`},
		"no image":                       {"Pod", "{containers: [{name: c}]}", "spec.containers[0].image: is missing; the API server refuses that"},
		"a port of the node twice":       {"Pod", "{containers: [{name: c, image: c, ports: [{containerPort: 80, hostPort: 80}, {containerPort: 81, hostPort: 80, protocol: TCP}, {containerPort: 82, hostPort: 80, protocol: UDP}]}]}", "spec.containers[0].ports[1].hostPort: spec.containers[0].ports[0].hostPort takes TCP 80 too; the API server refuses that"},
		"no port":                        {"Pod", "{containers: [{name: c, image: c, ports: [{hostPort: 80}]}]}", "spec.containers[0].ports[0].containerPort: is missing; want 1 to 65535; the API server refuses that"},
		"a protocol in lower case":       {"Pod", "{containers: [{name: c, image: c, ports: [{containerPort: 80, protocol: tcp}]}]}", `spec.containers[0].ports[0].protocol: "tcp" is none of TCP, UDP and SCTP; the API server refuses that`},
		"another port of its node":       {"Pod", "{hostNetwork: true, containers: [{name: c, image: c, ports: [{containerPort: 80, hostPort: 81}]}]}", "spec.containers[0].ports[0].hostPort: 81 is not containerPort, 80: with hostNetwork both are one; the API server refuses that"},
		"a resource without a domain":    {"Pod", "{containers: [{name: c, image: c, resources: {limits: {gpu: 1}}}]}", c + "limits.gpu: is no resource of containers; want cpu, memory, ephemeral-storage, hugepages-2Mi, or one with a domain such as nvidia.com/gpu; the API server refuses that"},
		"fewer devices than the limit":   {"Pod", "{containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}]}", c + "requests.nvidia.com/gpu: 1 is not its limit, 2: of devices the limit counts; the API server refuses that"},
		"what is Kubernetes' own":        {"Pod", "{containers: [{name: c, image: c, resources: {requests: {example.kubernetes.io/units: 1}}}]}", ""},
		"huge pages without a limit":     {"Pod", "{containers: [{name: c, image: c, resources: {requests: {cpu: 1, hugepages-2Mi: 4Mi}}}]}", c + "limits.hugepages-2Mi: is missing: of huge pages the limit counts; the API server refuses that"},
		"a node that no label selects":   {"Pod", "{nodeSelector: {team/a/b: x, zone: '${ZONE}'}, containers: [{name: c, image: c}]}", `spec.nodeSelector[team/a/b]: "team/a/b" is no key of a label; want one such as team or example.com/team; the API server refuses that` + "\n" + `Pod a: spec.nodeSelector[zone]: "${ZONE}" is no value of a label; want at most 63 letters, digits, -, _ and ., with a letter or a digit at both ends; ${…} was not filled in: envsubst does that; the API server refuses that`},
		"an affinity to no label":        {"Pod", "{containers: [{name: c, image: c}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, $B]}]}]}}}}", `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[1]: "$B" is no value of a label; want at most 63 letters, digits, -, _ and ., with a letter or a digit at both ends; $B was not filled in: envsubst does that; the API server refuses that`},
		"a preference for no label":      {"Pod", "{containers: [{name: c, image: c}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a b, operator: Exists}]}}]}}}", `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: "a b" is no key of a label; want one such as team or example.com/team; the API server refuses that`},
		"a preferred value of no label":  {"Pod", "{containers: [{name: c, image: c}], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: ['${ZONE}']}]}}]}}}", ""},
		"a neighbour in Namespaces":      {"Pod", "{containers: [{name: c, image: c}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, namespaceSelector: {matchExpressions: [{key: a, operator: in}]}}]}}}", `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].operator: "in" is none of In, NotIn, Exists, DoesNotExist; the API server refuses that`},
		"a neighbour that is no such":    {"Pod", "{containers: [{name: c, image: c}], affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Inn}]}}}]}}}", `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchExpressions[0].operator: "Inn" is none of In, NotIn, Exists, DoesNotExist; the API server refuses that`},
		"a spread over no such pods":     {"Pod", "{containers: [{name: c, image: c}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Inn}]}}]}", spread + `labelSelector.matchExpressions[0].operator: "Inn" is none of In, NotIn, Exists, DoesNotExist; the API server refuses that`},
		"labels that are none":           {"Deployment", "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, v: 1.0 beta}}, spec: {containers: [{name: c, image: c}]}}}", `spec.template.metadata.labels[v]: "1.0 beta" is no value of a label; want at most 63 letters, digits, -, _ and ., with a letter or a digit at both ends; the API server refuses that`},
		"a Deployment that ends":         {"Deployment", "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}", `spec.template.spec.restartPolicy: "Never" is not for such a workload; want Always; the API server refuses that`},
		"a Job without a policy":         {"Job", "{template: {spec: {containers: [{name: c, image: c}]}}}", "spec.template.spec.restartPolicy: is missing; want OnFailure or Never; the API server refuses that"},
		"a Job that never ends":          {"Job", "{template: {spec: {restartPolicy: Always, containers: [{name: c, image: c}]}}}", `spec.template.spec.restartPolicy: "Always" is not for such a workload; want OnFailure or Never; the API server refuses that`},
		"a Job":                          {"Job", "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}", ""},
		"a container before the others":  {"Pod", "{containers: [{name: c, image: c}], initContainers: [{name: i, image: c, resources: {limits: {cpu: -1}}}]}", "spec.initContainers[0].resources.limits.cpu: -1 is negative; the API server refuses that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version := map[string]string{"Pod": "v1", "Deployment": "apps/v1", "Job": "batch/v1", "PodDisruptionBudget": "policy/v1"}[tt.kind]
			read, _, err := manifest.Decode(strings.NewReader("apiVersion: "+version+"\nkind: "+tt.kind+"\nmetadata: {name: a}\nspec: "+tt.spec), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tt.want != "" {
				want = tt.kind + " a: " + tt.want
			}
			if got := strings.Join(convert.Refused(read), "\n"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestWhatCountsForLessIsSaid: pods and nodes that a plan passes over would go unnoticed.
func TestWhatCountsForLessIsSaid(t *testing.T) {
	t.Parallel()
	const text = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {karpenter.sh/nodepool: default}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: here}, spec: {nodeName: n2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: there}, spec: {nodeName: n3}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated, namespace: shop}, spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {template: {spec: {schedulingGates: [{name: x}]}}}}
`
	read, _, err := manifest.Decode(strings.NewReader(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"left out until their scheduling gates are gone: Pod shop/gated (kueue.x-k8s.io/admission)",
		"left out, because their nodes are not among the files: Pod there (n3)",
		"n1: room for pods, but neither billed nor removed, because their NodeClaims are not among the files: kubectl get nodeclaims -o yaml, or kerf shadow --once for a live cluster",
	}
	if diff := cmp.Diff(want, convert.LeftOut(read)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if notes := convert.LeftOut(nil); notes != nil {
		t.Errorf("of nothing: %q", notes)
	}
}
