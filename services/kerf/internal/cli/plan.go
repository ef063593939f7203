package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
	"github.com/kerf-dev/kerf/services/kerf/internal/world"
	"github.com/kerf-dev/kerf/services/planner"
)

// planFlags are the flags of kerf plan.
type planFlags struct {
	files   []string
	watcher string
	planner string
	with    []string
	rounds  int
	buy     world.Flags
	now     string
	explain string
	strict  bool
	advice  int
	// adviceTime bounds the search for advice; 0 doesn't.
	adviceTime time.Duration
	policy     *policyFlags
	client     *client
	out        *outputFlag
}

func newPlan(std IO) *cobra.Command {
	var flags planFlags
	c := &cobra.Command{
		Use:   "plan -f FILE... | --watcher ADDRESS",
		Short: "Show what Kerf would buy and remove, and why",
		// What those call it who look for it under another name.
		SuggestFor: []string{"explain", "why", "simulate", "diff", "preview", "advise"},
		Long: `Plan reads Kubernetes manifests (workloads, node pools, node classes; old forms
too), a snapshot that kerf snapshot saved, or the live cluster from a watcher, and
shows what Kerf would do and why. It changes nothing; manifests and snapshots need no
cluster and no AWS.

--with previews changed objects: NodePools, EC2NodeClasses, NodeOverlays,
CapacityBuffers, and a policy in the words of the watcher's config. It shows which nodes
would drift and why, and the cluster with and without the changes, side by side.

For manifests it advises at the end: the changes of pools and workloads that would save
the most, or give pending pods a place, each tried by itself with the whole planner.

Exit code: 0 when all pods are planned for, 2 when some stay pending, 1 on bad input.`,
		Example: `  kerf plan -f pool.yaml -f class.yaml -f app.yaml
  kerf plan -f manifests/*.yaml --explain pod/web-0
  kustomize build . | kerf plan -f - -o json
  kerf plan --watcher 127.0.0.1:7600 --explain node/ip-10-0-1-23.ec2.internal
  kerf plan --watcher 127.0.0.1:7600 --with nodepool.yaml,nodeclass.yaml`,
		Args: moreFiles(&flags.files),
	}
	f := c.Flags()
	f.StringSliceVarP(&flags.files, "file", "f", nil, "`file` of manifests, or directory with all in it, or a saved snapshot; - is standard input; may be repeated")
	f.StringVar(&flags.watcher, "watcher", "", "plan for the live cluster: the `address` of its watcher, such as "+address.Watcher)
	f.StringVar(&flags.planner, "planner", "", "let the planner at this `address` plan, such as "+planner.DefaultListen+"; this process does by default")
	f.StringSliceVar(&flags.with, "with", nil, "preview what the objects of these `files` would do; may be repeated")
	f.IntVar(&flags.rounds, "rounds", 20, "how many `plans` a preview carries out, one after the other, at most")
	f.StringVar(&flags.buy.Catalog, "catalog", "", "`file` with instance types and prices, instead of the ones that are built in")
	flags.addRegion(c)
	f.StringSliceVar(&flags.buy.Zones, "zones", nil, "the `zones` that there are subnets in; all of the region's by default")
	addENIs(f, &flags.buy.ENIs)
	f.StringVar(&flags.now, "now", "", "the `time` to plan for, such as 2026-01-31T12:00:00Z; a snapshot's own by default, the present for manifests with nodes or NodeClaims, and for others, on which time has no bearing, always the same")
	addStrict(c, &flags.strict)
	f.IntVar(&flags.advice, "advice", 3, "how many `changes` to advise at most; 0 looks for none, which is faster; default 0 with --watcher")
	f.DurationVar(&flags.adviceTime, "advice-time", defaultAdviceTime, "the `duration` that advice is looked for at most; 0 for as long as it takes")
	flags.policy = addPolicy(c)
	f.StringVar(&flags.explain, "explain", "", "only what becomes of one `object`, in full: node/NAME, claim/NAME, pod/NAME or pod/NAMESPACE/NAME")
	flags.out = addOutput(c, "table")
	flags.completeZones(c)
	for _, file := range []string{"file", "with", "policy", "catalog"} {
		//nolint:errcheck // the flag is there
		c.MarkFlagFilename(file, "yaml", "yml", "json", "pb", "gz")
	}
	flags.client = addClient(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if flags.watcher != "" && !f.Changed("advice") {
			flags.advice = 0
		}
		if err := flags.check(); err != nil {
			return err
		}
		return flags.run(cmd.Context(), std)
	}
	return c
}

// check finds flags that make no sense, alone or together.
func (p *planFlags) check() error {
	switch {
	case p.advice < 0:
		return fmt.Errorf("--advice %d: want a number of changes, or 0 for none", p.advice)
	case p.adviceTime < 0:
		return fmt.Errorf("--advice-time %s: want a time such as 1m, or 0 for no end", p.adviceTime)
	case p.rounds < 1 || p.rounds > mostRounds:
		return fmt.Errorf("--rounds %d: want 1 to %d", p.rounds, mostRounds)
	case p.watcher != "" && len(p.files) > 0:
		return errors.New("--watcher and -f: want the live cluster, or files; to see what files would change of it, name them with --with")
	case p.watcher != "" && p.buy.Region != "" && len(p.with) == 0:
		return errors.New("--watcher and --region: the live cluster has the prices of its own region")
	case p.watcher == "" && len(p.files) == 0:
		return errors.New("nothing to plan for: name manifests or a snapshot with -f, or a watcher with --watcher; see kerf plan --help")
	}
	return nil
}

// run reads, asks and prints.
func (p *planFlags) run(ctx context.Context, std IO) error {
	in, err := p.load(ctx, std)
	std.warn(in.Warnings)
	if err != nil {
		return err
	}
	policy, err := p.policy.weigh(ctx, std.In, in.Policy)
	if err != nil {
		return err
	}
	req := &plannerpb.PlanRequest{
		Snapshot: in.Snapshot,
		Decide:   &plannerpb.Decide{Now: timestamppb.New(in.Now), Policy: policy},
	}
	decide := p.client.decider(p.planner)
	if len(p.with) > 0 {
		c, err := p.edit(ctx, std, &in, req)
		if err != nil {
			return err
		}
		if p.explain == "" {
			return p.preview(ctx, std, decide, req, c)
		}
		req, in.Snapshot = c.req, c.req.GetSnapshot()
	}
	return p.plan(ctx, std, decide, in, req)
}

// moreFiles takes the arguments that follow -f as files too, so that -f *.yaml does what it looks like.
func moreFiles(files *[]string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 && len(*files) == 0 {
			return fmt.Errorf("unexpected argument %q: name files with -f; see %s --help", args[0], c.CommandPath())
		}
		*files = append(*files, args...)
		return nil
	}
}

// load reads the input: files, or what the watcher sees. The catalogue is decoded only when manifests need it.
func (p *planFlags) load(ctx context.Context, std IO) (offline.Input, error) {
	var at time.Time
	if p.now != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, p.now); err != nil {
			return offline.Input{}, fmt.Errorf("--now %q: want a time such as 2026-01-31T12:00:00Z", p.now)
		}
	}
	if p.watcher != "" {
		req, trouble, err := fetch(ctx, p.client, p.watcher)
		if err != nil {
			return offline.Input{}, err
		}
		if at.IsZero() {
			at = std.Now()
		}
		return offline.Input{
			Source: p.watcher, Snapshot: req.GetSnapshot(), Currency: places.Currency(req.GetSnapshot()), Now: at, Policy: req.GetDecide().GetPolicy(), Warnings: trouble,
		}, nil
	}
	files, err := read(ctx, p.files, std.In)
	if err != nil {
		return offline.Input{}, err
	}
	asked := false
	in, err := offline.Load(files, offline.Options{At: at, Present: std.Now(), Strict: p.strict, World: func() (convert.World, error) {
		asked = true
		return p.world(std)()
	}})
	if p.buy.Region != "" && !asked && err == nil && len(p.with) == 0 {
		in.Warnings = append(in.Warnings, "--region "+p.buy.Region+" has no effect: a saved snapshot has the prices of its own region")
	}
	return in, err
}

// plan makes one plan and prints it; for people before advice is looked for, which takes a while.
func (p *planFlags) plan(ctx context.Context, std IO, decide preview.Decider, in offline.Input, req *plannerpb.PlanRequest) error {
	resp, err := interruptible(ctx, func() (*plannerpb.PlanResponse, error) { return decide(ctx, req) })
	switch {
	case err != nil && p.planner != "" && (unreachable(err) || noPlanner(err)): // the files have nothing to do with it
		return err
	case err != nil:
		return fmt.Errorf("%s: %w", in.Source, err)
	}
	view := render.PlanView{
		Plan: resp.GetPlan(), Snapshot: in.Snapshot, Currency: in.Currency, Policy: req.GetDecide().GetPolicy(), Gated: in.Gated, Assumed: in.Assumed,
	}
	if !p.out.json() {
		if err := p.print(std, view); err != nil {
			return err
		}
	}
	found, warning, err := p.advise(ctx, std, req, resp)
	if err != nil {
		return err
	}
	if warning != "" {
		std.warn([]string{warning})
		in.Warnings = append(in.Warnings, warning)
	}
	view.Advice = found
	if p.out.json() {
		err = p.out.write(std.Out, func(w io.Writer) error {
			if p.explain != "" {
				return render.ExplainJSON(w, view, p.explain)
			}
			return render.PlanJSON(w, resp, found, in.Warnings)
		})
	} else if len(found) > 0 {
		err = render.Advice(std.Out, view, std.style())
	}
	if err == nil && len(resp.GetPlan().GetPending()) > 0 {
		return errPending
	}
	return err
}

func (p *planFlags) print(std IO, view render.PlanView) error {
	if p.explain != "" {
		return render.Explain(std.Out, view, p.explain, std.style())
	}
	return render.Plan(std.Out, view, std.style())
}
