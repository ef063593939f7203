package manifest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

const (
	aProvisioner = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec:\n"
	aTemplate    = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\nspec:\n  subnetSelector: {a: b}\n"
	aDeployment  = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}\n"
	aRollout     = "---\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n"
	scaledObject = "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web, annotations: %s}\nspec: {minReplicaCount: 2, scaleTargetRef: {name: web}}\n"
	aScaler      = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {minReplicas: 4, scaleTargetRef: {kind: Deployment, name: web}}\n"
)

// TestWhatIsMissingIsAssumed looks at what each text becomes where things may be assumed, and that each assumption is said.
func TestWhatIsMissingIsAssumed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		// pools as "name>class", classes as "name", with ":kubelet" where they have settings, workloads as "name=replicas".
		want []string
		warn []string // parts of warnings
	}{
		"a pool without its class": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}}\n",
			[]string{"a>c", "c"},
			[]string{"NodePool a: spec.template.spec.nodeClassRef: EC2NodeClass c is not among the files; assumed: a plain one"},
		},
		"an old pool without its class, with kubelet settings": {
			oldPool("a", "c", ", kubelet: {maxPods: 1}"), []string{"a>c", "c:kubelet"}, []string{"EC2NodeClass c is not among the files"},
		},
		"old pools of one class that want different kubelets": {
			oldPool("a", "c", ", kubelet: {maxPods: 1}") + "---\n" + oldPool("b", "c", "") + "---\n" + oldClass("c", "  amiFamily: AL2\n"),
			[]string{"a>c", "b>c-b", "c:kubelet", "c-b"},
			[]string{"NodePool b: spec.template.spec.kubelet: other pools of EC2NodeClass c have other settings; assumed: a class of its own, c-b"},
		},
		"a class without a role": {
			strings.Replace(oldClass("c", "  amiFamily: AL2\n"), "  role: r\n", "", 1), []string{"c"}, []string{"EC2NodeClass c: spec.role: is missing; assumed"},
		},
		"the family Ubuntu": {oldClass("c", "  amiFamily: Ubuntu\n"), []string{"c"}, []string{"spec.amiFamily: Ubuntu is no family any more: it is read as amiFamily AL2"}},
		"a provisioner without a template": {
			aProvisioner + "  weight: 1\n", []string{"a>a", "a"}, []string{"spec.providerRef: name the AWSNodeTemplate", "EC2NodeClass a is not among the files"},
		},
		"a provisioner with its settings inside": {
			aProvisioner + "  provider: {launchTemplate: x, subnetSelector: {a: b}}\n",
			[]string{"a>a", "a"},
			[]string{"spec.provider.launchTemplate: launch templates", "spec.provider.instanceProfile: it came from the setting"},
		},
		"a profile from the settings": {aTemplate + "  securityGroupSelector: {a: b}\n", []string{"a"}, []string{"spec.instanceProfile: it came from the setting aws.defaultInstanceProfile"}},
		"an autoscaler's least":       {aDeployment + "---\n" + aScaler, []string{"web=4"}, []string{"Deployment web: spec.replicas: assumed: 4, the least that HorizontalPodAutoscaler web keeps"}},
		"an autoscaler of nothing":    {aScaler, nil, []string{"skipped: Deployment web, which it scales, is not among the files"}},
		"a Rollout": {
			strings.NewReplacer("apps/v1", "argoproj.io/v1alpha1", "Deployment", "Rollout", "{selector", "{replicas: 3, strategy: {canary: {}}, selector").Replace(aDeployment) +
				"---\n" + strings.ReplaceAll(aScaler, "kind: Deployment", "kind: Rollout"),
			[]string{"web=4 of a=b"},
			[]string{"Rollout web: planned for as a Deployment", "assumed: 4"},
		},
		"a ReplicationController": {
			"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web}\nspec: {replicas: 2, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}\n",
			[]string{"web=2 of a=b"},
			[]string{"ReplicationController web: planned for as a ReplicaSet of the same pods"},
		},
		"a Rollout of a Deployment that is not there": {
			aRollout + "spec: {workloadRef: {kind: Deployment, name: web}}\n", nil,
			[]string{"Rollout web: spec.workloadRef: skipped: Deployment web, whose pods it makes, is not among the files"},
		},
		"a Rollout of a Deployment": {
			aDeployment + aRollout + "spec: {replicas: 5, workloadRef: {kind: Deployment, name: web}}\n", []string{"web", "web=5 of a=b"}, nil,
		},
		"a Rollout of a ReplicaSet": {
			strings.NewReplacer("Deployment", "ReplicaSet", "{selector", "{replicas: 1, selector").Replace(aDeployment) + aRollout + "spec: {replicas: 5, workloadRef: {kind: ReplicaSet, name: web}}\n",
			[]string{"web=1 of a=b", "web=5 of a=b"},
			nil,
		},
		"a Rollout of a PodTemplate": {
			"apiVersion: v1\nkind: PodTemplate\nmetadata: {name: web}\ntemplate: {metadata: {labels: {a: b}}}\n" +
				aRollout + "spec: {replicas: 5, workloadRef: {kind: PodTemplate, name: web}}\n",
			[]string{"web=5 of a=b"},
			nil,
		},
		"a Rollout of a ReplicaSet that is not there, beside a Deployment of its name": {
			aDeployment + aRollout + "spec: {workloadRef: {kind: ReplicaSet, name: web}}\n",
			[]string{"web"},
			[]string{"skipped: ReplicaSet web, whose pods it makes, is not among the files"},
		},
		"a Rollout of a StatefulSet": {
			aRollout + "spec: {workloadRef: {kind: StatefulSet, name: web}}\n", nil,
			[]string{"Rollout web: spec.workloadRef.kind: skipped: StatefulSet is none that a Rollout can name: want Deployment, ReplicaSet or PodTemplate"},
		},
		"a Rollout that scales its Deployment down": {
			aRollout + "spec: {replicas: 5, workloadRef: {kind: Deployment, name: web, scaleDown: onsuccess}}\n---\n" + aDeployment,
			[]string{"web=5 of a=b", "web=0"},
			[]string{"Deployment web: spec.replicas: assumed: 0, to which Rollout web scales it down"},
		},
		"a Rollout beside a Deployment of its name": {
			aDeployment + aRollout + "spec: {replicas: 2, selector: {matchLabels: {a: b}}}\n", []string{"web", "web=2 of a=b"}, nil,
		},
		"a ScaledJob beside a Job of its name": {
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n---\napiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\n",
			[]string{"Job a", "ScaledJob a"},
			nil,
		},
		"an autoscaler that says its namespace": {aDeployment + "---\n" + strings.Replace(aScaler, "{name: web}\n", "{name: web, namespace: default}\n", 1), []string{"web=4"}, nil},
		"an autoscaler of what is switched off": {strings.Replace(aDeployment, "{selector", "{replicas: 0, selector", 1) + "---\n" + aScaler, []string{"web=0"}, nil},
		"an autoscaler's most": {
			strings.Replace(aDeployment, "{selector", "{replicas: 20, selector", 1) + "---\n" + strings.Replace(aScaler, "{minR", "{maxReplicas: 5, minR", 1),
			[]string{"web=5"},
			[]string{"assumed: 5, the most that HorizontalPodAutoscaler web keeps"},
		},
		"a ScaledObject of what has none": {
			strings.Replace(aDeployment, "{selector", "{replicas: 0, selector", 1) + fmt.Sprintf(scaledObject, "{}"), []string{"web=2"}, []string{"the least that ScaledObject web keeps"},
		},
		"a ScaledObject that is paused":             {aDeployment + fmt.Sprintf(scaledObject, `{autoscaling.keda.sh/paused: "true"}`), []string{"web"}, nil},
		"a ScaledObject that is paused at a number": {aDeployment + fmt.Sprintf(scaledObject, `{autoscaling.keda.sh/paused-replicas: "0"}`), []string{"web=0"}, []string{"assumed: 0, at which ScaledObject web is paused"}},
		"objects of one generated name": {
			strings.Repeat("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {generateName: web-}\n", 3) + "---\n" + aDeployment, []string{"web-2", "web-3", "web-4", "web"}, nil,
		},
		"a generated name": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {generateName: web-}\n", []string{"web"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, warnings, err := manifest.Options{Assume: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tc.text)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				if err := kubeapi.Validate(o); err != nil {
					t.Error(err)
				}
				switch o := o.(type) {
				case *karpenterv1.NodePool:
					got = append(got, o.Name+">"+o.Spec.Template.Spec.NodeClassRef.Name)
				case *awsv1.EC2NodeClass:
					text := o.Name
					if o.Spec.Kubelet != nil {
						text += ":kubelet"
					}
					got = append(got, text)
				case *batchv1.Job:
					got = append(got, o.Kind+" "+o.Name)
				case *appsv1.ReplicaSet:
					got = append(got, fmt.Sprintf("%s=%d of %s", o.Name, *o.Spec.Replicas, metav1.FormatLabelSelector(o.Spec.Selector)))
				case *appsv1.Deployment:
					text := o.Name
					if o.Spec.Replicas != nil {
						text += "=" + strconv.Itoa(int(*o.Spec.Replicas))
					}
					if o.Kind == "Rollout" {
						text += " of " + metav1.FormatLabelSelector(o.Spec.Selector)
					}
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var said strings.Builder
			for _, w := range warnings {
				said.WriteString(w.String() + "\n")
			}
			for _, want := range tc.warn {
				if !strings.Contains(said.String(), want) {
					t.Errorf("no warning %q in\n%s", want, said.String())
				}
			}
		})
	}
}

func TestTheOldSettingOfTheProfile(t *testing.T) {
	t.Parallel()
	objects, _, err := manifest.Options{InstanceProfile: "nodes"}.Read(
		manifest.Source{Name: "f.yaml", Reader: strings.NewReader(aTemplate + "  securityGroupSelector: {a: b}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := objects[0].(*awsv1.EC2NodeClass).Spec.InstanceProfile; got == nil || *got != "nodes" {
		t.Errorf("profile %v", got)
	}
}

// TestWhatIsFoundInADirectoryMayBeNoManifest: a chart's folder holds values and templates, too.
func TestWhatIsFoundInADirectoryMayBeNoManifest(t *testing.T) {
	t.Parallel()
	const text = "replicas: 3\n---\n" + aDeployment + "---\na: {{ .Values.x }}\nb: {{- end }}\n---\n- a list\n"
	for _, found := range []bool{false, true} {
		objects, warnings, err := manifest.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(text), Found: found})
		if found && (err != nil || len(objects) != 1 || len(warnings) != 3) {
			t.Errorf("read %d objects, warned of %v: %v", len(objects), warnings, err)
		}
		if !found && (err == nil || !strings.Contains(err.Error(), "it looks like a template")) {
			t.Errorf("got %v", err)
		}
	}
}

// TestInAFolderTheLastOfANameCounts as with kubectl apply: a base and its overlays stand side by side in many folders.
func TestInAFolderTheLastOfANameCounts(t *testing.T) {
	t.Parallel()
	read := func(found bool) ([]runtime.Object, []manifest.Warning, error) {
		var sources []manifest.Source
		for _, role := range []string{"base", "overlay"} {
			sources = append(sources, manifest.Source{Name: role + ".yaml", Found: found, Reader: strings.NewReader(
				"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {from: " + role + "}}\n")})
		}
		return manifest.Options{Assume: true}.Read(sources...)
	}
	objects, warnings, err := read(true)
	if err != nil || len(objects) != 1 || objects[0].(metav1.Object).GetLabels()["from"] != "overlay" {
		t.Errorf("got %v, %v; want the overlay's", objects, err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "base.yaml") {
		t.Errorf("warnings %v, want one that names base.yaml", warnings)
	}
	if _, _, err := read(false); err == nil {
		t.Error("two files that the user named may define it twice")
	}
}

// TestWhatCanNotBeReadIsNotMissing has a class in the file that is no good: to say that a plain one stands for it would
// be wrong.
func TestWhatCanNotBeReadIsNotMissing(t *testing.T) {
	t.Parallel()
	const pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n" +
		"spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}}\n---\n"
	for name, class := range map[string]string{
		"a wrong value": "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c}\nspec: {tags: {a: 1}}\n",
		"a tab":         "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c}\nspec:\n\trole: r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := manifest.Options{Assume: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(pool + class)})
			if err == nil || len(warnings) != 0 {
				t.Errorf("warnings %q, error %v; want the error alone", warnings, err)
			}
		})
	}
}
