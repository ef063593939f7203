package autoscalingv1beta1_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/validation"
)

func resources(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func TestSizeOfABuffer(t *testing.T) {
	type spec = autoscalingv1beta1.CapacityBufferSpec
	n := func(v int32) *int32 { return &v }
	pod := resources("cpu", "250m", "memory", "1Gi")
	tests := map[string]struct {
		spec     spec
		workload *int32
		want     int64
		bounded  bool
	}{
		"replicas":                             {spec{Replicas: n(3)}, n(10), 3, true},
		"no replicas":                          {spec{Replicas: n(0)}, nil, 0, true},
		"a percentage rounds up":               {spec{Percentage: n(21)}, n(10), 3, true},
		"a percentage is one at least":         {spec{Percentage: n(1)}, n(3), 1, true},
		"a percentage of none is none":         {spec{Percentage: n(20)}, n(0), 0, true},
		"no per cent is none":                  {spec{Percentage: n(0)}, n(10), 0, true},
		"a workload that says nothing is one":  {spec{Percentage: n(200)}, nil, 2, true},
		"the larger of both":                   {spec{Replicas: n(3), Percentage: n(50)}, n(10), 5, true},
		"limits cap":                           {spec{Replicas: n(30), Limits: resources("cpu", "2", "memory", "5Gi")}, nil, 5, true},
		"as many as the limits hold":           {spec{Limits: resources("cpu", "2")}, n(4), 8, true},
		"a limit that holds none":              {spec{Limits: resources("cpu", "200m")}, nil, 0, true},
		"a limit on what no pod asks for":      {spec{Replicas: n(3), Limits: resources("nvidia.com/gpu", "1")}, nil, 3, true},
		"only a limit on what no pod asks for": {spec{Limits: resources("nvidia.com/gpu", "1")}, nil, 0, false},
		"nothing at all":                       {spec{}, n(4), 0, false},
		"too many":                             {spec{Replicas: n(2_000_000_000), Percentage: n(2_000_000_000)}, n(2_000_000_000), 10_000, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, bounded := tt.spec.Size(tt.workload, pod)
			if got != tt.want || bounded != tt.bounded {
				t.Errorf("got %d, %v; want %d, %v", got, bounded, tt.want, tt.bounded)
			}
		})
	}
}

func TestTimesOfABuffer(t *testing.T) {
	tests := map[string]struct {
		starts, expires string
		want            string
	}{
		"none":                     {"", "", ""},
		"both":                     {"2026-11-27T18:00:00+01:00", "2026-11-27T23:00:00Z", ""},
		"a date":                   {"2026-11-27", "", "kerf.dev/starts-at"},
		"an end before the start":  {"2026-11-27T18:00:00Z", "2026-11-27T18:00:00Z", "kerf.dev/expires-at"},
		"an end that is no moment": {"", "later", "kerf.dev/expires-at"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
			b.Spec.ScalableRef = &autoscalingv1beta1.ScalableReference{APIGroup: "apps", Kind: "Deployment", Name: "web"}
			b.SetDefaults()
			for key, v := range map[string]string{"kerf.dev/starts-at": tt.starts, "kerf.dev/expires-at": tt.expires} {
				if v != "" {
					b.Annotations[key] = v
				}
			}
			errs := validation.CapacityBuffer(b)
			if (len(errs) > 0) != (tt.want != "") || (len(errs) > 0 && !strings.Contains(errs[0].Field, tt.want)) {
				t.Errorf("got %v, want %q", errs, tt.want)
			}
		})
	}
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"kerf.dev/starts-at": "2026-11-27T18:00:00+01:00",
	}}}
	starts, expires, err := b.Times()
	if err != nil || !starts.Equal(time.Date(2026, 11, 27, 17, 0, 0, 0, time.UTC)) || !expires.IsZero() {
		t.Errorf("got %s, %s, %v", starts, expires, err)
	}
}
