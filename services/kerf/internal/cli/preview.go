package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/internal/policy"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
)

// mostRounds bounds --rounds.
const mostRounds = 1000

// changed is the question with what --with says in it.
type changed struct {
	req    *plannerpb.PlanRequest
	edited preview.Edited
	policy bool
	// currency is as offline.Input has it.
	currency string
}

// edit puts the objects of --with into the snapshot.
func (p *planFlags) edit(ctx context.Context, std IO, in *offline.Input, req *plannerpb.PlanRequest) (changed, error) {
	files, err := read(ctx, p.with, std.In)
	if err != nil {
		return changed{}, fmt.Errorf("--with: %w", err)
	}
	with, err := offline.LoadPreview(files, manifest.Options{Strict: p.strict})
	if err != nil {
		return changed{}, err
	}
	std.warn(with.Warnings)
	edited, err := preview.Edit(in.Snapshot, with.Objects, p.world(std), in.Now)
	if err != nil {
		return changed{}, offline.Locate(files, err)
	}
	d := proto.CloneOf(req.GetDecide())
	if with.Policy != nil {
		if in.Policy == nil && !p.policy.said() {
			// No one said what the policy is now. Only what the file says shall make the difference.
			req.Decide.Policy = policy.Config{}.Proto()
			edited.Assumed = append(edited.Assumed, "the policy is the default one now")
		}
		d.Policy = with.Policy
	}
	return changed{&plannerpb.PlanRequest{Snapshot: edited.Snapshot, Decide: d}, edited, with.Policy != nil, in.Currency}, nil
}

// preview plays both sides and prints them beside each other.
func (p *planFlags) preview(ctx context.Context, std IO, decide preview.Decider, req *plannerpb.PlanRequest, c changed) error {
	out, err := preview.Compare(ctx, decide, req, c.req, p.rounds)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(p.with, ", "), err)
	}
	out.Changes, out.Assumed, out.Policy = c.edited.Changes, c.edited.Assumed, c.policy
	if p.out.json() {
		err = p.out.write(std.Out, func(w io.Writer) error { return preview.PrintJSON(w, out) })
	} else {
		style := std.style()
		style.Currency = c.currency
		err = preview.Print(std.Out, out, style)
	}
	if err == nil && len(out.With.Pending) > 0 {
		return errPending
	}
	return err
}
