package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/kubeconfig"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
	"github.com/kerf-dev/kerf/services/kerf/internal/shadow"
	"github.com/kerf-dev/kerf/services/watcher"
)

// leastInterval keeps a shadow from planning without a pause.
const leastInterval = time.Second

// shadowFlags are the flags of kerf shadow. The catalogue and the zones are those of a plan.
type shadowFlags struct {
	plan       planFlags
	kubeconfig string
	context    string
	interval   time.Duration
	forTime    time.Duration
	once       bool
}

func newShadow(std IO) *cobra.Command {
	var flags shadowFlags
	c := &cobra.Command{
		Use:   "shadow",
		Short: "Watch a cluster that Karpenter runs, and report what Kerf would do",
		Long: `Shadow reads the same objects as Karpenter (NodePools, EC2NodeClasses, NodeClaims,
nodes, pods), plans for them, and reports what Kerf would do: what it would launch and
remove, as that changes, and what the cluster costs now and would cost. It adds up until
it is interrupted.

It needs rights to read, such as those of the watcher, and changes nothing: it has no
actuator and no AWS credentials. Prices and shapes are those of the catalogue; what AWS
resolves of a node class comes from its status.`,
		Example: `  kerf shadow --kubeconfig ~/.kube/config --once
  kerf shadow --for 24h --interval 1m -o json > shadow.jsonl`,
		Args: noArguments,
	}
	f := c.Flags()
	f.StringVar(&flags.kubeconfig, "kubeconfig", "", "`file` to connect with; by default as kubectl does, or as the pod that this runs in")
	f.StringVar(&flags.context, "context", "", "`name` of the kubeconfig's context to use, instead of the current one")
	complete(c, "context", func() []string { return kubeconfig.Contexts(flags.kubeconfig) })
	f.DurationVar(&flags.interval, "interval", time.Minute, "the `duration` between a plan and the next one")
	f.DurationVar(&flags.forTime, "for", 0, "the `duration` to watch for, such as 24h; until interrupted by default")
	f.BoolVar(&flags.once, "once", false, "make one plan, and show it in full")
	f.IntVar(&flags.plan.rounds, "rounds", 10, "how many `plans` are played through, one after the other, to see where they lead")
	f.StringVar(&flags.plan.planner, "planner", "", "let the planner at this `address` plan; this process does by default")
	f.StringVar(&flags.plan.buy.Catalog, "catalog", "", "`file` with instance types and prices, instead of the ones that are built in")
	flags.plan.addRegion(c)
	f.StringSliceVar(&flags.plan.buy.Zones, "zones", nil, "the `zones` that there are subnets in, where a node class's status does not say")
	addENIs(f, &flags.plan.buy.ENIs)
	flags.plan.policy = addPolicy(c)
	flags.plan.out = addOutput(c, "table")
	flags.plan.completeZones(c)
	flags.plan.client = addClient(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		return flags.run(cmd, std)
	}
	return c
}

func (s *shadowFlags) check() error {
	switch {
	case s.interval < leastInterval:
		return fmt.Errorf("--interval %s: want %s or more", s.interval, leastInterval)
	case s.forTime < 0:
		return fmt.Errorf("--for %s: want a time such as 24h, or 0 for no end", s.forTime)
	case s.once && s.forTime > 0:
		return errors.New("--once and --for: want one of them")
	case s.plan.rounds < 1 || s.plan.rounds > mostRounds:
		return fmt.Errorf("--rounds %d: want 1 to %d", s.plan.rounds, mostRounds)
	}
	return nil
}

func (s *shadowFlags) run(cmd *cobra.Command, std IO) error {
	policy, err := s.plan.policy.weigh(cmd.Context(), std.In, nil)
	if err != nil {
		return err
	}
	where, err := s.plan.world(std)()
	if err != nil {
		return err
	}
	observer, err := watcher.NewObserver(watcher.ObserverConfig{
		Kubeconfig: s.kubeconfig, Context: s.context, UserAgent: "kerf-shadow/" + boot.ReadVersion().Version,
		Log: slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn})), Now: std.Now,
	})
	if err != nil {
		return fmt.Errorf("%w (here: --kubeconfig and --context)", err)
	}
	cfg := shadow.Config{
		Source: shadow.Observed(observer), Decide: s.plan.client.decider(s.plan.planner), Policy: policy, World: where,
		Interval: s.interval, For: s.forTime, Rounds: s.plan.rounds, Now: std.Now,
	}
	if s.once {
		cfg.Plans = 1
	}
	var last *shadow.Report
	cfg.Report = func(r shadow.Report) error {
		before := last
		last = &r
		return s.report(std, r, before)
	}
	err = shadow.Run(cmd.Context(), cfg)
	if last == nil || s.once || s.plan.out.json() {
		return err
	}
	// The totals of hours are printed, whatever ended it.
	style := std.style()
	style.Currency = places.Currency(last.Snapshot)
	return errors.Join(render.ShadowTotal(std.Out, last.Total, style), err)
}

func (s *shadowFlags) report(std IO, r shadow.Report, before *shadow.Report) error {
	switch {
	case s.plan.out.json():
		return s.plan.out.write(std.Out, func(w io.Writer) error { return render.ShadowJSON(w, r) })
	case s.once:
		if err := render.Shadow(std.Out, shadow.Report{Time: r.Time, Snapshot: r.Snapshot, Run: r.Run}, nil, std.style()); err != nil {
			return err
		}
		fmt.Fprintln(std.Out)
		return render.Plan(std.Out, render.PlanView{Plan: r.Run.First, Snapshot: r.Snapshot, Currency: places.Currency(r.Snapshot), Assumed: r.Notes}, std.style())
	default:
		return render.Shadow(std.Out, r, before, std.style())
	}
}
