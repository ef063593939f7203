package unset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFields compares with what an API server with Karpenter's own schemas refuses.
func TestFields(t *testing.T) {
	t.Parallel()
	const pool, class = "karpenter.sh", "karpenter.k8s.aws"
	for name, tt := range map[string]struct {
		group, spec string
		want        []string
	}{
		"a list":                      {pool, `{"template": {"spec": {"taints": null}}}`, []string{"spec.template.spec.taints"}},
		"an object":                   {pool, `{"template": {"metadata": null}, "limits": null}`, []string{"spec.limits", "spec.template.metadata"}},
		"a label":                     {pool, `{"template": {"metadata": {"labels": {"example.com/a": null, "b": ""}}}}`, []string{"spec.template.metadata.labels.example.com/a"}},
		"one of a list":               {pool, `{"disruption": {"budgets": [{"nodes": "1"}, {"nodes": "0", "reasons": null}]}}`, []string{"spec.disruption.budgets[1].reasons"}},
		"fields with a default":       {pool, `{"disruption": {"budgets": null}, "template": {"spec": {"expireAfter": null}}}`, nil},
		"whole disruption":            {pool, `{"disruption": null}`, nil},
		"an empty time":               {pool, `{"template": {"spec": {"expireAfter": ""}}}`, []string{"spec.template.spec.expireAfter"}},
		"an empty budget":             {pool, `{"disruption": {"consolidateAfter": "1m", "budgets": [{"nodes": ""}]}}`, []string{"spec.disruption.budgets[0].nodes"}},
		"requirements":                {pool, `{"template": {"spec": {"requirements": null}}}`, nil},
		"options for metadata":        {class, `{"metadataOptions": {"httpTokens": null}}`, nil},
		"the kubelet's settings":      {class, `{"kubelet": {"maxPods": null}}`, nil},
		"a disk's size":               {class, `{"blockDeviceMappings": [{"ebs": {"volumeSize": null}}]}`, []string{"spec.blockDeviceMappings[0].ebs.volumeSize"}},
		"a kind of Kubernetes itself": {"apps", `{"replicas": null}`, nil},
		"no spec":                     {pool, `null`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Fields(tt.group, []byte(`{"spec": `+tt.spec+`}`))); diff != "" {
				t.Error("-want +got", diff)
			}
		})
	}
}
