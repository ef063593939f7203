package server_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// TestAPanicCostsOnlyThePodsThatItIsAbout lets the planner panic about one class. All other pods get their nodes, in a session
// as in a request, the class's pods stay pending with the reason, and the input is kept so that it can be asked again.
func TestAPanicCostsOnlyThePodsThatItIsAbout(t *testing.T) {
	fails := func(in model.Input) (model.Plan, error) {
		if slices.ContainsFunc(in.Snapshot.PodClasses, func(c model.PodClass) bool { return c.ID == "c-bad" && c.Unsupported == "" }) {
			panic("index out of range [7]")
		}
		return plan.Decide(in)
	}
	s := snapshot(2)
	bad := proto.Clone(s.GetPodClasses()[0]).(*clusterpb.PodClass)
	bad.Id, bad.OwnerName = "c-bad", "bad"
	pod := proto.Clone(s.GetPods()[0]).(*clusterpb.Pod)
	pod.Id, pod.Uid, pod.ClassId = "shop/bad-0", "bad-0", "c-bad"
	s.PodClasses, s.Pods = append(s.PodClasses, bad), append(s.Pods, pod)
	var log strings.Builder
	kept := t.TempDir()
	c := dial(t, server.Config{Decide: fails, Log: slog.New(slog.NewTextHandler(&log, nil)), FailedInputs: kept})
	answer, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: s, Decide: question()})
	if err != nil {
		t.Fatal(err)
	}
	stream := open(t, c)
	stream.send(part(s, true), decide(question()))
	streamed, _ := stream.plan()
	for name, p := range map[string]*plannerpb.Plan{"request": answer.GetPlan(), "session": streamed} {
		if len(p.GetPlacements()) != 2 || len(p.GetPending()) != 1 || p.GetPending()[0].GetPod() != "shop/bad-0" ||
			!strings.Contains(p.GetPending()[0].GetReason().GetMessage(), "index out of range [7]") {
			t.Errorf("%s: placed %v, pending %v", name, p.GetPlacements(), p.GetPending())
		}
	}
	for _, want := range []string{"level=ERROR", "classes=[c-bad]", "keep_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, log.String())
		}
	}
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %d files are kept, want the same input once", err, len(files))
	}
	data, err := os.ReadFile(filepath.Join(kept, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	var again plannerpb.PlanRequest
	if err := proto.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if n := len(again.GetSnapshot().GetPods()); n != 3 || again.GetSnapshot().GetPodClasses()[0].GetUnsupported() != "" {
		t.Errorf("what is kept is not what was asked: %d pods", n)
	}
}
