package watcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// DefaultPerNodeOverhead is what one more node counts for, where the config does not say: a tenth of a cent an hour,
// about the price of the smallest root disk. Of plans of one price the one with the fewest nodes wins by it, and no plan
// gets dearer by more than that for each node that it does without.
const DefaultPerNodeOverhead Dollars = 1000

// PolicyConfig is how plans weigh what the cluster's objects leave open. What is left out is the planner's default, but
// for PerNodeOverhead.
type PolicyConfig struct {
	// PerNodeOverhead is what one more node costs beside its price; left out, DefaultPerNodeOverhead. "0" means that only
	// the price counts.
	PerNodeOverhead *Dollars `json:"per_node_overhead"`
	// MinSaving is what a consolidation must save at least; left out, any saving will do.
	MinSaving *Dollars `json:"min_saving"`
	// MaxOfferingsPerClaim is how many ranked offerings a claim lists at most, 1 to 200; 0 means 60.
	MaxOfferingsPerClaim int32 `json:"max_offerings_per_claim"`
	// Preferences is what pods' wishes count for: "priced", "ignored" or "enforced"; "" means priced.
	Preferences string `json:"preferences"`
	// PreferencePrice is what one pod's wish of weight 1 is worth where they are priced; left out, "0.00001".
	PreferencePrice *Dollars `json:"preference_price"`
	// MinValues is what pools' minValues are: "strict" or "best-effort"; "" means strict.
	MinValues string `json:"min_values"`
	// DefaultSpread are the defaultConstraints of the scheduler's PodTopologySpread plugin, in its own words.
	DefaultSpread []corev1.TopologySpreadConstraint `json:"default_spread"`
	// Work is how many steps of about a microsecond the optimiser may take; 0 means as many as the cluster warrants, -1
	// only the quick start.
	Work int64 `json:"work"`
	// GapTarget is how near to the lowest price the optimiser must prove itself to stop; 0 means 0.003.
	GapTarget float64 `json:"gap_target"`
	// MaxPodsOfWorkloadPerNode is how many pods of one workload a new node is packed with at most; 0 means no cap.
	MaxPodsOfWorkloadPerNode int32 `json:"max_pods_of_workload_per_node"`
}

// maxOfferings is the planner's limit of MaxOfferingsPerClaim.
const maxOfferings = 200

// Validate implements config.Validator.
func (c PolicyConfig) Validate() error {
	var errs []error
	if n := c.MaxOfferingsPerClaim; n < 0 || n > maxOfferings {
		errs = append(errs, config.Errorf("max_offerings_per_claim",
			"%d is not between 1 and %d, nor 0 for the default", n, maxOfferings))
	}
	if c.Work < -1 {
		errs = append(errs, config.Errorf("work",
			"%d is too small: want a number of steps, 0 for as many as the cluster warrants, or -1 for only the quick start",
			c.Work))
	}
	if g := c.GapTarget; !(g >= 0 && g <= 1) {
		errs = append(errs, config.Errorf("gap_target", "%g is not a share: want 0 to 1, such as 0.01 for one per cent", g))
	}
	if n := c.MaxPodsOfWorkloadPerNode; n < 0 {
		errs = append(errs, config.Errorf("max_pods_of_workload_per_node",
			"%d is negative: want a number of pods, or 0 for no cap", n))
	}
	errs = append(errs, c.checkPreferences(), known("min_values", c.MinValues, minValues()))
	for i, s := range c.DefaultSpread {
		errs = append(errs, checkSpread(fmt.Sprintf("default_spread[%d]", i), s, c.DefaultSpread[:i]))
	}
	return errors.Join(errs...)
}

func (c PolicyConfig) checkPreferences() error {
	errs := []error{known("preferences", c.Preferences, preferences())}
	if p := c.PreferencePrice; p != nil {
		if *p == 0 {
			errs = append(errs, config.Errorf("preference_price", `0 is no price: want more, or preferences "ignored"`))
		}
		if c.Preferences != "" && c.Preferences != preferences()[0].name {
			errs = append(errs, config.Errorf("preference_price",
				"has no meaning where preferences are %q: leave it out, or make them %q", c.Preferences, preferences()[0].name))
		}
	}
	return errors.Join(errs...)
}

// checkSpread checks one constraint as the scheduler does, and that none of those before is for the same.
func checkSpread(field string, s corev1.TopologySpreadConstraint, before []corev1.TopologySpreadConstraint) error {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, config.Errorf(field+"."+name, format, args...))
	}
	if s.TopologyKey == "" {
		bad("topologyKey", "required: a label of nodes, such as %s", corev1.LabelTopologyZone)
	} else if wrong := validation.IsQualifiedName(s.TopologyKey); len(wrong) > 0 {
		bad("topologyKey", "%q is not a label's name: %s", s.TopologyKey, wrong[0])
	}
	if s.MaxSkew < 1 {
		bad("maxSkew", "%d is too small: want 1 or more", s.MaxSkew)
	}
	if w := s.WhenUnsatisfiable; w != corev1.DoNotSchedule && w != corev1.ScheduleAnyway {
		bad("whenUnsatisfiable", "%q is unknown: want %s or %s", w, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	}
	if s.LabelSelector != nil {
		bad("labelSelector", "leave it out: which pods are counted follows from each pod's services and owner")
	}
	if len(s.MatchLabelKeys) > 0 {
		bad("matchLabelKeys", "leave it out: which pods are counted follows from each pod's services and owner")
	}
	if d := s.MinDomains; d != nil && *d < 1 {
		bad("minDomains", "%d is too small: want 1 or more", *d)
	} else if d != nil && s.WhenUnsatisfiable != corev1.DoNotSchedule {
		bad("minDomains", "has a meaning only where whenUnsatisfiable is %s", corev1.DoNotSchedule)
	}
	inclusion := func(name string, p *corev1.NodeInclusionPolicy) {
		if p != nil && *p != corev1.NodeInclusionPolicyHonor && *p != corev1.NodeInclusionPolicyIgnore {
			bad(name, "%q is unknown: want %s or %s", *p, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		}
	}
	inclusion("nodeAffinityPolicy", s.NodeAffinityPolicy)
	inclusion("nodeTaintsPolicy", s.NodeTaintsPolicy)
	if slices.ContainsFunc(before, func(b corev1.TopologySpreadConstraint) bool {
		return b.TopologyKey == s.TopologyKey && b.WhenUnsatisfiable == s.WhenUnsatisfiable
	}) {
		errs = append(errs, config.Errorf(field,
			"topologyKey %s with %s is there twice: keep one", s.TopologyKey, s.WhenUnsatisfiable))
	}
	return errors.Join(errs...)
}

// policy is what the planner is told with each question. The config has been checked.
func (c PolicyConfig) policy() *clusterv1.Policy {
	overhead := DefaultPerNodeOverhead
	if c.PerNodeOverhead != nil {
		overhead = *c.PerNodeOverhead
	}
	out := &clusterv1.Policy{
		PerNodeOverheadMicroUsdPerHour: int64(overhead),
		MinSavingMicroUsdPerHour:       c.MinSaving.micro(),
		MaxOfferingsPerClaim:           c.MaxOfferingsPerClaim,
		Preferences:                    valueOf(c.Preferences, preferences()),
		PreferencePriceMicroUsdPerHour: c.PreferencePrice.micro(),
		MinValues:                      valueOf(c.MinValues, minValues()),
		Work:                           c.Work,
		GapTarget:                      c.GapTarget,
		MaxPodsOfWorkloadPerNode:       c.MaxPodsOfWorkloadPerNode,
	}
	for _, s := range c.DefaultSpread {
		out.DefaultSpread = append(out.DefaultSpread, &clusterv1.TopologySpread{
			TopologyKey: s.TopologyKey, MaxSkew: s.MaxSkew, MinDomains: s.MinDomains,
			Required:           s.WhenUnsatisfiable == corev1.DoNotSchedule,
			IgnoreNodeAffinity: s.NodeAffinityPolicy != nil && *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
			HonorTaints:        s.NodeTaintsPolicy != nil && *s.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		})
	}
	return out
}

// word is a value of the contract and its name in a config.
type word[T any] struct {
	name  string
	value T
}

// preferences are the words of PolicyConfig.Preferences, the default first.
func preferences() []word[clusterv1.PreferencePolicy] {
	return []word[clusterv1.PreferencePolicy]{
		{"priced", clusterv1.PreferencePolicy_PREFERENCE_POLICY_PRICED},
		{"ignored", clusterv1.PreferencePolicy_PREFERENCE_POLICY_IGNORED},
		{"enforced", clusterv1.PreferencePolicy_PREFERENCE_POLICY_ENFORCED},
	}
}

// minValues are the words of PolicyConfig.MinValues, the default first.
func minValues() []word[clusterv1.MinValuesPolicy] {
	return []word[clusterv1.MinValuesPolicy]{
		{"strict", clusterv1.MinValuesPolicy_MIN_VALUES_POLICY_STRICT},
		{"best-effort", clusterv1.MinValuesPolicy_MIN_VALUES_POLICY_BEST_EFFORT},
	}
}

// known checks that a field is empty or one of the words.
func known[T any](field, name string, words []word[T]) error {
	var names []string
	for _, w := range words {
		if name == "" || w.name == name {
			return nil
		}
		names = append(names, strconv.Quote(w.name))
	}
	last := len(names) - 1
	return config.Errorf(field, "%q is unknown: want %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

// valueOf is the value of a known word; the first one's where there is none.
func valueOf[T any](name string, words []word[T]) T {
	for _, w := range words {
		if w.name == name {
			return w.value
		}
	}
	return words[0].value
}

// Dollars is money per hour in micro-dollars, which a config spells in decimal dollars: "0.002". Plain numbers are
// refused, because what is read from them need not be what was written.
type Dollars int64

const (
	microPerDollar = 1_000_000
	microDigits    = 6
	// maxDollarDigits keeps what is added up far from the range's end.
	maxDollarDigits = 6
)

// UnmarshalJSON implements json.Unmarshaler.
func (d *Dollars) UnmarshalJSON(data []byte) error {
	const want = `want decimal dollars per hour in quotes, such as "0.002"`
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s is not an amount: %s", data, want)
	}
	whole, fraction, point := strings.Cut(s, ".")
	switch {
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%q is negative: %s", s, want)
	case !digits(whole) || point && !digits(fraction):
		return fmt.Errorf("%q is not an amount: %s", s, want)
	case len(fraction) > microDigits:
		return fmt.Errorf("%q is finer than a millionth of a dollar: want %d decimals at most", s, microDigits)
	case len(whole) > maxDollarDigits:
		return fmt.Errorf("%q is too much: want less than a million dollars per hour", s)
	}
	micro, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", microDigits-len(fraction)), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an amount: %s", s, want)
	}
	*d = Dollars(micro)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Dollars) MarshalJSON() ([]byte, error) {
	s := fmt.Sprintf("%d.%0*d", d/microPerDollar, microDigits, d%microPerDollar)
	return json.Marshal(strings.TrimSuffix(strings.TrimRight(s, "0"), "."))
}

// micro is the amount in micro-dollars, 0 for none.
func (d *Dollars) micro() int64 {
	if d == nil {
		return 0
	}
	return int64(*d)
}

// digits says that s has digits and nothing else.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
