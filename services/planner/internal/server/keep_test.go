package server_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// TestAPanicCostsOnlyThePodsThatItIsAbout lets the planner panic about one class. All other pods get their nodes, in a
// session as in a request, the class's pods stay pending with the reason, and the input is kept so that it can be asked
// again.
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
	again := theOneKept(t, kept)
	if n := len(again.GetSnapshot().GetPods()); n != 3 || again.GetSnapshot().GetPodClasses()[0].GetUnsupported() != "" {
		t.Errorf("what is kept is not what was asked: %d pods", n)
	}
}

// theOneKept is the only input that a folder has. It is named after its hash.
func theOneKept(t *testing.T, folder string) *plannerpb.PlanRequest {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %d files are kept, want the same input once", err, len(files))
	}
	data, err := os.ReadFile(filepath.Join(folder, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	var kept plannerpb.PlanRequest
	if err := proto.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if hash := hashOf(t, &kept); files[0].Name() != "input-"+hash[:16]+".binpb" {
		t.Errorf("%s is kept of input %s", files[0].Name(), hash)
	}
	return &kept
}

// hashOf is the hash that a plan for a request has, and `kerf plan` shows.
func hashOf(t *testing.T, request *plannerpb.PlanRequest) string {
	t.Helper()
	in, err := convert.Input(request.GetSnapshot(), request.GetDecide())
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	return p.InputHash
}

// TestAPanicThatHasNothingToDoWithPodsCostsTheirNodesNothing lets the planner panic wherever it is asked for
// disruptions: pods get their nodes, and what was asked is kept.
func TestAPanicThatHasNothingToDoWithPodsCostsTheirNodesNothing(t *testing.T) {
	fails := func(in model.Input) (model.Plan, error) {
		if len(in.Kinds) != 1 {
			panic("index out of range [8]")
		}
		return plan.Decide(in)
	}
	var log strings.Builder
	kept := t.TempDir()
	c := dial(t, server.Config{Decide: fails, Log: slog.New(slog.NewTextHandler(&log, nil)), FailedInputs: kept})
	asked := &plannerpb.PlanRequest{Snapshot: snapshot(2), Decide: question()}
	if p := whole(t, c, asked.GetSnapshot(), asked.GetDecide()); len(p.GetPlacements()) != 2 {
		t.Errorf("placed %v", p.GetPlacements())
	}
	stream := open(t, c)
	stream.send(part(asked.GetSnapshot(), true), decide(question()))
	if p, _ := stream.plan(); len(p.GetPlacements()) != 2 {
		t.Errorf("placed %v in a session", p.GetPlacements())
	}
	hash := hashOf(t, asked)
	if again := theOneKept(t, kept); hashOf(t, again) != hash {
		t.Errorf("what is kept is not what was asked: %v", again)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "input="+hash) {
		t.Errorf("the log does not name input %s: %s", hash, log.String())
	}
}

// TestAPlannerThatFailsOnEverythingNamesTheInput asks a planner for a plan that always panics, and one that was not
// asked for pods.
func TestAPlannerThatFailsOnEverythingNamesTheInput(t *testing.T) {
	fails := func(model.Input) (model.Plan, error) { panic("index out of range [9]") }
	for _, kinds := range [][]plannerpb.DecisionKind{nil, {plannerpb.DecisionKind_DECISION_KIND_DISRUPT}} {
		kept := t.TempDir()
		c := dial(t, server.Config{Decide: fails, FailedInputs: kept})
		asked := &plannerpb.PlanRequest{Snapshot: snapshot(2), Decide: &plannerpb.Decide{Now: now, Kinds: kinds}}
		hash := hashOf(t, asked)
		_, err := c.Plan(t.Context(), asked)
		_ = checkError(t, err, codes.Internal, server.ReasonPlanInvalid, "input "+hash)
		s := open(t, c)
		s.send(part(asked.GetSnapshot(), true), decide(asked.GetDecide()))
		s.fails(codes.Internal, server.ReasonPlanInvalid, "input "+hash)
		if again := theOneKept(t, kept); hashOf(t, again) != hash {
			t.Errorf("what is kept is not what was asked: %v", again)
		}
	}
}

// TestAPanicAboutAPoolCostsOnlyThatPool has two pools, of which the planner fails on one.
func TestAPanicAboutAPoolCostsOnlyThatPool(t *testing.T) {
	fails := func(in model.Input) (model.Plan, error) {
		if slices.ContainsFunc(in.Snapshot.NodePools, func(p model.NodePool) bool { return p.Name == "bad" && p.NotReady.OK() }) {
			panic("index out of range [6]")
		}
		return plan.Decide(in)
	}
	s := snapshot(2)
	bad := proto.CloneOf(s.GetNodePools()[0])
	bad.Name, bad.Weight = "bad", 10
	s.NodePools = append(s.NodePools, bad)
	var log strings.Builder
	p := whole(t, dial(t, server.Config{Decide: fails, Log: slog.New(slog.NewTextHandler(&log, nil))}), s, question())
	if len(p.GetPlacements()) != 2 || len(p.GetNodeClaims()) != 1 || p.GetNodeClaims()[0].GetNodePool() != "default" {
		t.Errorf("placed %v on %v", p.GetPlacements(), p.GetNodeClaims())
	}
	if !strings.Contains(log.String(), "pools=[bad]") || !strings.Contains(log.String(), "classes=[]") {
		t.Errorf("the log does not name the pool alone: %s", log.String())
	}
}
