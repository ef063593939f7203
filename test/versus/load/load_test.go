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

func TestADayRisesAndFallsAndItsBatchesEnd(t *testing.T) {
	t.Parallel()
	d := load.TheDay(1)
	morning, evening := load.Pods(d.Standing(0)), load.Pods(d.Standing(load.DayLength/2))
	if morning*2 > evening || morning == 0 {
		t.Errorf("%d pods at the start, %d at noon", morning, evening)
	}
	if last := load.Pods(d.Standing(load.DayLength - 1)); last*2 > evening {
		t.Errorf("%d pods at the end, %d at noon", last, evening)
	}
	batches := func(at float64) int {
		n := 0
		for _, w := range d.Standing(at) {
			if len(w.Name) > 6 && w.Name[:6] == "batch-" {
				n++
			}
		}
		return n
	}
	if batches(0) != 0 || batches(load.DayStep) != 1 {
		t.Errorf("%d batches at the start, %d after a step", batches(0), batches(load.DayStep))
	}
	again := load.TheDay(1)
	if !bytes.Equal(yaml(t, d.Standing(300)), yaml(t, again.Standing(300))) {
		t.Error("the same seed makes different days")
	}
	if len(d.Budgets) == 0 || len(d.Sets) == 0 || len(d.Steps) != load.DayLength/load.DayStep {
		t.Errorf("%d budgets, %d StatefulSets, %d steps", len(d.Budgets), len(d.Sets), len(d.Steps))
	}
}

func TestManyPodsAreOfDeploymentsOfAThousand(t *testing.T) {
	t.Parallel()
	list := load.Many("a", 2500)
	if len(list) != 3 || load.Pods(list) != 2500 || *list[2].Spec.Replicas != 500 {
		t.Errorf("%d Deployments of %d pods, the last of %d", len(list), load.Pods(list), *list[2].Spec.Replicas)
	}
}
