package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

// maxCopies bounds what one line can make.
const maxCopies = 100_000

// builder gives lines their meaning.
type builder struct {
	in      model.Input
	market  market
	classes map[model.ClassID]bool
	pods    map[model.PodID]int
	// pools are declared before nodes, by name.
	pools map[string]model.NodePool
	// bound is since when pods run, if their line says it.
	bound map[model.PodID]time.Duration
}

func (l *Loader) build(texts map[string]string) (model.Input, error) {
	b := &builder{
		in: model.Input{Now: defaultNow()}, market: market{loader: l},
		classes: map[model.ClassID]bool{}, pods: map[model.PodID]int{}, pools: map[string]model.NodePool{},
		bound: map[model.PodID]time.Duration{},
	}
	b.in.Snapshot.Revision, b.in.Snapshot.InventoryRevision, b.in.Snapshot.Cluster = 1, 1, "kerf-demo"
	if _, ok := texts[Catalog]; !ok {
		texts[Catalog] = defaultTypes
	}
	if err := b.lines(Catalog, texts[Catalog], b.market.statement); err != nil {
		return model.Input{}, err
	}
	if err := b.lines(Policy, texts[Policy], b.policy); err != nil {
		return model.Input{}, err
	}
	if err := b.manifests(texts[Manifests]); err != nil {
		return model.Input{}, err
	}
	if err := b.lines(Snapshot, texts[Snapshot], b.object); err != nil {
		return model.Input{}, err
	}
	b.finish()
	// The contract's own checks and canonical order, as for everybody.
	request := convert.Request(b.in)
	return convert.Input(request.GetSnapshot(), request.GetDecide())
}

func (b *builder) lines(section, text string, read func(*statement) error) error {
	statements, err := parse(section, text)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if err := read(s); err != nil {
			return err
		}
	}
	return nil
}

// policy reads how to ask: one verb a line, with its value as the name.
func (b *builder) policy(s *statement) error {
	p := &b.in.Policy
	verbs := map[string]func(){
		"kinds":             func() { b.kinds(s) },
		"seed":              func() { b.in.Seed = uint64(s.count(0, 1<<31)) },
		"now":               func() { b.now(s) },
		"per-node-overhead": func() { p.PerNodeOverhead = s.money(s.verb, s.name) },
		"min-saving":        func() { p.MinSaving = s.money(s.verb, s.name) },
		"max-offerings":     func() { p.MaxOfferingsPerClaim = new(s.count(1, 200)) },
		"preferences": func() {
			p.Preferences = choose(s, map[string]model.PreferencePolicy{
				"priced": model.PreferencesPriced, "ignored": model.PreferencesIgnored, "enforced": model.PreferencesEnforced,
			})
		},
		"preference-price": func() { p.PreferencePrice = new(s.money(s.verb, s.name)) },
		"min-values": func() {
			p.MinValues = choose(s, map[string]model.MinValuesPolicy{
				"strict": model.MinValuesStrict, "best-effort": model.MinValuesBestEffort,
			})
		},
		"default-spread":                func() { p.DefaultSpread = append(p.DefaultSpread, s.spread(nil)) },
		"work":                          func() { p.Work = new(int64(s.count(0, 1<<31))) },
		"gap-target":                    func() { p.GapTarget = new(s.fraction(s.name)) },
		"max-pods-of-workload-per-node": func() { p.MaxPodsOfWorkloadPerNode = s.count(0, maxCopies) },
		"eviction-price":                func() { b.evictionPrice(s) },
		"payback":                       func() { p.Payback = s.since() },
		"pod-rest":                      func() { p.PodRest = s.since() },
		"room-wait":                     func() { p.RoomWait = s.since() },
		"trials":                        func() { p.DisruptionTrials = new(int64(s.count(1, 1<<31))) },
		"repair":                        func() { b.repair(s) },
		"schedulers":                    func() { p.SchedulerNames = strings.Split(s.name, ",") },
		"resume-after":                  func() { b.in.ResumeAfter = model.ClaimID(s.name) },
		"exclude":                       func() { b.in.Exclude = append(b.in.Exclude, model.ClaimID(s.name)) },
	}
	read, ok := verbs[s.verb]
	if !ok {
		known := slices.Sorted(maps.Keys(verbs))
		return fmt.Errorf("%s: %q is not known; want %s", s.where, s.verb, strings.Join(known, ", "))
	}
	read()
	return s.done()
}

// choose reads the name as one of a few.
func choose[T any](s *statement, of map[string]T) T {
	v, ok := of[s.name]
	if !ok {
		s.fail("want %s", strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
	return v
}

func (b *builder) kinds(s *statement) {
	for name := range strings.SplitSeq(s.name, ",") {
		kind, ok := map[string]model.DecisionKind{"provision": model.KindProvision, "disrupt": model.KindDisrupt}[name]
		if !ok {
			s.fail("want provision, disrupt")
		}
		b.in.Kinds = append(b.in.Kinds, kind)
	}
}

func (b *builder) now(s *statement) {
	t, err := time.Parse(time.RFC3339, s.name)
	if err != nil {
		s.fail("want a time such as 2026-03-04T12:00:00Z")
	}
	b.in.Now = t
}

func (b *builder) object(s *statement) error {
	verbs := map[string]func(*statement){
		"class": b.class, "pool": b.pool, "namespace": b.namespace, "overlay": b.overlay, "pod": b.pod, "daemonset": b.daemonSet,
		"buffer": b.buffer, "node": b.node, "claim": b.claim, "pdb": b.pdb, "notice": b.notice,
		"record": b.record,
	}
	read, ok := verbs[s.verb]
	if !ok {
		known := slices.Sorted(maps.Keys(verbs))
		return fmt.Errorf("%s: %q is not known; want %s", s.where, s.verb, strings.Join(known, ", "))
	}
	if s.name == "" {
		s.fail("the name is missing")
	}
	read(s)
	return s.done()
}

// class is a node class: where it may launch, and whether it can.
func (b *builder) class(s *statement) {
	where := s.list("zones")
	if where == nil {
		where = []string{"a", "b", "c"}
	}
	c := model.NodeClass{Name: model.NodeClassName(s.name), Catalog: "k-scenario", Zones: zones(where), Hash: "h"}
	c.Reservations = s.list("reservations")
	slices.Sort(c.Reservations)
	if why := s.text("not-ready", ""); why != "" {
		c.NotReady = model.Reason{Code: model.CodeNodeClassNotReady, Message: why, Subject: "nodeclass/" + s.name}
	}
	images := s.list("images")
	if images == nil {
		images = []string{"ami-scenario"}
	}
	var requirements []model.Requirement
	if arch := s.list("arch"); arch != nil {
		slices.Sort(arch)
		requirements = []model.Requirement{{Key: labelKey("arch"), Operator: model.In, Values: arch}}
	}
	for _, id := range images {
		c.Images = append(c.Images, model.MachineImage{ID: id, Requirements: slices.Clone(requirements)})
	}
	b.in.Snapshot.NodeClasses = append(b.in.Snapshot.NodeClasses, c)
}

// pool is a node pool. Unless it says otherwise it buys on demand, and consolidates at once.
func (b *builder) pool(s *statement) {
	p := model.NodePool{
		Name: model.PoolName(s.name), NodeClass: model.NodeClassName(s.text("class", "default")), Weight: int32(s.number("weight", 0)),
		Labels: s.labels("labels"), Taints: s.taints("taints"), StartupTaints: s.taints("startup-taints"), Limits: s.amounts("limits"), Hash: "h",
	}
	in := func(key string, values []string) {
		if len(values) > 0 {
			p.Requirements = append(p.Requirements, s.requirement(key+" In "+strings.Join(values, ",")))
		}
	}
	in("type", s.list("types"))
	in("zone", s.list("zones"))
	in("arch", s.list("arch"))
	capacity := s.list("capacity")
	if capacity == nil {
		capacity = []string{"on-demand"}
	}
	in("capacity", capacity)
	for _, text := range s.texts("require") {
		text, least, flexible := strings.Cut(text, " min=")
		r := s.requirement(text)
		if n, err := atoi(least); flexible && err == nil && n > 0 {
			r.MinValues = n
		} else if flexible {
			s.fail("min=%s is not a number of values", least)
		}
		p.Requirements = append(p.Requirements, r)
	}
	for _, text := range s.texts("min") {
		b.minValues(s, &p, text)
	}
	b.disruption(s, &p)
	if why := s.text("not-ready", ""); why != "" {
		p.NotReady = model.Reason{Code: model.CodeNodePoolInvalid, Message: why, Subject: "nodepool/" + s.name}
	}
	if s.is("leaving") {
		p.NotReady = model.Reason{Code: model.CodeBeingDeleted, Message: "the pool is being deleted", Subject: "nodepool/" + s.name}
	}
	p.Devices = s.deviceTemplates()
	if n := s.number("replicas", -1); n >= 0 {
		p.Replicas = new(int64(n))
	}
	b.pools[s.name] = p
	if s.is("gone") {
		return
	}
	b.in.Snapshot.NodePools = append(b.in.Snapshot.NodePools, p)
}

// minValues reads "key n": so many distinct values of a label must remain.
func (b *builder) minValues(s *statement, p *model.NodePool, text string) {
	key, count, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	i := slices.IndexFunc(p.Requirements, func(r model.Requirement) bool { return r.Key == labelKey(key) })
	if err != nil || i < 0 {
		s.fail("min=%q is not a requirement of the pool and a number", text)
		return
	}
	p.Requirements[i].MinValues = n
}

func (b *builder) disruption(s *statement, p *model.NodePool) {
	policy := s.text("policy", model.WhenEmptyOrUnderutilized.String())
	for c := model.WhenEmpty; c <= model.Balanced; c++ {
		if c.String() == policy {
			p.ConsolidationPolicy = c
		}
	}
	if p.ConsolidationPolicy == 0 {
		s.fail("%q is not a policy: WhenEmpty, WhenEmptyOrUnderutilized, Balanced", policy)
	}
	if after := s.text("after", "0s"); after != "never" {
		d, err := time.ParseDuration(after)
		if err != nil {
			s.fail("after=%s is neither a duration nor never", after)
		}
		p.ConsolidateAfter = &d
	}
	if d := s.duration("expire", "0s"); d > 0 {
		p.ExpireAfter = &d
	}
	if d := s.duration("grace", "0s"); d > 0 {
		p.TerminationGracePeriod = &d
	}
	for _, text := range s.texts("budget") {
		p.Budgets = append(p.Budgets, s.budget(text))
	}
}

// budget reads "count", "percent%", each with the reasons that it caps and the times at which it is active:
// "1:Underutilized", "0:*:0 9 * * mon-fri:8h".
func (s *statement) budget(text string) model.DisruptionBudget {
	parts := strings.Split(text, ":")
	count, percent := strings.CutSuffix(parts[0], "%")
	n, err := strconv.Atoi(count)
	if err != nil || len(parts) == 3 || len(parts) > 4 {
		s.fail("budget=%q is not of the form 2, 10%%, 1:Empty or 0:*:0 9 * * *:8h", text)
		return model.DisruptionBudget{}
	}
	out := model.DisruptionBudget{Count: int32(n), IsPercent: percent} //nolint:gosec // the planner checks the range
	if len(parts) > 1 && parts[1] != "*" {
		for name := range strings.SplitSeq(parts[1], ",") {
			for r := model.ReasonEmpty; r.String() != "invalid"; r++ {
				if r.String() == name {
					out.Reasons = append(out.Reasons, r)
				}
			}
		}
	}
	if len(parts) == 4 {
		out.Schedule = parts[2]
		if out.Duration, err = time.ParseDuration(parts[3]); err != nil {
			s.fail("budget=%q: %s is not a duration", text, parts[3])
		}
	}
	return out
}

func (b *builder) pdb(s *statement) {
	id := string(podID(s.name))
	namespace, _, _ := strings.Cut(id, "/")
	b.in.Snapshot.PodDisruptionBudgets = append(b.in.Snapshot.PodDisruptionBudgets, model.PodDisruptionBudget{
		ID: id, Namespace: namespace, Selector: s.selector(s.text("select", "")),
		DisruptionsAllowed: int32(s.number("allow", 0)), NeverAllows: s.is("never"), AllowsUnhealthy: s.is("unhealthy"),
	})
}

// notice is about a node that was declared before.
func (b *builder) notice(s *statement) {
	i := slices.IndexFunc(b.in.Snapshot.Claims, func(c model.Claim) bool { return string(c.Node) == s.name })
	if i < 0 {
		s.fail("there is no node of this name with a claim")
		return
	}
	c := b.in.Snapshot.Claims[i]
	n := model.Notice{
		ID: "m-" + s.name, InstanceID: c.InstanceID, Claim: c.ID, EventTime: b.in.Now, Kind: model.NoticeSpotInterruption,
		Deadline: b.in.Now.Add(2 * time.Minute),
	}
	switch spot, rebalance := s.is("spot"), s.is("rebalance"); {
	case spot == rebalance:
		s.fail("want either spot or rebalance")
	case rebalance:
		n.Kind, n.Deadline = model.NoticeRebalanceRecommendation, time.Time{}
	}
	b.in.Snapshot.Notices = append(b.in.Snapshot.Notices, n)
}

// finish adds what is there without being written down, and sorts.
func (b *builder) finish() {
	s := &b.in.Snapshot
	if len(s.NodeClasses) == 0 {
		b.class(&statement{name: "default"})
	}
	s.Catalogs = []model.Catalog{{ID: "k-scenario", InstanceTypes: b.market.types}}
	s.Offerings = b.market.offerings
	for i := range s.Offerings {
		s.Offerings[i].ZoneID = b.market.zoneIDs[s.Offerings[i].Zone]
	}
	slices.SortStableFunc(s.Pods, func(x, y model.Pod) int { return cmp.Compare(x.ID, y.ID) })
}
