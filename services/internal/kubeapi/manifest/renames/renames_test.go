package renames

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"spec.ttlSecondsAfterEmpty":                  "spec.disruption.consolidateAfter",
		"spec.template.spec.nodeClassRef.apiVersion": "group: karpenter.k8s.aws",
		"spec.weight": "",
	} {
		if got := Of("NodePool", path); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Of("Deployment", "spec.consolidation"); got != "" {
		t.Errorf("of another kind: %q", got)
	}
}
