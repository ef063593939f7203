package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// policyFlags are how to weigh what the cluster's objects leave open; the zero value is the planner's defaults.
type policyFlags struct {
	preferences   choice[clusterv1.PreferencePolicy]
	minValues     choice[clusterv1.MinValuesPolicy]
	defaultSpread string
	work          int64
	gapTarget     float64
	podsPerNode   int32
	overhead      moneyFlag
	minSaving     moneyFlag
}

func addPolicy(f *pflag.FlagSet) *policyFlags {
	p := &policyFlags{
		preferences: choice[clusterv1.PreferencePolicy]{of: []option[clusterv1.PreferencePolicy]{
			{"priced", clusterv1.PreferencePolicy_PREFERENCE_POLICY_PRICED},
			{"ignored", clusterv1.PreferencePolicy_PREFERENCE_POLICY_IGNORED},
			{"enforced", clusterv1.PreferencePolicy_PREFERENCE_POLICY_ENFORCED},
		}},
		minValues: choice[clusterv1.MinValuesPolicy]{of: []option[clusterv1.MinValuesPolicy]{
			{"strict", clusterv1.MinValuesPolicy_MIN_VALUES_POLICY_STRICT},
			{"best-effort", clusterv1.MinValuesPolicy_MIN_VALUES_POLICY_BEST_EFFORT},
		}},
	}
	f.Var(&p.preferences, "preferences", "what pods' wishes count for: priced (default; kept where that is cheap), ignored or enforced")
	f.Var(&p.minValues, "min-values", "what pools' minValues are: strict (default) or best-effort")
	f.StringVar(&p.defaultSpread, "default-spread", "", "spread of pods that ask for none: system (the scheduler's own), or a `file` with a KubeSchedulerConfiguration or a list of constraints")
	f.Int32Var(&p.podsPerNode, "max-pods-of-workload-per-node", 0, "how many pods of one workload a new node is packed with at most; 0 means no cap")
	f.Int64Var(&p.work, "work", 0, "`steps` of about a microsecond for the optimiser; 0 means as many as the input warrants, -1 only the quick start")
	f.Float64Var(&p.gapTarget, "gap-target", 0, "stop once the cost is proven to be that near to the lowest, such as 0.01; 0 means 0.003")
	f.Var(&p.overhead, "per-node-overhead", "what one more node costs beside its price, in `dollars` an hour; it makes few larger nodes win")
	f.Var(&p.minSaving, "min-saving", "what a consolidation must save at least, in `dollars` an hour")
	return p
}

// policy is what the flags say, nil when they say nothing. Errors name the flag and what would be right.
func (p *policyFlags) policy(stdin io.Reader) (*clusterv1.Policy, error) {
	switch {
	case p.work < -1:
		return nil, fmt.Errorf("--work %d: want a number of steps, 0 for as many as the input warrants, or -1 for only the quick start", p.work)
	case !(p.gapTarget >= 0 && p.gapTarget <= 1):
		return nil, fmt.Errorf("--gap-target %g: want a share from 0 to 1, such as 0.01 for one per cent", p.gapTarget)
	case p.podsPerNode < 0:
		return nil, fmt.Errorf("--max-pods-of-workload-per-node %d: want a number of pods, or 0 for no cap", p.podsPerNode)
	}
	spread, err := p.spread(stdin)
	if err != nil {
		return nil, err
	}
	return &clusterv1.Policy{
		Preferences: p.preferences.value, MinValues: p.minValues.value, DefaultSpread: spread,
		Work: p.work, GapTarget: p.gapTarget, MaxPodsOfWorkloadPerNode: p.podsPerNode,
		PerNodeOverheadMicroUsdPerHour: int64(p.overhead), MinSavingMicroUsdPerHour: int64(p.minSaving),
	}, nil
}

func (p *policyFlags) spread(stdin io.Reader) ([]*clusterv1.TopologySpread, error) {
	switch p.defaultSpread {
	case "":
		return nil, nil
	case "system":
		return systemSpread(), nil
	}
	files, err := offline.Read([]string{p.defaultSpread}, stdin)
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
func systemSpread() []*clusterv1.TopologySpread {
	return []*clusterv1.TopologySpread{
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
func readSpread(data []byte) ([]*clusterv1.TopologySpread, error) {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(asJSON, []byte("[")) {
		var list []corev1.TopologySpreadConstraint
		if err := yaml.UnmarshalStrict(asJSON, &list); err != nil {
			return nil, err
		}
		return constraints("", list)
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
			return constraints(fmt.Sprintf("profiles[%d].pluginConfig[%d].args.defaultConstraints", i, j), c.Args.DefaultConstraints)
		}
	}
	return systemSpread(), nil
}

func constraints(path string, list []corev1.TopologySpreadConstraint) ([]*clusterv1.TopologySpread, error) {
	var out []*clusterv1.TopologySpread
	for i, c := range list {
		at := fmt.Sprintf("%s[%d].", path, i)
		switch {
		case c.TopologyKey == "":
			return nil, fmt.Errorf("%stopologyKey: is missing", at)
		case c.MaxSkew < 1:
			return nil, fmt.Errorf("%smaxSkew: %d: want 1 or more", at, c.MaxSkew)
		case c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
			return nil, fmt.Errorf("%swhenUnsatisfiable: %q: want DoNotSchedule or ScheduleAnyway", at, c.WhenUnsatisfiable)
		case c.LabelSelector != nil || len(c.MatchLabelKeys) > 0:
			return nil, fmt.Errorf("%slabelSelector: is set; default constraints take each pod's own, from its services and owner", at)
		}
		out = append(out, &clusterv1.TopologySpread{
			TopologyKey: c.TopologyKey, MaxSkew: c.MaxSkew, Required: c.WhenUnsatisfiable == corev1.DoNotSchedule,
			MinDomains:         c.MinDomains,
			IgnoreNodeAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
			HonorTaints:        c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		})
	}
	return out, nil
}

// option is a value of a flag, and the word for it.
type option[T comparable] struct {
	word  string
	value T
}

// choice is a flag that is one of a few words; its zero value is that none was said.
type choice[T comparable] struct {
	of    []option[T]
	value T
}

// String implements pflag.Value.
func (c *choice[T]) String() string {
	var none T
	for _, o := range c.of {
		if o.value == c.value && c.value != none {
			return o.word
		}
	}
	return ""
}

// Type implements pflag.Value.
func (c *choice[T]) Type() string { return "policy" }

// Set implements pflag.Value.
func (c *choice[T]) Set(v string) error {
	i := slices.IndexFunc(c.of, func(o option[T]) bool { return o.word == v })
	if i >= 0 {
		c.value = c.of[i].value
		return nil
	}
	words := make([]string, len(c.of))
	for i, o := range c.of {
		words[i] = o.word
	}
	return errors.New("want one of " + strings.Join(words, ", "))
}

// moneyFlag is dollars on the command line and micro-dollars behind it.
type moneyFlag int64

// String implements pflag.Value.
func (m *moneyFlag) String() string {
	if *m == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*m)/1e6, 'f', -1, 64)
}

// Type implements pflag.Value.
func (m *moneyFlag) Type() string { return "dollars" }

// Set implements pflag.Value.
func (m *moneyFlag) Set(v string) error {
	const most = 1e6
	f, err := strconv.ParseFloat(strings.TrimPrefix(v, "$"), 64)
	if err != nil || !(f >= 0 && f <= most) {
		return errors.New("want dollars an hour, such as 0.005")
	}
	*m = moneyFlag(math.Round(f * 1e6))
	return nil
}
