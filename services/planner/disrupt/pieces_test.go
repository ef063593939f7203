package disrupt

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// noon is when the tests plan.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// at is a time before noon.
func at(before time.Duration) time.Time { return noon().Add(-before) }

// viewOf is a view of nothing but what a test adds to it.
func viewOf(t *testing.T, policy model.Policy) *view.View {
	t.Helper()
	w, err := view.NewWorld(&model.Snapshot{}, policy, noon())
	if err != nil {
		t.Fatal(err)
	}
	return view.NewView(w)
}

// podOf is a pod of a ReplicaSet.
func podOf(owner, revision string, bound time.Duration) view.Pod {
	c := &view.Class{PodClass: &model.PodClass{OwnerKind: "ReplicaSet", OwnerName: owner, OwnerRevision: revision}}
	return view.Pod{Pod: &model.Pod{BindTime: at(bound), CreateTime: at(bound)}, Class: c}
}

func TestRoomIsTakenToHoldWhatIsWorthMost(t *testing.T) {
	tests := map[string]struct {
		worth []float64
		asks  []view.Vector
		free  view.Vector
		want  float64
	}{
		"nothing fits":                           {[]float64{5}, []view.Vector{{4, 1}}, view.Vector{3, 9}, 0},
		"what is worth nothing does not count":   {[]float64{0}, []view.Vector{{1, 1}}, view.Vector{8, 8}, 0},
		"room that is overdrawn holds nothing":   {[]float64{5}, []view.Vector{{1, 1}}, view.Vector{-1, 8}, 0},
		"a resource that is not asked for":       {[]float64{5}, []view.Vector{{4, 0}}, view.Vector{8, 0}, 10},
		"two kinds fill what neither does alone": {[]float64{3, 3}, []view.Vector{{3, 1}, {1, 3}}, view.Vector{8, 8}, 12},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.free)
			f := &filler{worth: tt.worth, asks: tt.asks}
			if got := f.fill(tt.free); got != tt.want {
				t.Errorf("worth %v, want %v", got, tt.want)
			}
			if !slices.Equal(tt.free, before) {
				t.Errorf("the room became %v", tt.free)
			}
		})
	}
}

func TestPartsShareNoReplacement(t *testing.T) {
	// Hosts 0 to 3 have a pod each, of the same number; host 2 has one of a buffer, too.
	s := &search{moving: [][]int{{0}, {1}, {2}, {3}}, bufferPods: [][]int{nil, nil, {9}, nil}}
	one := &purchase.NewClaim{Items: []market.Item{{Pods: []int{0, 9}}}}
	two := &purchase.NewClaim{Items: []market.Item{{Pods: []int{3}}}}
	d := Decision{Hosts: []int{0, 1, 2, 3}, Destinations: []pack.Assignment{{Pod: 1, Host: 7}, {Pod: 2, Host: 7}}, Replacements: []*purchase.NewClaim{one, two}}
	parts := s.parts(d)
	want := [][]int{{0, 2}, {1}, {3}}
	if len(parts) != len(want) {
		t.Fatalf("%d parts, want %d", len(parts), len(want))
	}
	for i, p := range parts {
		if !slices.Equal(p.Hosts, want[i]) || !slices.Equal(p.Evicted, want[i]) {
			t.Errorf("part %d: hosts %v and pods %v, want %v", i, p.Hosts, p.Evicted, want[i])
		}
	}
	if !slices.Equal(parts[0].Replacements, []*purchase.NewClaim{one}) || !slices.Equal(parts[2].Replacements, []*purchase.NewClaim{two}) {
		t.Error("the replacements are not where their pods are")
	}
	if len(parts[0].Destinations) != 1 || parts[0].Destinations[0].Pod != 2 || len(parts[1].Destinations) != 1 || parts[1].Destinations[0].Pod != 1 {
		t.Errorf("the destinations are %v and %v", parts[0].Destinations, parts[1].Destinations)
	}
}

func TestEvictionsWeighWhatPodsSay(t *testing.T) {
	tests := map[string]struct {
		bound    time.Duration
		cost     int32
		priority int32
		want     int64
	}{
		"an ordinary pod":                {2 * time.Hour, 0, 0, 1000},
		"one that has just started":      {0, 0, 0, 2000},
		"one that has run for half that": {15 * time.Minute, 0, 0, 1500},
		"one that is bound in future":    {-time.Hour, 0, 0, 2000},
		"one that is easy to delete":     {2 * time.Hour, -1 << 31, 0, 0},
		"one of the highest priority":    {2 * time.Hour, 0, 2000000000, 10000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			p := podOf("web", "", tt.bound)
			p.DeletionCost, p.Class.Priority = tt.cost, tt.priority
			v.Pods = []view.Pod{p}
			if got := newChurn(v, 30*time.Minute).of(0); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestSavingsMustPayBack(t *testing.T) {
	in := func(d time.Duration) *time.Duration { return &d }
	tests := map[string]struct {
		policy model.Policy
		price  int64
		factor float64
		want   int64
	}{
		"within the hour":             {model.Policy{}, 1000, byDelete, 1000},
		"twice with replacements":     {model.Policy{}, 1000, byReplace, 2000},
		"within two hours":            {model.Policy{Payback: in(2 * time.Hour)}, 1001, byDelete, 501},
		"what moves for nothing":      {model.Policy{}, 0, bySpot, 1},
		"the policy's own least":      {model.Policy{MinSaving: 5000}, 1000, byDelete, 5000},
		"at once is never":            {model.Policy{Payback: in(0)}, 1000, byDelete, 1<<61 - 1},
		"almost at once is never too": {model.Policy{Payback: in(1)}, 10000000, byDelete, 1 << 61},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newChurn(viewOf(t, tt.policy), time.Hour).least(tt.price, tt.factor); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestARolloutIsOverTenMinutesAfterItsLastPod(t *testing.T) {
	tests := map[string]struct {
		pods []view.Pod
		want bool
	}{
		"two revisions, and a new pod":   {[]view.Pod{podOf("web", "1", time.Hour), podOf("web", "2", 9*time.Minute)}, true},
		"two revisions that are settled": {[]view.Pod{podOf("web", "1", time.Hour), podOf("web", "2", 10*time.Minute)}, false},
		"one revision":                   {[]view.Pod{podOf("web", "2", time.Hour), podOf("web", "2", time.Minute)}, false},
		"the other has another owner":    {[]view.Pod{podOf("web", "1", time.Hour), podOf("api", "2", time.Minute)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			v.Pods = tt.pods
			for _, p := range tt.pods {
				v.Classes = append(v.Classes, p.Class)
			}
			until := newHistory(v).rollouts.Until(rules.OwnerOf(tt.pods[0].Class.PodClass), noon())
			if got := !until.IsZero(); got != tt.want {
				t.Errorf("rolling is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDriftIsHeldAfterAReplacementFailedByItself(t *testing.T) {
	claims := map[model.ClaimID]*model.Claim{
		"old":       {NodePool: "default", State: model.ClaimInitialized},
		"failed":    {NodePool: "default", State: model.ClaimFailed},
		"reclaimed": {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonInterrupted},
		"deleted":   {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonDeleted},
		"surplus":   {NodePool: "default", State: model.ClaimGone, DisruptionReason: model.ReasonSurplus},
	}
	tests := map[string]struct {
		replacement model.ClaimID
		ended       time.Duration
		held        bool
	}{
		"it failed":                         {"failed", 14 * time.Minute, true},
		"it failed, and the hold is over":   {"failed", 15 * time.Minute, false},
		"AWS reclaimed it":                  {"reclaimed", time.Minute, false},
		"a user deleted it":                 {"deleted", time.Minute, false},
		"its static pool was made smaller":  {"surplus", time.Minute, false},
		"what became of it is not known":    {"forgotten", time.Minute, true},
		"the other pool has its own record": {"", time.Minute, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			v.Snapshot.Disruptions = []model.DisruptionRecord{{
				Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"old"}, Replacements: []model.ClaimID{tt.replacement},
				EndTime: at(tt.ended), RolledBack: true,
			}}
			if tt.replacement == "" {
				v.Snapshot.Disruptions[0].Candidates = []model.ClaimID{"other"}
			}
			v.ClaimIndex = claims
			s := &replacer{s: &search{v: v, Params: Params{View: v}}, canaries: make([]int, 1), holds: make(map[*view.Pool]model.Reason)}
			r := s.canary(&view.Pool{NodePool: &model.NodePool{Name: "default"}})
			if held := r.Code == model.CodeCanary; held != tt.held {
				t.Errorf("held is %v (%s), want %v", held, r.Message, tt.held)
			}
		})
	}
}

func TestSpotKeepsItsDiversity(t *testing.T) {
	option := func(name, zone string, price int64) *market.Option {
		return &market.Option{
			Type: &view.Type{InstanceType: &model.InstanceType{Name: model.TypeName(name)}}, Price: price,
			Offering: &model.Offering{Zone: zone, CapacityType: model.Spot, Price: price},
		}
	}
	wide := []*market.Option{option("m5.large", "a", 10), option("m5.large", "b", 10), option("c5.large", "a", 10), option("c5.large", "b", 10), option("r5.large", "a", 10)}
	tests := map[string]struct {
		options []*market.Option
		want    bool
	}{
		"five in two zones will do":             {wide, true},
		"four will not":                         {wide[:4], false},
		"nor five of which one is no cheaper":   {append(slices.Clone(wide[:4]), option("r5.large", "a", 20)), false},
		"nor five of which one is the node's":   {append(slices.Clone(wide[:4]), option("t3.large", "a", 10)), false},
		"its type in another zone is not it":    {append(slices.Clone(wide[:4]), option("t3.large", "b", 10)), true},
		"three families in one zone will do":    {[]*market.Option{wide[0], wide[2], wide[4], option("m5.xlarge", "a", 9), option("c5.xlarge", "a", 9)}, true},
		"two families in one zone will not":     {[]*market.Option{wide[0], wide[2], option("c5.2xlarge", "a", 9), option("m5.xlarge", "a", 9), option("c5.xlarge", "a", 9)}, false},
		"what is on demand is no spot offering": {append(slices.Clone(wide[:4]), &market.Option{Type: wide[4].Type, Offering: &model.Offering{Zone: "a"}}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, model.Policy{})
			v.Hosts = []*view.Host{{Node: &model.Node{Name: "n"}, Claim: &model.Claim{
				InstanceType: "t3.large", Zone: "a", CapacityType: model.Spot, Price: 20,
			}}}
			s := &trials{s: &search{v: v}}
			if r := s.spotForSpot(&Decision{Hosts: []int{0}, Replacements: []*purchase.NewClaim{{Options: tt.options}}}); r.OK() != tt.want {
				t.Errorf("%v, want %v: %s", r.OK(), tt.want, r.Message)
			}
		})
	}
}
