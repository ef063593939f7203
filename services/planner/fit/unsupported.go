package fit

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Unsupported says for each class, by its index, what keeps Kerf from planning for its pods; the zero Reason where
// nothing does.
func Unsupported(w *view.World) []model.Reason {
	out := make([]model.Reason, len(w.Classes))
	for i, c := range w.Classes {
		why := rules.Unsupported(c.PodClass, &w.Policy)
		if why == "" {
			continue
		}
		out[i] = model.Reason{
			Code: model.CodeUnsupported, Subject: "podclass/" + string(c.ID),
			Message: "Kerf does not plan for this pod: " + why,
		}
	}
	return out
}
