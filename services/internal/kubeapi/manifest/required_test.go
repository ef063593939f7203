package manifest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// TestWhatTheSchemaRequiresIsNotMissedInSilence looks at fields that are plain without being written: a warning says
// what they are taken for, what is converted has them, and strict options refuse that.
func TestWhatTheSchemaRequiresIsNotMissedInSilence(t *testing.T) {
	t.Parallel()
	const ref = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}"
	pool := func(template, spec string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template:\n    spec: {" + ref + template + "}\n" + spec
	}
	const requirements = ", requirements: []"
	for name, tc := range map[string]struct {
		text, problem, assumed, written string
	}{
		"a pool without requirements": {pool("", ""), "line 6: NodePool p: spec.template.spec.requirements: is missing", "[]", "requirements: []"},
		"a pool whose requirements are null": {
			pool(", requirements: null", ""), "NodePool p: spec.template.spec.requirements: has no value", "[]", "requirements: []",
		},
		"a pool that has none on purpose": {text: pool(requirements, ""), written: "requirements: []"},
		"a claim without requirements": {
			"apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: k}\nspec: {" + ref + "}\n", "NodeClaim k: spec.requirements: is missing", "[]", "requirements: []",
		},
		"an overlay without requirements": {
			"apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: o}\nspec: {price: \"0.01\"}\n", "NodeOverlay o: spec.requirements: is missing", "[]", "requirements: []",
		},
		"disruption that says how, and not when": {
			pool(requirements, "  disruption: {consolidationPolicy: WhenEmpty}\n"), "line 7: NodePool p: spec.disruption.consolidateAfter: is missing", "0s", "consolidateAfter: 0s",
		},
		"disruption that says how, and of when the name": {
			pool(requirements, "  disruption:\n    consolidationPolicy: WhenEmpty\n    consolidateAfter:\n"),
			"line 9: NodePool p: spec.disruption.consolidateAfter: has no value", "0s", "consolidateAfter: 0s",
		},
		"disruption that says the name of when alone": {
			pool(requirements, "  disruption: {consolidateAfter: \"\"}\n"),
			"line 7: NodePool p: spec.disruption.consolidateAfter: has no value", "0s", "consolidateAfter: 0s",
		},
		"disruption that says nothing": {
			pool(requirements, "  disruption: {}\n"), "line 7: NodePool p: spec.disruption.consolidateAfter: is missing", "0s", "consolidateAfter: 0s",
		},
		"disruption that is null": {text: pool(requirements, "  disruption:\n"), written: "requirements: []"},
		"disruption that says both": {
			text: pool(requirements, "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}\n"), written: "consolidateAfter: Never",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, warnings, err := manifest.Decode(strings.NewReader(tc.text), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, w := range warnings {
				said = append(said, w.String())
			}
			_, _, refused := manifest.Options{Strict: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tc.text)})
			if tc.problem == "" {
				if len(said) != 0 || refused != nil {
					t.Errorf("warnings %q, and of strict options %v; want none", said, refused)
				}
			} else if len(said) != 1 || !strings.Contains(said[0], tc.problem) || !strings.Contains(said[0], "assumed: "+tc.assumed) {
				t.Errorf("warnings %q, want %s, and assumed: %s", said, tc.problem, tc.assumed)
			} else if refused == nil || !strings.Contains(refused.Error(), tc.problem) {
				t.Errorf("strict options say %v, want %s", refused, tc.problem)
			}
			var out bytes.Buffer
			if err := manifest.Encode(&out, objects...); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tc.written) {
				t.Error("not in what is written:", tc.written, cmp.Diff("", out.String()))
			}
		})
	}
}

// TestFieldsWithoutAValueAreTold: templates leave them, Go's decoder takes them for fields that are not there, and an API
// server refuses them.
func TestFieldsWithoutAValueAreTold(t *testing.T) {
	t.Parallel()
	const pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p, labels: null}\nspec:\n  weight:\n  template:\n    spec:\n" +
		"      taints:\n      requirements: []\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}\n"
	_, warnings, err := manifest.Decode(strings.NewReader(pool), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const problem = "has no value; the API server refuses that: write one, or remove the field"
	want := []string{
		"f.yaml: document 1, line 8: NodePool p: spec.template.spec.taints: " + problem,
		"f.yaml: document 1, line 5: NodePool p: spec.weight: " + problem,
	}
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error("-want +got", diff)
	}
	_, _, refused := manifest.Options{Strict: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(pool)})
	if refused == nil || !strings.Contains(refused.Error(), want[0]) || !strings.Contains(refused.Error(), want[1]) {
		t.Errorf("strict options say %v", refused)
	}
}
