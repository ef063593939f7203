package rules_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// asWanted are the facts of a claim of two hours that is what its pool and class ask for; edit may change them.
func asWanted(edit func(f *rules.DriftFacts)) rules.DriftFacts {
	f := rules.DriftFacts{
		Claim: &model.Claim{
			ID: "c", NodePool: "default", NodeClass: "al2023", State: model.ClaimInitialized, CreateTime: at(-120), PoolHash: "1", ClassHash: "2",
			InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot, ImageID: "ami-1",
		},
		Pool: &model.NodePool{
			Name: "default", NodeClass: "al2023", Hash: "1",
			Requirements: []model.Requirement{{Key: labels.Zone, Operator: model.In, Values: []string{"a", "b"}}},
		},
		Class: &model.NodeClass{Name: "al2023", Hash: "2", Images: []model.MachineImage{{ID: "ami-2"}, {ID: "ami-1"}}},
		Label: func(key string) (string, bool) {
			v, ok := map[string]string{labels.Zone: "a", "team": "shop"}[key]
			return v, ok
		},
		HasType:  func(t model.TypeName) bool { return t == "m5.large" },
		Sold:     func(_ model.TypeName, _ string, c model.CapacityType) bool { return c == model.Spot },
		Instance: rules.Placement{ImageID: "ami-9", Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1", "sg-2"}},
		Wanted:   rules.Placement{Subnets: []string{"subnet-1", "subnet-2"}, SecurityGroups: []string{"sg-1", "sg-2"}},
	}
	if edit != nil {
		edit(&f)
	}
	return f
}

func TestDrifted(t *testing.T) {
	requires := func(key string, op model.Operator, values ...string) func(*rules.DriftFacts) {
		return func(f *rules.DriftFacts) {
			f.Pool.Requirements = append(f.Pool.Requirements, model.Requirement{Key: key, Operator: op, Values: values})
		}
	}
	for name, tc := range map[string]struct {
		edit  func(f *rules.DriftFacts)
		want  string // Karpenter's word, "" for none
		until float64
	}{
		"a node as it is wanted":                    {},
		"the pool's template":                       {func(f *rules.DriftFacts) { f.Pool.Hash = "3" }, "NodePoolDrifted", 0},
		"hashes of different versions tell nothing": {func(f *rules.DriftFacts) { f.Pool.Hash, f.Class.Hash = "v2-3", "v2-4" }, "", 0},
		"hashes of the same later version do": {
			func(f *rules.DriftFacts) { f.Claim.PoolHash, f.Pool.Hash = "v2-1", "v2-3" }, "NodePoolDrifted", 0,
		},
		"a hash that is not known tells nothing": {func(f *rules.DriftFacts) { f.Claim.PoolHash, f.Class.Hash = "", "" }, "", 0},
		"a requirement that the node misses":     {requires("team", model.In, "search"), "RequirementsDrifted", 0},
		"a requirement of a label it has not":    {requires("gpu", model.Exists), "RequirementsDrifted", 0},
		"a requirement that it meets anyway":     {requires("team", model.NotIn, "search"), "", 0},
		"a zone id that AWS did not tell":        {requires(labels.ZoneID, model.In, "use1-az1"), "", 0},
		"labels that are not known":              {func(f *rules.DriftFacts) { f.Pool.Requirements, f.Label = f.Pool.Requirements[:1], nil }, "", 0},
		"a type that no catalogue lists":         {func(f *rules.DriftFacts) { f.Claim.InstanceType = "m1.large" }, "InstanceTypeNotFound", 0},
		"a type that is sold in another way":     {func(f *rules.DriftFacts) { f.Claim.CapacityType = model.OnDemand }, "InstanceTypeNotFound", 0},
		"a new claim of such a type waits": {
			func(f *rules.DriftFacts) { f.Claim.CapacityType, f.Claim.CreateTime = model.OnDemand, at(-45) }, "", 15,
		},
		"what was reserved is sold on demand": {
			func(f *rules.DriftFacts) {
				f.Claim.CapacityType = model.Reserved
				f.Sold = func(_ model.TypeName, _ string, c model.CapacityType) bool { return c == model.OnDemand }
			}, "", 0,
		},
		"a zone that is not known": {
			func(f *rules.DriftFacts) {
				f.Claim.Zone, f.Sold = "", func(_ model.TypeName, zone string, _ model.CapacityType) bool { return zone == "a" }
			}, "", 0,
		},
		"a market that is not known":    {func(f *rules.DriftFacts) { f.Claim.CapacityType, f.Sold = model.OnDemand, nil }, "", 0},
		"a catalogue that is not known": {func(f *rules.DriftFacts) { f.Claim.InstanceType, f.HasType = "m1.large", nil }, "", 0},
		"the class":                     {func(f *rules.DriftFacts) { f.Class.Hash = "3" }, "NodeClassDrifted", 0},
		"the image":                     {func(f *rules.DriftFacts) { f.Claim.ImageID = "ami-0" }, "AMIDrift", 0},
		"the instance tells its image":  {func(f *rules.DriftFacts) { f.Claim.ImageID = "" }, "AMIDrift", 0},
		"a class that is not ready yet": {func(f *rules.DriftFacts) { f.Claim.ImageID, f.Class.NotReady = "ami-0", model.Reason{Code: 1} }, "", 0},
		"the subnet":                    {func(f *rules.DriftFacts) { f.Instance.Subnets = []string{"subnet-3"} }, "SubnetDrift", 0},
		"the security groups":           {func(f *rules.DriftFacts) { f.Wanted.SecurityGroups = []string{"sg-1"} }, "SecurityGroupDrift", 0},
		"a reservation that the class does not select": {func(f *rules.DriftFacts) {
			f.Claim.ReservationID, f.Instance.Reservation, f.Class.Reservations = "cr-1", "cr-1", []string{"cr-2"}
		}, "CapacityReservationDrift", 0},
		"a reservation that it selects": {func(f *rules.DriftFacts) {
			f.Claim.ReservationID, f.Instance.Reservation, f.Class.Reservations = "cr-1", "cr-1", []string{"cr-1", "cr-2"}
		}, "", 0},
		"a reservation that has ended": {func(f *rules.DriftFacts) { f.Claim.ReservationID = "cr-1" }, "", 0},
		"subnets that are not known":   {func(f *rules.DriftFacts) { f.Instance.Subnets, f.Wanted = []string{"subnet-3"}, rules.Placement{} }, "", 0},
		"a pool that can't be read": {func(f *rules.DriftFacts) {
			f.Pool.Hash, f.Pool.NotReady = "3", model.Reason{Code: model.CodeNodePoolInvalid}
		}, "", 0},
		"a pool that is being deleted": {func(f *rules.DriftFacts) {
			f.Pool.Hash, f.Pool.NotReady = "3", model.Reason{Code: model.CodeBeingDeleted}
		}, "", 0},
		"a pool whose class is not ready": {func(f *rules.DriftFacts) {
			f.Pool.Hash, f.Pool.NotReady = "3", model.Reason{Code: model.CodeNodeClassNotReady}
		}, "NodePoolDrifted", 0},
		"a pool that does not exist":         {func(f *rules.DriftFacts) { f.Pool = nil }, "", 0},
		"a class that does not exist":        {func(f *rules.DriftFacts) { f.Class = nil }, "", 0},
		"a claim that was not launched yet":  {func(f *rules.DriftFacts) { f.Claim.State, f.Pool.Hash = model.ClaimLaunching, "3" }, "", 0},
		"the pool is asked before the class": {func(f *rules.DriftFacts) { f.Pool.Hash, f.Class.Hash = "3", "3" }, "NodePoolDrifted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, until := rules.Drifted(asWanted(tc.edit), noon())
			word, _, _ := strings.Cut(r.Message, ":")
			if word != tc.want {
				t.Errorf("%+v, want %s", r, tc.want)
			}
			check(t, says(model.Reason{}, until), answer{0, tc.until})
		})
	}
}

func TestHashesAreMadeAgainByTheNewVersionOnly(t *testing.T) {
	for name, tc := range map[string]struct{ hash, present, want string }{
		"same version":      {"1", "2", "1"},
		"another version":   {"1", "v2-2", "v2-2"},
		"no hash yet":       {"", "v2-2", ""},
		"nothing to follow": {"1", "", "1"},
	} {
		if got := rules.Rehash(tc.hash, tc.present); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestDriftPause(t *testing.T) {
	// record is a disruption of a drifted node that ended at this minute; what took its place is one claim.
	record := func(id string, ended float64, rolledBack bool, replacements ...model.ClaimID) model.DisruptionRecord {
		return model.DisruptionRecord{
			ID: model.DisruptionID(id), Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"old"}, Replacements: replacements,
			AcceptTime: at(ended - 5), EndTime: at(ended), RolledBack: rolledBack,
		}
	}
	failed := func(id string, ended float64) model.DisruptionRecord { return record(id, ended, true, "failed") }
	forgotten := failed("a", -10)
	forgotten.Candidates = nil
	claims := map[model.ClaimID]*model.Claim{
		"old":         {ID: "old", NodePool: "default", State: model.ClaimInitialized},
		"failed":      {ID: "failed", NodePool: "default", State: model.ClaimFailed, Reached: model.ClaimLaunched},
		"ready":       {ID: "ready", NodePool: "default", State: model.ClaimInitialized},
		"ready once":  {ID: "ready once", NodePool: "default", State: model.ClaimGone, Reached: model.ClaimInitialized},
		"deleted":     {ID: "deleted", NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonDeleted},
		"surplus":     {ID: "surplus", NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonSurplus},
		"interrupted": {ID: "interrupted", NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonInterrupted},
		"unhealthy":   {ID: "unhealthy", NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonUnhealthy},
		"elsewhere":   {ID: "elsewhere", NodePool: "other", State: model.ClaimFailed},
	}
	type records []model.DisruptionRecord
	for name, tc := range map[string]struct {
		records records
		want    float64 // 0 for no pause
	}{
		"nothing failed":                                        {nil, 0},
		"one failure pauses for 15 min":                         {records{failed("a", -10)}, 5},
		"the pause is over":                                     {records{failed("a", -15)}, 0},
		"a second in a row for 30":                              {records{failed("a", -40), failed("b", -10)}, 20},
		"in whichever order they come":                          {records{failed("b", -10), failed("a", -40)}, 20},
		"a fifth for 4 h":                                       {records{failed("a", -14), failed("b", -13), failed("c", -12), failed("d", -11), failed("e", -10)}, 230},
		"a sixth for no longer":                                 {records{failed("a", -14), failed("b", -13), failed("c", -12), failed("d", -11), failed("e", -10), failed("f", -10)}, 230},
		"a success ends the row":                                {records{failed("a", -40), record("b", -20, false, "ready"), failed("c", -10)}, 5},
		"a success after all":                                   {records{failed("a", -10), record("b", -5, false, "ready")}, 0},
		"a success at the same instant":                         {records{failed("a", -10), record("b", -10, false, "ready")}, 0},
		"a replacement that is forgotten counts as failed":      {records{record("a", -10, true, "unknown")}, 5},
		"one of two failed":                                     {records{record("a", -10, true, "ready", "failed")}, 5},
		"a disruption given up after its replacement was ready": {records{record("a", -10, true, "ready")}, 0},
		"the same, when the replacement is gone by now":         {records{record("a", -10, true, "ready once")}, 0},
		"a disruption that needed no replacement":               {records{record("a", -10, true)}, 0},
		"a spot reclaim of the replacement is no failure":       {records{record("a", -10, true, "interrupted")}, 0},
		"nor is a user's deletion of it":                        {records{record("a", -10, true, "deleted")}, 0},
		"nor a static pool that became smaller":                 {records{record("a", -10, true, "surplus")}, 0},
		"a replacement that came up unhealthy is one":           {records{record("a", -10, true, "unhealthy")}, 5},
		"an excused one neither ends a row nor makes it longer": {records{failed("a", -14), record("b", -10, true, "interrupted")}, 1},
		"what goes on tells nothing yet":                        {records{{Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"old"}, RolledBack: true}}, 0},
		"another reason":                                        {records{func() model.DisruptionRecord { r := failed("a", -10); r.Reason = model.ReasonExpired; return r }()}, 0},
		"another pool's": {records{func() model.DisruptionRecord {
			r := failed("a", -10)
			r.Candidates = []model.ClaimID{"elsewhere"}
			return r
		}()}, 0},
		"the replacement tells the pool where the node does not": {records{forgotten}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			want := answer{}
			if tc.want != 0 {
				want = answer{model.CodeCanary, tc.want}
			}
			claim := func(id model.ClaimID) *model.Claim { return claims[id] }
			check(t, says(rules.DriftPause("default", tc.records, claim, noon())), want)
		})
	}
}

func TestACanaryGoesFirst(t *testing.T) {
	if r := rules.Canary("default", 0, false); !r.OK() {
		t.Errorf("the first node does not go: %s", r.Message)
	}
	if r := rules.Canary("default", 1, false); r.Code != model.CodeCanary {
		t.Error("a second goes before the first has proven anything")
	}
	if r := rules.Canary("default", 1, true); !r.OK() {
		t.Errorf("what is proven is paused: %s", r.Message)
	}
	pool, class := &model.NodePool{Name: "default", NodeClass: "al2023", Hash: "1"}, &model.NodeClass{Name: "al2023", Hash: "2"}
	for name, tc := range map[string]struct {
		edit func(c *model.Claim)
		want bool
	}{
		"of the present template":     {func(*model.Claim) {}, true},
		"of an older template":        {func(c *model.Claim) { c.PoolHash = "0" }, false},
		"of an older class":           {func(c *model.Claim) { c.ClassHash = "0" }, false},
		"of another class":            {func(c *model.Claim) { c.NodeClass = "bottlerocket" }, false},
		"of another pool":             {func(c *model.Claim) { c.NodePool = "other" }, false},
		"not initialized":             {func(c *model.Claim) { c.State = model.ClaimRegistered }, false},
		"on its way out":              {func(c *model.Claim) { c.Disruption = "d" }, false},
		"by hash of another version":  {func(c *model.Claim) { c.PoolHash = "v2-1" }, false},
		"though it is of another age": {func(c *model.Claim) { c.CreateTime = at(-1) }, true},
	} {
		c := model.Claim{NodePool: "default", NodeClass: "al2023", State: model.ClaimInitialized, PoolHash: "1", ClassHash: "2"}
		tc.edit(&c)
		if got := rules.Proves(&c, pool, class); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
