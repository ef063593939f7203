package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestEachNamespaceHasItsNameAsALabel(t *testing.T) {
	team := model.Label{Key: "team", Value: "x"}
	name := func(v string) model.Label { return model.Label{Key: "kubernetes.io/metadata.name", Value: v} }
	s := model.Snapshot{
		Namespaces: []model.Namespace{{Name: "file", Labels: model.Labels{team}}, {Name: "live", Labels: model.Labels{name("live"), team}}},
		PodClasses: []model.PodClass{{Namespace: "file"}, {Namespace: "unknown"}},
	}
	want := map[string]model.Labels{
		"file": {name("file"), team}, "live": {name("live"), team}, "unknown": {name("unknown")},
	}
	if diff := cmp.Diff(want, s.NamespaceLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
