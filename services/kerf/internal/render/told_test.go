package render_test

import (
	"errors"
	"strings"
	"testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
)

// TestSlipsOfPendingPodsAreAskedAbout: also where no file could be warned of.
func TestSlipsOfPendingPodsAreAskedAbout(t *testing.T) {
	t.Parallel()
	v := everything()
	for _, c := range v.Snapshot.GetPodClasses() {
		if c.GetId() == "c-big" {
			c.NodeSelector = []*clusterpb.Label{{Key: "kubernetes.io/arch", Value: "x86_64"}}
		}
	}
	var plan, one strings.Builder
	if err := errors.Join(render.Plan(&plan, v, page.Style{}), render.Explain(&one, v, "pod/big-0", page.Style{})); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{plan.String(), one.String()} {
		if want := "\n    hint    there is no kubernetes.io/arch x86_64; did you mean amd64?\n"; strings.Count(out, want) != 1 {
			t.Errorf("printed\n%s\nwant %q once", out, want)
		}
	}
}

func TestWhatWasJudgedIsSaidAsOneSpeaks(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*plannerpb.DisruptionSummary{
		"the one node that may be removed to save money was judged":                    {Candidates: 1, Judged: 1},
		"all 3 nodes that may be removed to save money were judged":                    {Candidates: 3, Judged: 3},
		"2 of 3 nodes that may be removed to save money were judged":                   {Candidates: 3, Judged: 2},
		"no node may be removed to save money\n":                                       {},
		"the one node that may be removed to save money was judged, and 1 set tried\n": {Candidates: 1, Judged: 1, Tried: 1},
	} {
		v := everything()
		v.Plan.DisruptionSummary = s
		var out strings.Builder
		if err := render.Plan(&out, v, page.Style{}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, printed\n%s\nwant %q", err, out.String(), want)
		}
	}
}

// TestPodsBehindGatesAreExplained: of files it is known which those are, though they are not planned for.
func TestPodsBehindGatesAreExplained(t *testing.T) {
	t.Parallel()
	v := everything()
	v.Gated = map[string]string{"shop/gated": "x/y"}
	for _, object := range []string{"pod/gated", "pod/shop/gated", "pod/gated-0"} {
		var out strings.Builder
		if err := render.Explain(&out, v, object, page.Style{}); err != nil || out.String() != "pod/shop/gated  waits for its scheduling gate x/y\n" {
			t.Errorf("%s: %v, printed %q", object, err, out.String())
		}
	}
}

// TestATypoIsNoPodBehindAGate: a name that begins as another workload's does may be of either.
func TestATypoIsNoPodBehindAGate(t *testing.T) {
	t.Parallel()
	v := everything()
	v.Gated = map[string]string{"shop/gated": "x/y", "shop/gated-db": "x/z", "shop/lone": "x/y", "shop/web": "x/y", "there/twice": "x/y"}
	v.Snapshot.PodClasses = append(v.Snapshot.GetPodClasses(), &clusterpb.PodClass{Id: "api", Namespace: "shop", OwnerName: "web-api"})
	v.Snapshot.Pods = append(v.Snapshot.GetPods(), &clusterpb.Pod{Id: "shop/web-api-0", ClassId: "api"},
		&clusterpb.Pod{Id: "here/twice"}, &clusterpb.Pod{Id: "shop/twice"})
	for object, want := range map[string]string{
		"pod/web":             "pod/shop/web  waits for its scheduling gate x/y\n",
		"pod/shop/web":        "pod/shop/web  waits for its scheduling gate x/y\n",
		"pod/lone-7":          "pod/shop/lone  waits for its scheduling gate x/y\n",
		"pod/gated-db-0":      "pod/shop/gated-db  waits for its scheduling gate x/z\n",
		"pod/there/twice":     "pod/there/twice  waits for its scheduling gate x/y\n",
		"pod/web-apii-0":      "there is no such pod",
		"pod/shop/web-apii-0": "there is no such pod",
		"pod/web-api-999":     "there is no such pod",
		"pod/gated-dbb-0":     "there is no such pod",
		"pod/twice":           "2 pods have this name",
	} {
		var out strings.Builder
		err := render.Explain(&out, v, object, page.Style{})
		if got := out.String(); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, printed %q, want %q", object, err, got, want)
		}
	}
}
