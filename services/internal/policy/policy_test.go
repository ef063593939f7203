package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/policy"
)

func TestPolicyOfAConfigIsWhatThePlannerIsTold(t *testing.T) {
	const (
		priced   = clusterpb.PreferencePolicy_PREFERENCE_POLICY_PRICED
		ignored  = clusterpb.PreferencePolicy_PREFERENCE_POLICY_IGNORED
		enforced = clusterpb.PreferencePolicy_PREFERENCE_POLICY_ENFORCED
		strict   = clusterpb.MinValuesPolicy_MIN_VALUES_POLICY_STRICT
		honor    = clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
		ignore   = clusterpb.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
		best     = clusterpb.MinValuesPolicy_MIN_VALUES_POLICY_BEST_EFFORT
	)
	for name, tc := range map[string]struct {
		json string
		want *clusterpb.Policy
	}{
		"nothing said": {`{}`, &clusterpb.Policy{}},
		"nodes that count for nothing but their price": {
			`{"per_node_overhead": "0"}`, &clusterpb.Policy{PerNodeOverheadMicroUsdPerHour: new(int64(0))},
		},
		"the greedy start alone": {
			`{"per_node_overhead": "0.0", "work": 0}`, &clusterpb.Policy{PerNodeOverheadMicroUsdPerHour: new(int64(0)), Work: new(int64(0))},
		},
		"the defaults in words": {
			`{"preferences": "priced", "min_values": "strict"}`,
			&clusterpb.Policy{Preferences: priced, MinValues: strict},
		},
		"preferences that count for nothing": {
			`{"preferences": "ignored"}`,
			&clusterpb.Policy{Preferences: ignored},
		},
		"evictions that cost nothing": {
			`{"eviction_price": "0.000"}`,
			&clusterpb.Policy{EvictionPriceMicroUsd: new(int64(0))},
		},
		"nodes that stay however unhealthy they are": {
			`{"repair": {"off": true}}`,
			&clusterpb.Policy{
				Repair: &clusterpb.RepairPolicy{Off: true},
			},
		},
		"everything": {
			`{"per_node_overhead": "12.5", "min_saving": "0.01", "max_offerings_per_claim": 200, "preferences": "priced",
			"preference_price": "0.000001", "min_values": "best-effort", "work": 5000000000, "gap_target": 0.01,
			"max_pods_of_workload_per_node": 7, "eviction_price": "0.0025", "payback": "1h30m", "pod_rest": "0s", "room_wait": "45s", "disruption_trials": 500,
			"repair": {"max_unhealthy_percent": 10, "conditions": [{"type": "Ready", "status": "Unknown", "after": "5m"},
			{"type": "example.com/DiskFull", "status": "True", "after": "1h"}]}, "default_spread": [
			{"topologyKey": "kubernetes.io/hostname", "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
			{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
			"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}], "scheduler_names": ["volcano", "default-scheduler"]}`,
			&clusterpb.Policy{
				PerNodeOverheadMicroUsdPerHour: new(int64(12500000)), MinSavingMicroUsdPerHour: 10000, MaxOfferingsPerClaim: new(int32(200)),
				Preferences: priced, PreferencePriceMicroUsdPerHour: new(int64(1)), MinValues: best,
				Work: new(int64(5000000000)), GapTarget: new(0.01), MaxPodsOfWorkloadPerNode: new(int32(7)),
				EvictionPriceMicroUsd: new(int64(2500)), Payback: durationpb.New(90 * time.Minute), PodRest: durationpb.New(0), RoomWait: durationpb.New(45 * time.Second), DisruptionTrials: new(int64(500)),
				Repair: &clusterpb.RepairPolicy{MaxUnhealthyPercent: new(int32(10)), Conditions: []*clusterpb.RepairCondition{
					{Type: "Ready", Status: "Unknown", After: durationpb.New(5 * time.Minute)},
					{Type: "example.com/DiskFull", Status: "True", After: durationpb.New(time.Hour)},
				}},
				SchedulerNames: []string{"default-scheduler", "volcano"},
				DefaultSpread: []*clusterpb.TopologySpread{
					{TopologyKey: "kubernetes.io/hostname", MaxSkew: 3},
					{
						TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, Required: true, MinDomains: new(int32(3)),
						NodeAffinityPolicy: ignore, NodeTaintsPolicy: honor,
					},
				},
			},
		},
		"the default of nodes' inclusion in other words": {
			`{"preferences": "enforced", "default_spread": [{"topologyKey": "zone", "maxSkew": 1,
			"whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}]}`,
			&clusterpb.Policy{
				Preferences:   enforced,
				DefaultSpread: []*clusterpb.TopologySpread{{TopologyKey: "zone", MaxSkew: 1, NodeAffinityPolicy: honor, NodeTaintsPolicy: ignore}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg policy.Config
			if err := config.Decode([]byte(tc.json), &cfg); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, cfg.Proto(), protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// section is a config with a policy inside.
type section struct {
	Policy policy.Config `json:"policy"`
}

// TestWhatIsLeftOutIsTheSameForEveryCaller compares a caller that sends no policy with those that send an empty one.
func TestWhatIsLeftOutIsTheSameForEveryCaller(t *testing.T) {
	understood := func(p *clusterpb.Policy) model.Policy {
		in, err := convert.Input(&clusterpb.Snapshot{}, &plannerpb.Decide{Now: timestamppb.New(time.Unix(1, 0)), Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		return in.Policy
	}
	want := understood(nil)
	if want.PerNodeOverhead != model.DefaultPerNodeOverhead {
		t.Errorf("one more node counts for %d, want %d", want.PerNodeOverhead, model.DefaultPerNodeOverhead)
	}
	for who, p := range map[string]*clusterpb.Policy{"an empty message": {}, "an empty config": policy.Config{}.Proto()} {
		if diff := cmp.Diff(want, understood(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
}

func TestPolicyRefuses(t *testing.T) {
	spread := func(constraints ...string) string {
		return `{"default_spread": [` + strings.Join(constraints, ", ") + `]}`
	}
	const (
		zone = `{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}`
		open = `{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", `
		hard = `{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", `
	)
	for name, tc := range map[string]struct{ json, want string }{
		"an unknown field":                 {`{"overhead": "1"}`, "policy.overhead: unknown field; known here: default_spread, disruption_trials"},
		"an amount without quotes":         {`{"per_node_overhead": 0.002}`, "policy.per_node_overhead: 0.002 is not an amount: want decimal dollars"},
		"an amount that is none":           {`{"per_node_overhead": "a lot"}`, `policy.per_node_overhead: "a lot" is not an amount`},
		"an amount with a currency":        {`{"per_node_overhead": "$1"}`, `policy.per_node_overhead: "$1" is not an amount`},
		"an amount in powers of ten":       {`{"min_saving": "1e-3"}`, `policy.min_saving: "1e-3" is not an amount`},
		"an amount that ends early":        {`{"min_saving": "1."}`, `policy.min_saving: "1." is not an amount`},
		"an amount that begins late":       {`{"min_saving": ".5"}`, `policy.min_saving: ".5" is not an amount`},
		"an empty amount":                  {`{"min_saving": ""}`, `policy.min_saving: "" is not an amount`},
		"a negative overhead":              {`{"per_node_overhead": "-0.1"}`, `policy.per_node_overhead: "-0.1" is negative`},
		"a negative saving":                {`{"min_saving": "-1"}`, `policy.min_saving: "-1" is negative`},
		"an amount that is too fine":       {`{"min_saving": "0.0000001"}`, `policy.min_saving: "0.0000001" is finer than a millionth of a dollar: want 6 decimals at most`},
		"an amount that is too much":       {`{"min_saving": "1000000"}`, `policy.min_saving: "1000000" is too much`},
		"too many offerings":               {`{"max_offerings_per_claim": 201}`, "policy.max_offerings_per_claim: 201 is not between 1 and 200"},
		"less than no offerings":           {`{"max_offerings_per_claim": -1}`, "policy.max_offerings_per_claim: -1 is not between"},
		"offerings beyond all numbers":     {`{"max_offerings_per_claim": 3000000000}`, "policy.max_offerings_per_claim: "},
		"Karpenter's word for preferences": {`{"preferences": "Respect"}`, `policy.preferences: "Respect" is unknown: want "priced", "ignored" or "enforced"`},
		"a price of what is ignored":       {`{"preferences": "ignored", "preference_price": "1"}`, `policy.preference_price: has no meaning where preferences are "ignored"`},
		"a price of what is enforced":      {`{"preferences": "enforced", "preference_price": "1"}`, `policy.preference_price: has no meaning where preferences are "enforced"`},
		"Karpenter's minValues policy":     {`{"min_values": "BestEffort"}`, `policy.min_values: "BestEffort" is unknown: want "strict" or "best-effort"`},
		"work below the quick start":       {`{"work": -2}`, "policy.work: -2 is negative: want a number of steps, or 0 for"},
		"half a step":                      {`{"work": 0.5}`, "policy.work: got number 0.5, want a whole number"},
		"a negative gap":                   {`{"gap_target": -0.1}`, "policy.gap_target: -0.1 is not a share: want 0 to 1"},
		"a gap in per cent":                {`{"gap_target": 5}`, "policy.gap_target: 5 is not a share: want 0 to 1"},
		"less than no pods":                {`{"max_pods_of_workload_per_node": -1}`, "policy.max_pods_of_workload_per_node: -1 is too small: want 1 or more"},

		"an eviction price per cent":         {`{"eviction_price": "1%"}`, `policy.eviction_price: "1%" is not an amount: want decimal dollars`},
		"a negative eviction price":          {`{"eviction_price": "-0.001"}`, `policy.eviction_price: "-0.001" is negative`},
		"no time to pay back":                {`{"payback": "0s"}`, "policy.payback: 0s is no time in which anything pays: want more"},
		"a time to pay back in the past":     {`{"payback": "-1h"}`, "policy.payback: -1h0m0s is no time in which anything pays"},
		"a time without a unit":              {`{"payback": 60}`, "policy.payback: 60 is not a duration: want a string with a unit"},
		"a rest in the past":                 {`{"pod_rest": "-1m"}`, "policy.pod_rest: -1m0s is negative: want a duration"},
		"room before any pod ends":           {`{"room_wait": "-1s"}`, "policy.room_wait: -1s is negative: want a duration"},
		"room that comes after a node":       {`{"room_wait": "2m1s"}`, "policy.room_wait: 2m1s is longer than any node takes to start: want \"2m\" at most"},
		"a rest that is longer than records": {`{"pod_rest": "6h1m"}`, "policy.pod_rest: 6h1m0s is longer than it is remembered which pods were moved: want \"6h\" at most"},
		"fewer than no trials":               {`{"disruption_trials": -1}`, "policy.disruption_trials: -1 is negative: want a number of sets"},
		"a pattern of schedulers":            {`{"scheduler_names": ["*"]}`, `policy.scheduler_names[0]: "*" is no scheduler's name`},
		"a scheduler twice":                  {`{"scheduler_names": ["a", "a"]}`, "policy.scheduler_names[1]: a is there twice"},
		"repair of nothing":                  {`{"repair": {"conditions": [{"status": "False", "after": "1m"}]}}`, "policy.repair.conditions[0].type: required"},
		"repair of no condition":             {`{"repair": {"conditions": [{"type": "a b", "status": "False", "after": "1m"}]}}`, `policy.repair.conditions[0].type: "a b" is not a condition's type`},
		"repair of an odd status":            {`{"repair": {"conditions": [{"type": "Ready", "status": "no", "after": "1m"}]}}`, `policy.repair.conditions[0].status: "no" is unknown: want "True", "False" or "Unknown"`},
		"repair of a bare status":            {`{"repair": {"conditions": [{"type": "Ready", "status": false, "after": "1m"}]}}`, `policy.repair.conditions[0].status: false is no text: want "True", "False" or "Unknown", in quotes`},
		"repair without patience":            {`{"repair": {"conditions": [{"type": "Ready", "status": "False"}]}}`, "policy.repair.conditions[0].after: 0s is too short: want how long"},
		"repair that is there twice":         {`{"repair": {"conditions": [{"type": "Ready", "status": "False", "after": "1m"}, {"type": "Ready", "status": "False", "after": "2m"}]}}`, "policy.repair.conditions[1]: type Ready with status False is there twice"},
		"repair of more than all":            {`{"repair": {"max_unhealthy_percent": 101}}`, "policy.repair.max_unhealthy_percent: 101 is not between 1 and 100"},
		"repair that is off and on":          {`{"repair": {"off": true, "conditions": [{"type": "Ready", "status": "False", "after": "1m"}]}}`, "policy.repair.conditions: have no meaning where repair is off"},
		"repair that is off in part":         {`{"repair": {"off": true, "max_unhealthy_percent": 5}}`, "policy.repair.max_unhealthy_percent: has no meaning where repair is off"},
		"repair in the contract's way":       {`{"repair": {"maxUnhealthyPercent": 5}}`, "policy.repair.maxUnhealthyPercent: unknown field; known here: conditions, max_unhealthy_percent, off"},

		"spread without a key":         {spread(`{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}`), "policy.default_spread[0].topologyKey: required"},
		"spread by no label":           {spread(zone, `{"topologyKey": "a b", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}`), `policy.default_spread[1].topologyKey: "a b" is not a label's name`},
		"spread without a skew":        {spread(`{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}`), "policy.default_spread[0].maxSkew: 0 is too small: want 1 or more"},
		"spread that is half meant":    {spread(`{"topologyKey": "zone", "maxSkew": 1}`), `policy.default_spread[0].whenUnsatisfiable: "" is unknown: want DoNotSchedule or ScheduleAnyway`},
		"spread with a selector":       {spread(open + `"labelSelector": {"matchLabels": {"a": "b"}}}`), "policy.default_spread[0].labelSelector: leave it out"},
		"spread with an empty one":     {spread(open + `"labelSelector": {}}`), "policy.default_spread[0].labelSelector: leave it out"},
		"spread with labels to match":  {spread(open + `"matchLabelKeys": ["a"]}`), "policy.default_spread[0].matchLabelKeys: leave it out"},
		"spread over no domain":        {spread(hard + `"minDomains": 0}`), "policy.default_spread[0].minDomains: 0 is too small"},
		"a preference with domains":    {spread(open + `"minDomains": 2}`), "policy.default_spread[0].minDomains: has a meaning only where whenUnsatisfiable is DoNotSchedule"},
		"an unknown affinity policy":   {spread(open + `"nodeAffinityPolicy": "honor"}`), `policy.default_spread[0].nodeAffinityPolicy: "honor" is unknown: want Honor or Ignore`},
		"an unknown taints policy":     {spread(open + `"nodeTaintsPolicy": "x"}`), `policy.default_spread[0].nodeTaintsPolicy: "x" is unknown: want Honor or Ignore`},
		"spread that is there twice":   {spread(zone, zone), "policy.default_spread[1]: topologyKey zone with ScheduleAnyway is there twice"},
		"spread in the contract's way": {spread(`{"topology_key": "zone"}`), "policy.default_spread[0].topology_key: unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg section
			err := config.Decode([]byte(`{"policy": `+tc.json+"}"), &cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("one mistake, several errors: %v", err)
			}
		})
	}
}

func TestMoneyIsWrittenAsItIsRead(t *testing.T) {
	for _, s := range []string{`"0"`, `"0.001"`, `"10"`, `"999999.999999"`, `"1.5"`} {
		var d policy.Dollars
		if err := json.Unmarshal([]byte(s), &d); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if got, err := json.Marshal(d); err != nil || string(got) != s {
			t.Errorf("%s became %s, %v", s, got, err)
		}
	}
}

func TestAPolicyIsReadFromAFile(t *testing.T) {
	want := &clusterpb.Policy{
		PerNodeOverheadMicroUsdPerHour: new(int64(2000)), MinSavingMicroUsdPerHour: 100000, PodRest: durationpb.New(time.Hour),
	}
	for name, text := range map[string]string{
		"YAML": "# ours\nper_node_overhead: \"0.002\"\nmin_saving: '0.1'\npod_rest: 1h\n",
		"JSON": `{"per_node_overhead": "0.002", "min_saving": "0.1", "pod_rest": "1h"}`,
	} {
		c, err := policy.Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, c.Proto(), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAFileThatIsNoPolicyIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a word that is not known":    {"per_node_cost: \"1\"\n", "per_node_cost: unknown field; known here: default_spread"},
		"a word that is there twice":  {"work: 1\nwork: 2\n", "work"},
		"money that YAML has read":    {"min_saving: 0.10\n", "min_saving: 0.1 is not an amount: want decimal dollars in quotes"},
		"a status that YAML has read": {"repair: {conditions: [{type: Ready, status: False, after: 1m}]}\n", "repair.conditions[0].status: false is no text"},
		"a value that is wrong":       {"gap_target: 2\n", "gap_target: 2 is not a share"},
		"two policies":                {"work: 1\n---\nwork: 2\n", "second document"},
		"a list":                      {"- work\n", "want an object"},
		"what is no YAML":             {"work: [\n", "line"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := policy.Read([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}
