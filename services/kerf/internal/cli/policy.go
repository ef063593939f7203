package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/policy"
)

// policyFlags are how to weigh what the cluster's objects leave open; the zero value is the planner's defaults.
type policyFlags struct {
	preferences   choice
	minValues     choice
	defaultSpread string
	work          int64
	gapTarget     float64
	podsPerNode   int32
	overhead      moneyFlag
	minSaving     moneyFlag
	schedulers    []string
	file          string

	flags *pflag.FlagSet
}

func addPolicy(c *cobra.Command) *policyFlags {
	f := c.Flags()
	p := &policyFlags{flags: f, preferences: choice{of: policy.PreferenceWords()}, minValues: choice{of: policy.MinValuesWords()}}
	f.Var(&p.preferences, "preferences", "what pods' preferences count for: priced (default; kept where that is cheap), ignored or enforced")
	f.Var(&p.minValues, "min-values", "what pools' minValues are: strict (default) or best-effort")
	f.StringVar(&p.defaultSpread, "default-spread", "", "spread of pods that ask for none: system (the scheduler's own), or a `file` with a KubeSchedulerConfiguration or a list of constraints")
	f.Int32Var(&p.podsPerNode, "max-pods-of-workload-per-node", 0, "how many pods of one workload a new node is packed with at most; left out, there is no cap")
	f.Int64Var(&p.work, "work", 0, "`steps` of about a microsecond for the optimiser, 0 for the greedy pass only; left out, as many as the input warrants")
	f.Float64Var(&p.gapTarget, "gap-target", 0, "stop once the cost is proven to be that near to the lowest, such as 0.01; left out, 0.003")
	f.Var(&p.overhead, "per-node-overhead", "what one more node costs beside its price, in `dollars` an hour; it makes few larger nodes win; left out, 0.001")
	f.StringVar(&p.file, "policy", "", "`file` with a policy, in the words of the watcher's config; the other flags override it")
	f.Var(&p.minSaving, "min-saving", "what a consolidation must save at least, in `dollars` an hour")
	f.StringSliceVar(&p.schedulers, "scheduler-names", nil, "the `schedulers` whose pods are planned for; left out, default-scheduler alone")
	complete(c, "preferences", policy.PreferenceWords)
	complete(c, "min-values", policy.MinValuesWords)
	return p
}

// policy is what the flags say. Errors name the flag and what would be right.
func (p *policyFlags) policy(ctx context.Context, stdin io.Reader) (*clusterpb.Policy, error) {
	said := policy.Config{
		Preferences: p.preferences.word, MinValues: p.minValues.word,
		Work: given(p.flags, "work", &p.work), GapTarget: given(p.flags, "gap-target", &p.gapTarget),
		MaxPodsOfWorkloadPerNode: given(p.flags, "max-pods-of-workload-per-node", &p.podsPerNode),
		PerNodeOverhead:          given(p.flags, "per-node-overhead", &p.overhead.Dollars), MinSaving: &p.minSaving.Dollars,
		SchedulerNames: p.schedulers,
	}
	var wrong *config.FieldError
	if err := config.Check(said); errors.As(err, &wrong) {
		return nil, fmt.Errorf("--%s %s", strings.ReplaceAll(wrong.Field, "_", "-"), wrong.Problem)
	}
	spread, err := p.spread(ctx, stdin)
	if err != nil {
		return nil, err
	}
	out := said.Proto()
	out.DefaultSpread = spread
	return out, nil
}

// given is a flag's value, nil where the flag is not given.
func given[T any](f *pflag.FlagSet, name string, value *T) *T {
	if !f.Changed(name) {
		return nil
	}
	return value
}

func (p *policyFlags) spread(ctx context.Context, stdin io.Reader) ([]*clusterpb.TopologySpread, error) {
	switch p.defaultSpread {
	case "":
		return nil, nil
	case "system":
		return systemSpread(), nil
	}
	files, err := read(ctx, []string{p.defaultSpread}, stdin)
	if err != nil {
		return nil, fmt.Errorf("--default-spread: %w", err)
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("--default-spread %s: want system, or one file", p.defaultSpread)
	}
	out, err := readSpread(files[0].Data)
	if err != nil {
		return nil, fmt.Errorf("--default-spread %s: %w", p.defaultSpread, err)
	}
	return out, nil
}

// systemSpread is what kube-scheduler does unless its configuration says otherwise.
func systemSpread() []*clusterpb.TopologySpread {
	return []*clusterpb.TopologySpread{
		{TopologyKey: corev1.LabelHostname, MaxSkew: 3},
		{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 5},
	}
}

// schedulerConfig is the part of a KubeSchedulerConfiguration that default constraints are in.
type schedulerConfig struct {
	Kind     string `json:"kind"`
	Profiles []struct {
		SchedulerName string `json:"schedulerName"`
		PluginConfig  []struct {
			Name string `json:"name"`
			Args struct {
				DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints"`
				DefaultingType     string                            `json:"defaultingType"`
			} `json:"args"`
		} `json:"pluginConfig"`
	} `json:"profiles"`
}

// readSpread reads a KubeSchedulerConfiguration, or a list of constraints alone.
func readSpread(data []byte) ([]*clusterpb.TopologySpread, error) {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(asJSON, []byte("[")) {
		var list []corev1.TopologySpreadConstraint
		if err := yaml.UnmarshalStrict(asJSON, &list); err != nil {
			return nil, err
		}
		return policy.Spread("", list)
	}
	var cfg schedulerConfig
	if err := yaml.Unmarshal(asJSON, &cfg); err != nil {
		return nil, err
	}
	if cfg.Kind != "KubeSchedulerConfiguration" {
		return nil, fmt.Errorf("kind %q: want a KubeSchedulerConfiguration, or a list of constraints", cfg.Kind)
	}
	for i, p := range cfg.Profiles {
		if p.SchedulerName != "" && p.SchedulerName != corev1.DefaultSchedulerName {
			continue
		}
		for j, c := range p.PluginConfig {
			if c.Name != "PodTopologySpread" {
				continue
			}
			if c.Args.DefaultingType != "List" {
				return systemSpread(), nil
			}
			return policy.Spread(fmt.Sprintf("profiles[%d].pluginConfig[%d].args.defaultConstraints", i, j), c.Args.DefaultConstraints)
		}
	}
	return systemSpread(), nil
}

// choice is a flag that is one of a few words; its zero value is that none was said.
type choice struct {
	of   []string
	word string
}

// String implements pflag.Value.
func (c *choice) String() string { return c.word }

// Type implements pflag.Value.
func (c *choice) Type() string { return "policy" }

// Set implements pflag.Value.
func (c *choice) Set(v string) error {
	if !slices.Contains(c.of, v) {
		return errors.New("want one of " + strings.Join(c.of, ", "))
	}
	c.word = v
	return nil
}

// moneyFlag is an amount of money on the command line, spelt as in a policy.
type moneyFlag struct{ policy.Dollars }

// String implements pflag.Value.
func (m *moneyFlag) String() string {
	if m.Dollars == 0 {
		return ""
	}
	return m.Dollars.String()
}

// Type implements pflag.Value.
func (m *moneyFlag) Type() string { return "dollars" }

// Set implements pflag.Value.
func (m *moneyFlag) Set(v string) (err error) {
	m.Dollars, err = policy.ParseDollars(v)
	return err
}
