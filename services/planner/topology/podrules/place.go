package podrules

import (
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/fit"
)

// PlaceKey is the same for places that no rule can tell apart.
func PlaceKey(r *Rules, at *fit.Place) string {
	b := make([]byte, 0, 128)
	for _, key := range r.Labels {
		if v, ok := at.Label(key); ok {
			b = append(append(append(b, '='), v...), 0)
			continue
		}
		open, ok := at.Open.Get(key)
		switch {
		case ok:
			b = appendRequirement(b, open)
		case at.Fresh && key == labels.Hostname:
			b = append(b, '+') // it will have one, which no rule names
		default:
			b = append(b, '-')
		}
	}
	if r.Taints {
		for _, t := range at.Taints {
			b = append(append(b, t.String()...), 0)
		}
	}
	return string(b)
}

func appendRequirement(b []byte, r require.Requirement) []byte {
	b = append(b, '?')
	if r.AllowsAbsent() {
		b = append(b, '-')
	}
	for _, m := range r.Model() {
		b = append(append(append(b, m.Operator.String()...), ' '), strings.Join(m.Values, "\x01")...)
		b = append(b, 0)
	}
	return b
}
