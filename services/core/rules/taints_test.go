package rules_test

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

func TestLastingTaints(t *testing.T) {
	var (
		users    = model.Taint{Key: "team", Value: "a", Effect: model.NoSchedule}
		deferred = model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.PreferNoSchedule}
		firm     = model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.NoSchedule}
		closed   = model.Taint{Key: labels.TaintUnregistered, Effect: model.NoSchedule}
		notReady = model.Taint{Key: labels.TaintNotReady, Effect: model.NoSchedule}
		startup  = model.Taint{Key: "cni", Effect: model.NoExecute}
		all      = []model.Taint{users, deferred, firm, closed, notReady, startup}
	)
	claim := &model.Claim{StartupTaints: []model.Taint{startup}}
	for _, x := range []struct {
		name     string
		claim    *model.Claim
		starting bool
		want     []model.Taint
	}{
		{"a node of Kerf's in use", claim, false, []model.Taint{users, notReady, startup}},
		{"a node of Kerf's that is starting", claim, true, []model.Taint{users}},
		{"a node without a claim", nil, false, []model.Taint{users, closed, notReady, startup}},
	} {
		given := slices.Clone(all)
		if got := rules.LastingTaints(given, x.claim, x.starting); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
		if !slices.Equal(given, all) {
			t.Errorf("%s: the list was changed", x.name)
		}
	}
}
