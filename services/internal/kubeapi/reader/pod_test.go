package reader_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestDoNotDisruptProtectsForEverOrFromThePodsStart(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		value     string
		start     *metav1.Time
		protected bool
		until     time.Time
	}{
		"for ever":                       {"true", &start, true, time.Time{}},
		"for a while":                    {"2h", &start, true, start.Add(2 * time.Hour)},
		"for a while, before it started": {"2h", nil, true, time.Time{}},
		"not":                            {"false", &start, false, time.Time{}},
		"for no time":                    {"0s", &start, false, time.Time{}},
		"for less than no time":          {"-2h", nil, false, time.Time{}},
		"by a typo":                      {"soon", nil, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{labels.DoNotDisrupt: tc.value}},
				Status:     corev1.PodStatus{StartTime: tc.start},
			}
			if protected, until := reader.DoNotDisrupt(p); protected != tc.protected || !until.Equal(tc.until) {
				t.Errorf("got %v until %v, want %v until %v", protected, until, tc.protected, tc.until)
			}
		})
	}
	if protected, _ := reader.DoNotDisrupt(&corev1.Pod{}); protected {
		t.Error("a pod without the annotation is protected")
	}
}
