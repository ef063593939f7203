package scalers_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/scalers"
)

// TestNumbersThatAreKept says for each what becomes of a number.
func TestNumbersThatAreKept(t *testing.T) {
	t.Parallel()
	const hpa, keda = "HorizontalPodAutoscaler", "ScaledObject"
	for name, tt := range map[string]struct {
		kind, spec, annotations string
		has, want               int32
		why                     string
	}{
		"within":                  {hpa, `{"minReplicas": 2, "maxReplicas": 4}`, `{}`, 3, 3, ""},
		"below the least":         {hpa, `{"minReplicas": 2}`, `{}`, 1, 2, "the least that HorizontalPodAutoscaler a keeps"},
		"above the most":          {hpa, `{"maxReplicas": 4}`, `{}`, 9, 4, "the most that HorizontalPodAutoscaler a keeps"},
		"a most below the least":  {hpa, `{"minReplicas": 5, "maxReplicas": 4}`, `{}`, 9, 9, ""},
		"KEDA's may have none":    {keda, `{}`, `{}`, 1, 1, ""},
		"KEDA's least":            {keda, `{"minReplicaCount": 2}`, `{}`, 1, 2, "the least that ScaledObject a keeps"},
		"paused":                  {keda, `{"minReplicaCount": 2}`, `{"autoscaling.keda.sh/paused": "true"}`, 1, 1, ""},
		"paused at a number":      {keda, `{}`, `{"autoscaling.keda.sh/paused-replicas": "7"}`, 1, 7, "at which ScaledObject a is paused"},
		"paused, but not by KEDA": {hpa, `{}`, `{"autoscaling.keda.sh/paused-replicas": "7"}`, 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := scalers.Read(fmt.Appendf(nil, `{"metadata": {"annotations": %s}, "spec": %s}`, tt.annotations, tt.spec), tt.kind, tt.kind+" a")
			if err != nil {
				t.Fatal(err)
			}
			n := &tt.has
			if why := a.Set(&n); *n != tt.want || why != tt.why {
				t.Errorf("%d (%q), want %d (%q)", *n, why, tt.want, tt.why)
			}
		})
	}
}

func TestWhatIsScaled(t *testing.T) {
	t.Parallel()
	a, err := scalers.Read([]byte(`{"metadata": {"namespace": "default"}, "spec": {"scaleTargetRef": {"name": "web"}}}`), "ScaledObject", "ScaledObject web")
	if err != nil {
		t.Fatal(err)
	}
	web := &metav1.ObjectMeta{Name: "web"}
	if !a.Scales("Deployment", web) || a.Scales("StatefulSet", web) || a.Scales("Deployment", &metav1.ObjectMeta{Name: "web", Namespace: "shop"}) {
		t.Error("it is the Deployment web of the namespace default alone")
	}
	var none *int32
	if why := a.Set(&none); why != "" || none != nil {
		t.Errorf("a number that is not said became %v: %s", none, why)
	}
	if _, err := scalers.Read([]byte(`{"spec": []}`), "ScaledObject", "ScaledObject web"); err == nil {
		t.Error("a list was read")
	}
}
