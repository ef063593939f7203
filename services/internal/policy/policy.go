// Package policy reads and checks how plans weigh what the cluster's objects leave open. There is one form of it, with the
// same words and the same defaults, whether it stands in the watcher's config or in a file of its own.
//
// It turns text into the contract's message, says which field is wrong and what would be right, and must never know how a
// plan is made. Start reading at Config.
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Config is a policy as users write it. What is left out is the planner's default, the same for every caller; 0 means zero.
type Config struct {
	// PerNodeOverhead is what one more node costs an hour beside its price; left out, "0.001". "0" means that only the
	// price counts.
	PerNodeOverhead *Dollars `json:"per_node_overhead"`
	// MinSaving is what a consolidation must save an hour at least; left out, any saving will do.
	MinSaving *Dollars `json:"min_saving"`
	// MaxOfferingsPerClaim is how many ranked offerings a claim lists at most, 1 to 200; left out, 60.
	MaxOfferingsPerClaim *int32 `json:"max_offerings_per_claim"`
	// Preferences is what pods' preferences (preferred affinity, ScheduleAnyway, PreferNoSchedule) count for: "priced",
	// kept where that costs no more than they are worth; "ignored"; "enforced", requirements unless they can't be met;
	// left out, "priced".
	Preferences string `json:"preferences"`
	// PreferencePrice is what one pod's preference of weight 1 is worth an hour where they are priced; left out, "0.00001".
	PreferencePrice *Dollars `json:"preference_price"`
	// MinValues is what pools' minValues are: "strict", or else no node; "best-effort", as many as are available, but
	// no node is replaced to save money by one with fewer; left out, "strict".
	MinValues string `json:"min_values"`
	// DefaultSpread are the defaultConstraints of the scheduler's PodTopologySpread plugin, in its own words; left out,
	// none.
	DefaultSpread []corev1.TopologySpreadConstraint `json:"default_spread"`
	// Work is how many steps of about a microsecond the optimiser may take; left out, as many as the cluster warrants.
	// 0 means the greedy pass only.
	Work *int64 `json:"work"`
	// GapTarget is how near to the lowest price the optimiser must prove itself to stop, as a share; left out, 0.003.
	GapTarget *float64 `json:"gap_target"`
	// MaxPodsOfWorkloadPerNode is how many pods of one workload a new node is packed with at most, 1 or more, nodes of
	// static pools aside. No disruption moves more to a node. Left out, there is no cap.
	MaxPodsOfWorkloadPerNode *int32 `json:"max_pods_of_workload_per_node"`
	// EvictionPrice is what it costs to evict one ordinary pod by choice; left out, "0.001". "0" means nothing.
	EvictionPrice *Dollars `json:"eviction_price"`
	// Payback is how soon what a disruption for money saves must make up for its evictions; left out, 1h.
	Payback *config.Duration `json:"payback"`
	// PodRest is how long a pod that came in the place of one that was moved by choice is left alone, 6h at most; left out,
	// 30m. "0s" means not at all.
	PodRest *config.Duration `json:"pod_rest"`
	// RoomWait is for how long pods are let wait for the room of pods that are being deleted, in the place of a new
	// node, 2m at most: those whose grace ends within that time count as gone; left out, 30s. "0s" means not at all.
	RoomWait *config.Duration `json:"room_wait"`
	// DisruptionTrials is how many sets of nodes a plan tries to remove at most; left out, as many as the number of nodes
	// warrants.
	DisruptionTrials *int64 `json:"disruption_trials"`
	// Repair says when nodes are unhealthy; left out, what AWS says of its nodes.
	Repair *Repair `json:"repair"`
	// SchedulerNames are the schedulers whose pods are planned for, by spec.schedulerName; left out,
	// "default-scheduler" alone. Pods of others stay pending, and are not moved.
	SchedulerNames []string `json:"scheduler_names"`
}

// Read reads a policy from YAML or JSON. Unknown and repeated fields, and a second document, are errors.
func Read(data []byte) (Config, error) {
	var c Config
	if err := oneDocument(data); err != nil {
		return c, err
	}
	asJSON, err := sigsyaml.YAMLToJSONStrict(data)
	if err != nil {
		return c, err
	}
	return c, config.Decode(asJSON, &c)
}

func oneDocument(data []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	for documents := 0; ; documents++ {
		var n yaml.Node
		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case documents > 0:
			return errors.New("there is a second document: want one policy")
		}
	}
}

// Validate implements config.Validator. It says nothing of Repair, which has a Validate of its own: see config.Check.
func (c Config) Validate() error {
	var errs []error
	if n := c.MaxOfferingsPerClaim; n != nil && (*n < 1 || *n > model.MostOfferings) {
		errs = append(errs, config.Errorf("max_offerings_per_claim",
			"%d is not between 1 and %d; leave it out for the default", *n, model.MostOfferings))
	}
	if n := c.Work; n != nil && *n < 0 {
		errs = append(errs, config.Errorf("work",
			"%d is negative: want a number of steps, or 0 for the greedy pass only; leave it out for as many as the cluster warrants", *n))
	}
	if g := c.GapTarget; g != nil && !(*g >= 0 && *g <= 1) {
		errs = append(errs, config.Errorf("gap_target", "%g is not a share: want 0 to 1, such as 0.01 for one per cent", *g))
	}
	if n := c.MaxPodsOfWorkloadPerNode; n != nil && *n < 1 {
		errs = append(errs, config.Errorf("max_pods_of_workload_per_node",
			"%d is too small: want 1 or more pods; leave it out for no cap", *n))
	}
	_, wrong := Spread("default_spread", c.DefaultSpread)
	errs = append(errs, c.checkPreferences(), known("min_values", c.MinValues, minValues()), c.checkDisruption(), c.checkSchedulers(), wrong)
	return errors.Join(errs...)
}

func (c Config) checkPreferences() error {
	errs := []error{known("preferences", c.Preferences, preferences())}
	if p := c.PreferencePrice; p != nil {
		if c.Preferences != "" && c.Preferences != preferences()[0].name {
			errs = append(errs, config.Errorf("preference_price",
				"has no meaning where preferences are %q: leave it out, or make them %q", c.Preferences, preferences()[0].name))
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkDisruption() error {
	var errs []error
	if d := c.Payback; d != nil && *d <= 0 {
		errs = append(errs, config.Errorf("payback",
			`%s is no time in which anything pays: want more, such as "1h"; to keep nodes, give their pools consolidateAfter: Never`,
			d))
	}
	switch d := c.PodRest; {
	case d == nil:
	case *d < 0:
		errs = append(errs, config.Errorf("pod_rest", `%s is negative: want a duration such as "30m", or "0s" for no rest`, d))
	case time.Duration(*d) > model.LongestPodRest:
		errs = append(errs, config.Errorf("pod_rest",
			`%s is longer than it is remembered which pods were moved: want "%gh" at most`, d, model.LongestPodRest.Hours()))
	}
	switch d := c.RoomWait; {
	case d == nil:
	case *d < 0:
		errs = append(errs, config.Errorf("room_wait", `%s is negative: want a duration such as "30s", or "0s" to wait for no room`, d))
	case time.Duration(*d) > model.LongestRoomWait:
		errs = append(errs, config.Errorf("room_wait", `%s is longer than any node takes to start: want "%gm" at most`, d, model.LongestRoomWait.Minutes()))
	}
	if n := c.DisruptionTrials; n != nil && *n < 0 {
		errs = append(errs, config.Errorf("disruption_trials",
			"%d is negative: want a number of sets; leave it out for as many as the number of nodes warrants", *n))
	}
	return errors.Join(errs...)
}

func (c Config) checkSchedulers() error {
	for i, name := range c.SchedulerNames {
		at := fmt.Sprintf("scheduler_names[%d]", i)
		switch {
		case name == "" || strings.ContainsAny(name, "* ,"):
			return config.Errorf(at, `%q is no scheduler's name: want what pods have in spec.schedulerName, such as "default-scheduler"`, name)
		case slices.Contains(c.SchedulerNames[:i], name):
			return config.Errorf(at, "%s is there twice", name)
		}
	}
	return nil
}

// Proto is the policy as a planner reads it. The config has been checked.
func (c Config) Proto() *clusterpb.Policy {
	spread, _ := Spread("", c.DefaultSpread) // checked
	return &clusterpb.Policy{
		PerNodeOverheadMicroUsdPerHour: c.PerNodeOverhead.said(),
		MinSavingMicroUsdPerHour:       c.MinSaving.micro(),
		MaxOfferingsPerClaim:           c.MaxOfferingsPerClaim,
		Preferences:                    valueOf(c.Preferences, preferences()),
		PreferencePriceMicroUsdPerHour: c.PreferencePrice.said(),
		MinValues:                      valueOf(c.MinValues, minValues()),
		DefaultSpread:                  spread,
		Work:                           c.Work,
		GapTarget:                      c.GapTarget,
		MaxPodsOfWorkloadPerNode:       c.MaxPodsOfWorkloadPerNode,
		EvictionPriceMicroUsd:          c.EvictionPrice.said(),
		Payback:                        span(c.Payback),
		PodRest:                        span(c.PodRest),
		RoomWait:                       span(c.RoomWait),
		DisruptionTrials:               c.DisruptionTrials,
		Repair:                         c.Repair.proto(),
		SchedulerNames:                 slices.Sorted(slices.Values(c.SchedulerNames)),
	}
}

// word is a value of the contract and its name in a config.
type word[T any] struct {
	name  string
	value T
}

// preferences are the words of Config.Preferences, the default first.
func preferences() []word[clusterpb.PreferencePolicy] {
	return []word[clusterpb.PreferencePolicy]{
		{"priced", clusterpb.PreferencePolicy_PREFERENCE_POLICY_PRICED},
		{"ignored", clusterpb.PreferencePolicy_PREFERENCE_POLICY_IGNORED},
		{"enforced", clusterpb.PreferencePolicy_PREFERENCE_POLICY_ENFORCED},
	}
}

// minValues are the words of Config.MinValues, the default first.
func minValues() []word[clusterpb.MinValuesPolicy] {
	return []word[clusterpb.MinValuesPolicy]{
		{"strict", clusterpb.MinValuesPolicy_MIN_VALUES_POLICY_STRICT},
		{"best-effort", clusterpb.MinValuesPolicy_MIN_VALUES_POLICY_BEST_EFFORT},
	}
}

// PreferenceWords are the words of Config.Preferences, the default first.
func PreferenceWords() []string { return names(preferences()) }

// MinValuesWords are the words of Config.MinValues, the default first.
func MinValuesWords() []string { return names(minValues()) }

func names[T any](words []word[T]) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.name)
	}
	return out
}

// known checks that a field is empty or one of the words.
func known[T any](field, name string, words []word[T]) error {
	var quoted []string
	for _, w := range words {
		if name == "" || w.name == name {
			return nil
		}
		quoted = append(quoted, strconv.Quote(w.name))
	}
	return config.Errorf(field, "%q is unknown: want %s", name, oneOf(quoted))
}

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// valueOf is the value of a known word; where there is none, the one that leaves it to the planner.
func valueOf[T any](name string, words []word[T]) (value T) {
	for _, w := range words {
		if w.name == name {
			return w.value
		}
	}
	return value
}

// maxPercent is all of a pool's nodes.
const maxPercent = 100
