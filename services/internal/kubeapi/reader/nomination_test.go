package reader_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestANominationByKerfIsToldFromOthers(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const nomination = `{"f:status":{"f:nominatedNodeName":{}}}`
	for name, c := range map[string]struct {
		nominated, bound string
		fields           []metav1.ManagedFieldsEntry
		node             string
		byKerf           bool
	}{
		"Kerf's":          {"n1", "", []metav1.ManagedFieldsEntry{entry("kubectl", "", `{}`), entry("kerf-actuator", "status", nomination)}, "n1", true},
		"the scheduler's": {"n1", "", []metav1.ManagedFieldsEntry{entry("kube-scheduler", "status", nomination)}, "n1", false},
		"one that was Kerf's": {"n1", "", []metav1.ManagedFieldsEntry{
			entry("kube-scheduler", "status", nomination), entry("kerf-actuator", "status", `{"f:status":{}}`),
		}, "n1", false},
		"of no known manager":    {"n1", "", nil, "n1", false},
		"none":                   {"", "", []metav1.ManagedFieldsEntry{entry("kerf-actuator", "status", nomination)}, "", false},
		"of a pod that is bound": {"n1", "n2", []metav1.ManagedFieldsEntry{entry("kerf-actuator", "status", nomination)}, "", false},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.fields}}
		p.Spec.NodeName, p.Status.NominatedNodeName = c.bound, c.nominated
		for _, when := range []string{"", ", trimmed", ", trimmed twice"} {
			if node, byKerf := reader.Nomination(p); node != c.node || byKerf != c.byKerf {
				t.Errorf("%s%s: %q, by Kerf: %v; want %q, %v", name, when, node, byKerf, c.node, c.byKerf)
			}
			reader.TrimManagedFields(p)
			if len(p.ManagedFields) > 1 || len(p.ManagedFields) == 1 && !c.byKerf {
				t.Errorf("%s: %d managed fields are left", name, len(p.ManagedFields))
			}
		}
	}
}
