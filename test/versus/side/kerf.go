package side

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/versus/market"
)

// kerfObjects are the class and the pool of Kerf's side.
func kerfObjects(spot bool) ([]byte, error) {
	p := pool{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Capacity: []string{"on-demand"}, Types: market.Types()}
	if spot {
		p.Capacity = append(p.Capacity, "spot")
	}
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	class, err := os.ReadFile(filepath.Join(root, "deploy", "examples", "inflate", "nodeclass.yaml"))
	if err != nil {
		return nil, err
	}
	text, err := p.yaml()
	return slices.Concat(class, []byte("---\n"), text), err
}

// kerf starts Kerf. Instances are gone at once when they are terminated, as the kwok provider's are.
func (s *Side) kerf(ctx context.Context, o Options) error {
	st, err := stack.Start(ctx, stack.Options{
		Dir: o.Dir, Seed: o.Seed, Released: true, Plain: true, Standby: o.Standby, LeaseTTL: o.LeaseTTL,
		Delays: stack.Delays{Launch: LaunchDelay, Terminate: time.Millisecond},
	})
	if err != nil {
		return err
	}
	s.stop = append(s.stop, st.Stop)
	s.Cluster, s.Client, s.Sim, s.Stack = st.Cluster, st.Kubernetes, &st.Sim, st
	for _, name := range stack.Services() {
		s.Pids[name] = st.Pid(name)
	}
	objects, err := kerfObjects(o.Spot)
	if err != nil {
		return err
	}
	if err := s.Cluster.Apply(ctx, objects); err != nil {
		return err
	}
	return s.ready(ctx)
}

// Bound is what pods cost at least, and what Kerf's planner would pay for them on new nodes, in dollars an hour.
type Bound struct {
	Lower, Plan float64
	Nodes       int
}

// FindBound asks `kerf plan` what the objects of a manifest cost on nodes of the same pool. Prices alone count: a node as
// such costs nothing.
func FindBound(ctx context.Context, manifest []byte) (Bound, error) {
	root, err := assets.Root()
	if err != nil {
		return Bound{}, err
	}
	objects, err := kerfObjects(false)
	if err != nil {
		return Bound{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(assets.ReleasedDir(root), "kerf"), "plan", "-f", "-", "-o", "json", "--advice", "0", //nolint:gosec // ours
		"--per-node-overhead", "0", "--zones", strings.Join(market.Zones(), ","))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(append(objects, manifest...)), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return Bound{}, fmt.Errorf("kerf plan: %w", err)
	}
	return parsePlan(out)
}

// parsePlan reads what `kerf plan -o json` prints. 64-bit numbers are strings there.
func parsePlan(text []byte) (Bound, error) {
	var doc struct {
		Plan struct {
			NodeClaims []struct{}  `json:"nodeClaims"`
			Pending    []struct{}  `json:"pending"`
			Cost       json.Number `json:"costAfterMicroUsdPerHour"`
			LowerBound struct {
				Cost json.Number `json:"microUsdPerHour"`
			} `json:"lowerBound"`
		} `json:"plan"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return Bound{}, fmt.Errorf("kerf plan's output: %w", err)
	}
	p := doc.Plan
	if len(p.Pending) > 0 {
		return Bound{}, fmt.Errorf("kerf plan has no place for %d pods", len(p.Pending))
	}
	lower, err := p.LowerBound.Cost.Float64()
	if err != nil {
		return Bound{}, fmt.Errorf("kerf plan's lower bound: %w", err)
	}
	cost, err := p.Cost.Float64()
	if err != nil {
		return Bound{}, fmt.Errorf("kerf plan's cost: %w", err)
	}
	return Bound{Lower: lower / 1e6, Plan: cost / 1e6, Nodes: len(p.NodeClaims)}, nil
}
