package workloads

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ended says that an object, as JSON, makes no pods any more: it is being deleted, or its status says that it has run.
func Ended(text []byte) bool {
	var o struct {
		Metadata struct {
			Deleted *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type   string                 `json:"type"`
				Status metav1.ConditionStatus `json:"status"`
			} `json:"conditions"`
			Application struct {
				State string `json:"state"`
			} `json:"applicationState"` // Spark's
			Deployment string `json:"jobDeploymentStatus"` // Ray's
			State      any    `json:"state"`               // Volcano's has a phase, others are words
		} `json:"status"`
	}
	if json.Unmarshal(text, &o) != nil {
		return false
	}
	words := []string{o.Status.Application.State, o.Status.Deployment}
	if state, ok := o.Status.State.(map[string]any); ok {
		phase, _ := state["phase"].(string)
		words = append(words, phase)
	}
	for _, c := range o.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			words = append(words, c.Type)
		}
	}
	return o.Metadata.Deleted != nil || slices.ContainsFunc(words, isEnd)
}

func isEnd(word string) bool {
	return slices.Contains([]string{"complete", "completed", "succeeded", "failed", "aborted", "terminated"}, strings.ToLower(word))
}
