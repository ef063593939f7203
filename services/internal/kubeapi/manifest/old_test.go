package manifest_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

const oldest = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  labels: {type: karpenter}
  annotations: {karpenter.sh/do-not-consolidate: "true"}
  requirements:
    - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  limits: {resources: {cpu: 100}}
  kubeletConfiguration: {maxPods: 20, containerRuntime: containerd}
  ttlSecondsAfterEmpty: 30
  weight: 5
  providerRef: {name: nodes}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: nodes}
spec:
  amiFamily: Bottlerocket
  instanceProfile: p
  subnetSelector: {aws-ids: "subnet-1, subnet-2"}
  securityGroupSelector: {Name: "a,b", team: c}
  tags: {team: c}
  metadataOptions: {httpPutResponseHopLimit: 3}
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {karpenter.sh/do-not-evict: "true"}}
spec:
  nodeSelector: {karpenter.sh/provisioner-name: default}
  tolerations: [{key: karpenter.sh/disruption, value: disrupting, effect: NoSchedule}]
  containers: [{name: a}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/provisioner-name, operator: Exists}]}]
`

const oldestToday = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidateAfter: 30s
    consolidationPolicy: WhenEmpty
  limits:
    cpu: "100"
  template:
    metadata:
      annotations:
        karpenter.sh/do-not-disrupt: "true"
      labels:
        type: karpenter
    spec:
      expireAfter: Never
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: nodes
      requirements:
      - key: karpenter.sh/capacity-type
        operator: In
        values:
        - spot
      - key: kubernetes.io/os
        operator: In
        values:
        - linux
      - key: kubernetes.io/arch
        operator: In
        values:
        - amd64
      - key: karpenter.k8s.aws/instance-category
        operator: In
        values:
        - c
        - m
        - r
      - key: karpenter.k8s.aws/instance-generation
        operator: Gt
        values:
        - "2"
  weight: 5
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: nodes
spec:
  amiSelectorTerms:
  - alias: bottlerocket@latest
  instanceProfile: p
  kubelet:
    maxPods: 20
  metadataOptions:
    httpPutResponseHopLimit: 3
  securityGroupSelectorTerms:
  - tags:
      Name: a
      team: c
  - tags:
      Name: b
      team: c
  subnetSelectorTerms:
  - id: subnet-1
  - id: subnet-2
  tags:
    team: c
---
apiVersion: v1
kind: Pod
metadata:
  annotations:
    karpenter.sh/do-not-disrupt: "true"
  name: a
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: karpenter.sh/nodepool
            operator: Exists
  containers:
  - name: a
  nodeSelector:
    karpenter.sh/nodepool: default
  tolerations:
  - effect: NoSchedule
    key: karpenter.sh/disrupted
    operator: Exists
`

func TestTheOldestFormsBecomeTodays(t *testing.T) {
	objects, warnings, err := manifest.Decode(strings.NewReader(oldest), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := manifest.Encode(&got, objects...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oldestToday, got.String()); diff != "" {
		t.Errorf("converted (-want +got):\n%s", diff)
	}
	for _, obj := range objects {
		if err := kubeapi.Validate(obj); err != nil {
			t.Error(err)
		}
	}
	warned := map[string]bool{}
	for _, w := range warnings {
		warned[w.Object+" "+w.Field] = true
	}
	for _, want := range []string{
		"Provisioner default ", "Provisioner default spec.requirements", "Provisioner default spec.annotations[karpenter.sh/do-not-consolidate]",
		"Provisioner default spec.kubeletConfiguration.containerRuntime", "Provisioner default spec.template.spec.kubelet",
		"AWSNodeTemplate nodes spec.subnetSelector", "AWSNodeTemplate nodes spec.amiFamily",
		"Pod a spec.nodeSelector", "Pod a metadata.annotations[karpenter.sh/do-not-evict]", "Pod a spec.tolerations[0]",
	} {
		if !warned[want] {
			t.Errorf("no warning about %q in\n%v", want, warnings)
		}
	}
}

// oldPool and oldClass are v1beta1 forms, with lines to add at two-space indents.
func oldPool(name, class, more string) string {
	return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: " + name + "}\nspec:\n" +
		"  template: {spec: {requirements: [], nodeClassRef: {name: " + class + "}" + more + "}}\n"
}

func oldClass(name, more string) string {
	return "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: " + name + "}\nspec:\n" +
		"  role: r\n  subnetSelectorTerms: [{id: subnet-1}]\n  securityGroupSelectorTerms: [{id: sg-1}]\n" + more
}

func TestWhatCannotBeCarriedOverIsAnError(t *testing.T) {
	const al2023 = "  amiFamily: AL2023\n"
	const provisioner = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec:\n"
	const template = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\nspec:\n" +
		"  subnetSelector: {a: b}\n  securityGroupSelector: {a: b}\n"
	tests := map[string]struct {
		text string
		want found
	}{
		"pools of one class with different kubelets": {
			oldPool("a", "c", ", kubelet: {maxPods: 1}") + "---\n" + oldPool("b", "c", ", kubelet: {maxPods: 2}") + "---\n" + oldClass("c", al2023),
			found{2, 6, "NodePool b", "spec.template.spec.kubelet"},
		},
		"pools of one class, one without a kubelet": {
			oldPool("a", "c", "") + "---\n" + oldPool("b", "c", ", kubelet: {maxPods: 2}") + "---\n" + oldClass("c", al2023),
			found{1, 1, "NodePool a", "spec.template.spec.kubelet"},
		},
		"a kubelet whose class is not there": {oldPool("a", "c", ", kubelet: {maxPods: 1}"), found{1, 1, "NodePool a", "spec.template.spec.kubelet"}},
		"a kubelet that the class contradicts": {
			oldPool("a", "full", ", kubelet: {maxPods: 1}") + "---" + strings.Split(fullPool, "---")[1], found{1, 1, "NodePool a", "spec.template.spec.kubelet"},
		},
		"a pool without a class": {
			"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n", found{1, 1, "NodePool a", "spec.template.spec.nodeClassRef"},
		},
		"a class of another provider": {
			oldPool("a", "c, kind: AKSNodeClass", ""), found{1, 1, "NodePool a", "spec.template.spec.nodeClassRef.kind"},
		},
		"WhenEmpty without a time":         {oldPool("a", "c", "") + "  disruption: {consolidationPolicy: WhenEmpty}\n", found{1, 1, "NodePool a", "spec.disruption.consolidateAfter"}},
		"a policy of today in an old form": {oldPool("a", "c", "") + "  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized}\n", found{1, 1, "NodePool a", "spec.disruption.consolidationPolicy"}},
		"the family Custom without images": {oldClass("c", "  amiFamily: Custom\n"), found{1, 1, "EC2NodeClass c", "spec.amiSelectorTerms"}},
		"no family":                        {oldClass("c", ""), found{1, 1, "EC2NodeClass c", "spec.amiFamily"}},
		"a provisioner without a template": {provisioner + "  weight: 1\n", found{1, 1, "Provisioner a", "spec.providerRef"}},
		"two ways to consolidate": {
			provisioner + "  providerRef: {name: b}\n  consolidation: {enabled: true}\n  ttlSecondsAfterEmpty: 30\n", found{1, 1, "Provisioner a", "spec.ttlSecondsAfterEmpty"},
		},
		"a launch template of one's own": {template + "  instanceProfile: p\n  launchTemplate: x\n", found{1, 1, "AWSNodeTemplate a", "spec.launchTemplate"}},
		"a profile from the settings":    {template, found{1, 1, "AWSNodeTemplate a", "spec.instanceProfile"}},
		"a template inside, incomplete": {
			provisioner + "  provider: {subnetSelector: {a: b}, instanceProfile: p}\n", found{1, 1, "Provisioner a", "spec.provider.securityGroupSelector"},
		},
		"ids beside tags": {
			strings.Replace(template, "{a: b}", "{a: b, aws-ids: subnet-1}", 1) + "  instanceProfile: p\n", found{1, 1, "AWSNodeTemplate a", "spec.subnetSelector"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := manifest.Decode(strings.NewReader(tc.text), "f.yaml")
			var e *manifest.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an Error", err)
			}
			if diff := cmp.Diff(tc.want, found{e.Place.Document, e.Place.Line, e.Object, e.Field}); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAnOldPoolsKubeletMovesToItsClass(t *testing.T) {
	kubelet := ", kubelet: {kubeReserved: {cpu: 100m}, maxPods: 1}"
	input := []manifest.Source{
		{Name: "a.yaml", Reader: strings.NewReader(oldPool("a", "c", kubelet))},
		{Name: "b.yaml", Reader: strings.NewReader(oldPool("b", "c", kubelet) + "---\n" + oldPool("d", "e", ""))},
		{Name: "c.yaml", Reader: strings.NewReader(oldClass("c", "  amiFamily: AL2\n") + "---\n" + oldClass("e", "  amiFamily: AL2\n"))},
	}
	objects, _, err := manifest.Read(input...)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := manifest.Encode(&text, objects...); err != nil {
		t.Fatal(err)
	}
	const want = "  kubelet:\n    kubeReserved:\n      cpu: 100m\n    maxPods: 1\n"
	if got := strings.Count(text.String(), want); got != 1 {
		t.Errorf("the settings stand %d times, want once, in class c:\n%s", got, text.String())
	}
	if strings.Index(text.String(), want) < strings.Index(text.String(), "name: c\nspec") {
		t.Errorf("the settings stand before class c:\n%s", text.String())
	}
}

func TestAnOldClaimKeepsWhatBecameOfIt(t *testing.T) {
	objects, _, err := manifest.Decode(strings.NewReader(`
apiVersion: karpenter.sh/v1beta1
kind: NodeClaim
metadata: {name: default-x1, labels: {karpenter.sh/nodepool: default}}
spec:
  nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: c}
  resources: {requests: {cpu: 1}}
  kubelet: {maxPods: 1}
status:
  providerID: aws:///us-east-1a/i-1
  nodeName: node-1
  capacity: {cpu: 2}
  conditions: [{type: Launched, status: "True", severity: Info}]
`), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	claim := objects[0].(*karpenterv1.NodeClaim)
	type facts struct {
		Group, Provider, Node, Reason string
		Expire                        karpenterv1.NillableDuration
		CPU, Capacity                 int64
	}
	got := facts{
		claim.Spec.NodeClassRef.Group, claim.Status.ProviderID, claim.Status.NodeName, claim.Status.Conditions[0].Reason,
		claim.Spec.ExpireAfter, claim.Spec.Resources.Requests.Cpu().Value(), claim.Status.Capacity.Cpu().Value(),
	}
	want := facts{"karpenter.k8s.aws", "aws:///us-east-1a/i-1", "node-1", "Launched", "720h", 1, 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := kubeapi.Validate(claim); err != nil {
		t.Error(err)
	}
}

// TestAnOldPoolsConsolidationIsTodays pins what v1beta1 left out: its defaults are not those of v1.
func TestAnOldPoolsConsolidationIsTodays(t *testing.T) {
	today := func(p karpenterv1.ConsolidationPolicy, after karpenterv1.NillableDuration) karpenterv1.Disruption {
		return karpenterv1.Disruption{ConsolidationPolicy: p, ConsolidateAfter: after}
	}
	for name, tc := range map[string]struct {
		old  string
		want karpenterv1.Disruption
	}{
		"nothing is said":       {"", today(karpenterv1.ConsolidateWhenEmptyOrUnderutilized, "0s")},
		"underutilised":         {"  disruption: {consolidationPolicy: WhenUnderutilized}\n", today(karpenterv1.ConsolidateWhenEmptyOrUnderutilized, "0s")},
		"underutilised, but no": {"  disruption: {consolidationPolicy: WhenUnderutilized, consolidateAfter: Never}\n", today(karpenterv1.ConsolidateWhenEmptyOrUnderutilized, "Never")},
		"empty for a while":     {"  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}\n", today(karpenterv1.ConsolidateWhenEmpty, "30s")},
	} {
		t.Run(name, func(t *testing.T) {
			objects, _, err := manifest.Decode(strings.NewReader(oldPool("a", "c", "")+tc.old), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			got := objects[0].(*karpenterv1.NodePool).Spec.Disruption
			if diff := cmp.Diff(tc.want, karpenterv1.Disruption{ConsolidationPolicy: got.ConsolidationPolicy, ConsolidateAfter: got.ConsolidateAfter}); diff != "" {
				t.Errorf("disruption (-want +got):\n%s", diff)
			}
		})
	}
}
