package load_test

import (
	"bytes"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kerf-dev/kerf/test/versus/load"
)

func yaml(t *testing.T, of []*appsv1.Deployment) []byte {
	t.Helper()
	text, err := load.YAML(of)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestASeedDecidesTheLoad(t *testing.T) {
	t.Parallel()
	one := yaml(t, load.Ramp(1))
	if !bytes.Equal(one, yaml(t, load.Ramp(1))) {
		t.Error("the same seed makes different loads")
	}
	if bytes.Equal(one, yaml(t, load.Ramp(2))) {
		t.Error("different seeds make the same load")
	}
}

func TestTheRampIsWhatItIsSaidToBe(t *testing.T) {
	t.Parallel()
	ramp := load.Ramp(1)
	spread := 0
	for _, d := range ramp {
		if len(d.Spec.Template.Spec.TopologySpreadConstraints) > 0 {
			spread++
		}
	}
	if len(ramp) != 24 || load.Pods(ramp) != 960 || spread != 6 {
		t.Errorf("%d Deployments, %d pods, %d spread", len(ramp), load.Pods(ramp), spread)
	}
	small := load.Scaled(ramp, 40)
	if load.Pods(small) != 384 || load.Pods(ramp) != 960 {
		t.Errorf("scaled to %d pods, want 384; and the original must stay as it was", load.Pods(small))
	}
	if n := load.Pods(load.Bursts(1)); n != 80 {
		t.Errorf("bursts of %d pods in all, want 80", n)
	}
}
