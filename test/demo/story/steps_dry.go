package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/show"
)

// giantPod applies a pod that no instance type of the pool holds, and looks for the reason in both places.
func giantPod(ctx context.Context, s *Stage) error {
	s.did("pod giant, which wants 8 CPU of a pool that has at most 4, is applied")
	if err := s.apply(ctx, "pod-giant.yaml"); err != nil {
		return err
	}
	if err := s.expect(ctx, stepTimeout, planned("giant"), s.reported(ctx, "giant", "m5.xlarge", "cpu")); err != nil {
		return err
	}
	if err := s.remove(ctx, "giant"); err != nil {
		return err
	}
	return s.expect(ctx, stepTimeout, running("giant", 0), nothing())
}

// planned holds when the last plan leaves the pod pending, with the largest type of pool default as the nearest miss.
func planned(pod string) Condition {
	return func(w World) string {
		for _, p := range w.Plan.GetPending() {
			if p.GetPod() != namespace+"/"+pod {
				continue
			}
			for _, m := range p.GetPools() {
				if m.GetNodePool() == "default" && m.GetInstanceType() == "m5.xlarge" &&
					m.GetReason().GetCode() == clusterpb.ReasonCode_REASON_CODE_RESOURCES {
					return ""
				}
			}
			return fmt.Sprintf("the plan to name m5.xlarge of pool default as the nearest miss of pod %s, it says %v", pod, p)
		}
		return fmt.Sprintf("pod %s to be left pending by plan %q", pod, w.Plan.GetId())
	}
}

// reported holds when an event of Kerf's on the pod has all the words.
func (s *Stage) reported(ctx context.Context, pod string, words ...string) Condition {
	return func(World) string {
		events, err := s.events(ctx, pod)
		if err != nil {
			return err.Error()
		}
		var said []string
		for _, e := range events {
			said = append(said, e.Reason+": "+e.Message)
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(e.Message, word) }) {
				return ""
			}
		}
		return fmt.Sprintf("an event on pod %s that has %q, Kerf's events are %q", pod, words, said)
	}
}

// oldManifests plans the same workload from v1 and from v1beta1 manifests, and from what kerf convert makes of the latter.
func oldManifests(ctx context.Context, s *Stage) error {
	want, err := s.planOf(ctx, nil, "-f", s.example("inflate", "nodeclass.yaml"), "-f", s.example("inflate", "nodepool.yaml"),
		"-f", s.example("inflate", "inflate-5.yaml"))
	if err != nil {
		return err
	}
	s.did("kerf plan -f deploy/examples/v1beta1")
	old, err := s.planOf(ctx, nil, "-f", s.example("v1beta1"))
	if err != nil {
		return err
	}
	for _, line := range old {
		s.line.Line(show.Plan, line)
	}
	if len(want) == 0 || !slices.Equal(old, want) {
		return fmt.Errorf("expected the plan of the v1beta1 manifests to be that of the v1 manifests, %q; it is %q", want, old)
	}
	s.did("kerf convert -f deploy/examples/v1beta1")
	text, err := s.kerf(ctx, nil, "convert", "-f", s.example("v1beta1"))
	if err != nil {
		return err
	}
	for _, version := range []string{"apiVersion: karpenter.sh/v1\n", "apiVersion: karpenter.k8s.aws/v1\n"} {
		if !bytes.Contains(text, []byte(version)) {
			return fmt.Errorf("expected kerf convert to print %q; it printed:\n%s", version, text)
		}
	}
	if bytes.Contains(text, []byte("v1beta1")) {
		return fmt.Errorf("expected kerf convert to print no v1beta1; it printed:\n%s", text)
	}
	converted, err := s.planOf(ctx, text, "-f", "-")
	if err != nil {
		return err
	}
	if !slices.Equal(converted, want) {
		return fmt.Errorf("expected the plan of the converted manifests to be %q; it is %q", want, converted)
	}
	return s.expect(ctx, stepTimeout, nothing())
}

// planOf is what kerf plan would buy, a line for each node.
func (s *Stage) planOf(ctx context.Context, stdin []byte, args ...string) ([]string, error) {
	out, err := s.kerf(ctx, stdin, append([]string{"plan", "-o", "json", "--advice=0"}, args...)...)
	if err != nil {
		return nil, err
	}
	var resp plannerpb.PlanResponse
	// Beside the plan there may be warnings, which are no part of it.
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(out, &resp); err != nil {
		return nil, fmt.Errorf("kerf plan -o json: %w", err)
	}
	var lines []string
	for _, c := range resp.GetPlan().GetNodeClaims() {
		o := first(c.GetOfferings())
		lines = append(lines, fmt.Sprintf("%d pods on %s in pool %s, %s, at %s", len(c.GetPods()), o.GetInstanceType(), c.GetNodePool(),
			capacity(o.GetCapacityType()), show.Dollars(c.GetPriceMicroUsdPerHour())))
	}
	for _, p := range resp.GetPlan().GetPending() {
		lines = append(lines, p.GetPod()+" stays pending: "+p.GetReason().GetMessage())
	}
	slices.Sort(lines)
	return lines, nil
}

// kerf runs the command line and returns what it prints.
func (s *Stage) kerf(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.Bin("kerf"), args...) //nolint:gosec // our own program
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("kerf %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
