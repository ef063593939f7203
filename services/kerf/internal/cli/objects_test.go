package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// TestWhatKubectlGetsOfACluster plans for the objects of a live cluster, as kubectl get -o yaml prints them: two
// m5.xlarge with a small pod each, and the claims that Karpenter has made for them.
func TestWhatKubectlGetsOfACluster(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/live-objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ready := `{type: Ready, status: "True", reason: Ready, message: "", observedGeneration: 3, lastTransitionTime: "2026-01-01T00:00:00Z"}`
	unready := `{type: Ready, status: "False", reason: DependenciesNotReady, message: "SubnetsReady=False", observedGeneration: 3, lastTransitionTime: "2026-01-01T00:00:00Z"}
    - {type: SubnetsReady, status: "False", reason: SubnetsNotFound, message: "no subnet has the tag a=b", observedGeneration: 3, lastTransitionTime: "2026-01-01T00:00:00Z"}`
	bound, poolSpec := "    nodeName: n2\n    containers", "  spec:\n    disruption: {consolidateAfter"
	poolStatus := func(reason string) string {
		return "  status:\n    conditions:\n    - {type: Ready, status: \"False\", reason: Reconciling, message: \"\"}\n    - {type: " + reason + ", status: \"False\", reason: Why, message: \"it is so\"}\n" + poolSpec
	}
	for name, tc := range map[string]struct {
		edit  []string // pairs of old and new
		code  int
		print string
		said  string // "" for nothing
	}{
		"nodes that cost too much go":         {nil, cli.ExitOK, "n1, n2  underutilized          2  default-", ""},
		"but not before consolidateAfter":     {[]string{"consolidateAfter: 1m", "consolidateAfter: 8000h"}, cli.ExitOK, "consolidate after", ""},
		"which begins when the last pod left": {[]string{"consolidateAfter: 1m", "consolidateAfter: 5m", `lastPodEventTime: "2026-01-01T00:30:00Z"`, `lastPodEventTime: "2026-01-31T11:59:00Z"`}, cli.ExitOK, "consolidate after", ""},
		"a pool that has changed is drift": {
			[]string{
				"kind: NodePool\n  metadata: {name: default", `kind: NodePool
  metadata: {annotations: {karpenter.sh/nodepool-hash: "2", karpenter.sh/nodepool-hash-version: v3}, name: default`,
				`    creationTimestamp: "2026-01-01T00:00:00Z"
    labels`, `    creationTimestamp: "2026-01-01T00:00:00Z"
    annotations: {karpenter.sh/nodepool-hash: "1", karpenter.sh/nodepool-hash-version: v3}
    labels`,
			}, cli.ExitOK, "NodePoolDrifted: the template of node pool default has changed since the launch", "",
		},
		"claims that name no node have that of their instance": {[]string{"    nodeName: n1\n    imageID", "    imageID"}, cli.ExitOK, "n1, n2  underutilized          2  default-", ""},
		"a node has one claim": {
			[]string{"nodeName: n2\n    imageID", "nodeName: n1\n    imageID"},
			cli.ExitError, "",
			"NodeClaim default-n2: status.nodeName: n1 is that of NodeClaim default-n1 too; each node has one NodeClaim",
		},
		"an instance has one claim": {
			[]string{"providerID: aws:///us-east-1a/i-n2\n    last", "providerID: aws:///us-east-1a/i-n1\n    last"},
			cli.ExitError, "",
			"NodeClaim default-n2: status.providerID: aws:///us-east-1a/i-n1 is that of NodeClaim default-n1 too; each node has one NodeClaim",
		},
		"a claim that is to live for no time has expired": {[]string{"expireAfter: Never", "expireAfter: 0s"}, cli.ExitOK, "expired", ""},
		"a pool whose nodes are to live for no time is refused": {
			[]string{"        requirements:\n        - {key: karpenter.sh/cap", "        expireAfter: 0s\n        requirements:\n        - {key: karpenter.sh/cap"},
			cli.ExitError, "",
			`spec.template.spec.expireAfter: Invalid value: "0s": no node would live: say how long one may, such as 720h, or Never`,
		},
		"what is yet to come is told of": {
			[]string{"2026-01-01T00:0", "2026-03-01T00:0"},
			cli.ExitOK, "it has been quiet for 0s",
			"NodeClaim default-n1 and 3 more: made after the time that is planned for, which is 2026-01-31T12:00:00Z: their age counts as none",
		},
		"of a claim that says no time no age is known": {
			[]string{"    creationTimestamp: \"2026-01-01T00:00:00Z\"\n    labels", "    labels", "expireAfter: Never", "expireAfter: 720h"},
			cli.ExitOK, "n1, n2  underutilized", "",
		},
		"another image is drift":                 {[]string{"imageID: ami-1", "imageID: ami-0"}, cli.ExitOK, "drifted", ""},
		"unless no one says which images are":    {[]string{"imageID: ami-1", "imageID: ami-0", "    amis: [{id: ami-1, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]\n", ""}, cli.ExitOK, "underutilized", ""},
		"of a type that is not known nothing is": {[]string{"instance-type: m5.xlarge", "instance-type: x9.large"}, cli.ExitOK, "none is waiting", "NodeClaim default-n1: the catalogue has no x9.large; it does not count"},
		"a claim of no pool is told of":          {[]string{"labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m5.xlarge, topology.kubernetes.io/zone: us-east-1a, karpenter.sh/capacity-type: on-demand}\n  spec:\n    nodeClassRef", "labels: {a: b}\n  spec:\n    nodeClassRef"}, cli.ExitOK, "none is waiting", "NodeClaim default-n1 belongs to no pool: nothing is launched for it, and it does not count; write a NodePool, with spec.replicas"},
		"nodes without claims are room":          {[]string{"kind: NodeClaim", "kind: CSINode", "karpenter.sh/v1\n  kind: CSINode", "storage.k8s.io/v1\n  kind: CSINode"}, cli.ExitOK, "none is waiting", "because their NodeClaims are not among the files"},
		"a class that is not ready buys nothing": {
			[]string{ready, unready},
			cli.ExitOK, "n1    underutilized          1  -",
			"EC2NodeClass default: its status says that it is not ready: SubnetsReady is False: SubnetsNotFound: no subnet has the tag a=b; nothing is bought with it",
		},
		"and pods wait for it": {
			[]string{ready, unready, bound, "    containers", `PodScheduled, status: "True"`, `PodScheduled, status: "False", reason: Unschedulable`, "allocatable: {cpu: 3920m", "allocatable: {cpu: 420m"}, cli.ExitPending, "why     node pool default: its status says that it is not ready: SubnetsReady is False", "not ready",
		},
		"a class that was edited since": {[]string{ready, strings.ReplaceAll(unready, "observedGeneration: 3", "observedGeneration: 2")}, cli.ExitOK, "n1, n2  underutilized", ""},
		"a pool that is not ready buys nothing": {
			[]string{poolSpec, poolStatus("Other")},
			cli.ExitOK, "n1    underutilized          1  -",
			"NodePool default: its status says that it is not ready: Ready is False: Reconciling",
		},
		"a pool that is not valid keeps its nodes, too": {
			[]string{poolSpec, poolStatus("ValidationSucceeded")},
			cli.ExitOK, "node pool invalid",
			"NodePool default: its status says that it is not ready: ValidationSucceeded is False: Why: it is so",
		},
		"a pool whose class is among the objects": {[]string{poolSpec, poolStatus("NodeClassReady")}, cli.ExitOK, "n1, n2  underutilized", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := string(data)
			for i := 0; i < len(tc.edit); i += 2 {
				if !strings.Contains(text, tc.edit[i]) {
					t.Fatalf("the objects have no %q", tc.edit[i])
				}
				text = strings.ReplaceAll(text, tc.edit[i], tc.edit[i+1])
			}
			r := run(t, text, "plan", "--advice=0", "-f", "-")
			if r.code != tc.code || !strings.Contains(r.out, tc.print) {
				t.Errorf("exit code %d, want %d, and %q in\n%s", r.code, tc.code, tc.print, r.out)
			}
			if tc.said == "" && r.err != "" || !strings.Contains(r.err, tc.said) {
				t.Errorf("said %q, want %q", r.err, tc.said)
			}
		})
	}
}
