// Package fit answers one question: may pods of this class run there, and if not, which rule stands in the way?
//
// The rules are chains of named checks, cheapest first; each returns a Reason, and the zero Reason means that it holds.
// What only depends on labels and taints (Static) is judged once per profile of constraints; what depends on free
// capacity that is left (Matcher.Host) is judged on a view.View. Preferences (preferred affinity, PreferNoSchedule,
// soft spread) are not rules: they never keep a pod off a node here, see PreferencePenalty. The package does not choose
// between places. Start reading with Static.
package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Place is what labels and taints a node has, or will have.
type Place struct {
	Labels model.Labels
	// Local are labels that go before Labels: those of one zone and capacity type, where Labels are shared by a type's
	// offerings. They may be in any order.
	Local model.Labels
	// Open are labels of which only this much is decided; a pod must accept whatever they become.
	Open   require.Set
	Taints []model.Taint
	// Fresh says that the node is not there yet: its hostname is not known yet.
	Fresh bool
}

// staticChecks is the chain of rules on labels and taints, in the order in which people want to hear of them.
func staticChecks() []func(*view.Profile, *Place) model.Reason {
	return []func(*view.Profile, *Place) model.Reason{
		Taints,       // every NoSchedule and NoExecute taint must be tolerated
		NodeSelector, // all labels of spec.nodeSelector
		Affinity,     // one term of the required node affinity
	}
}

// Static says whether labels and taints let pods of a class run at a place.
func Static(c *view.Class, at *Place) model.Reason {
	r, _ := Judge(c, at)
	return r
}

// Judge is Static, and how many rules hold before the one that does not: of two places the one where more do is nearer.
func Judge(c *view.Class, at *Place) (r model.Reason, held int) {
	for i, check := range staticChecks() {
		if r := check(c.Profile, at); !r.OK() {
			return r, i
		}
	}
	r, reached := VolumeZones(c, at)
	return r, len(staticChecks()) + reached
}

// Admits is Static without the reason, which costs more than the answer: it is asked for each profile and offering.
func Admits(p *view.Profile, at *Place) bool {
	if !Tolerates(p, at) {
		return false
	}
	if _, ok := at.satisfies(p.Selector); !ok {
		return false
	}
	if _, ok := at.satisfiesAny(p.Affinity); !ok {
		return false
	}
	return !slices.ContainsFunc(p.Volumes, func(terms []require.Set) bool {
		_, ok := at.satisfiesAny(terms)
		return !ok
	})
}

// Tolerates is Taints without the reason.
func Tolerates(p *view.Profile, at *Place) bool {
	return !slices.ContainsFunc(at.Taints, func(t model.Taint) bool { return repels(p, t) })
}

func repels(p *view.Profile, t model.Taint) bool {
	return t.Effect != model.PreferNoSchedule && !tolerated(p.Tolerations, t)
}

// Taints says whether all taints with a hard effect are tolerated.
func Taints(p *view.Profile, at *Place) model.Reason {
	for _, t := range at.Taints {
		if repels(p, t) {
			return taintReason(t)
		}
	}
	return model.Reason{}
}

func taintReason(t model.Taint) model.Reason {
	return model.Reason{
		Code: model.CodeTaint, Message: fmt.Sprintf("the taint %s is not tolerated", t), Remedy: fmt.Sprintf("tolerate the taint %s", t),
	}
}

// Prefers says whether no taint asks the pods to stay away if they can (PreferNoSchedule).
func Prefers(p *view.Profile, at *Place) bool {
	return p.Indifferent || !slices.ContainsFunc(at.Taints, func(t model.Taint) bool { return discourages(p, t) })
}

func discourages(p *view.Profile, t model.Taint) bool {
	return t.Effect == model.PreferNoSchedule && !tolerated(p.Tolerations, t)
}

// TaintPenalty is what a PreferNoSchedule taint weighs that is not tolerated: as much as preferred affinity of the
// highest weight.
const TaintPenalty = 100

// PreferencePenalty is the weight of what a place does not meet of a profile's preferences about nodes: preferred node
// affinity with the weights of the pod, and TaintPenalty for each PreferNoSchedule taint that is not tolerated. 0 means
// that all are met, or that the policy ignores preferences. What is not decided is not met. The answer is the same for
// all classes of a profile.
func PreferencePenalty(p *view.Profile, at *Place) int32 {
	if p.Indifferent {
		return 0
	}
	var sum int32
	for _, pref := range p.Preferred {
		if _, ok := at.satisfies(pref.Terms); !ok {
			sum += pref.Weight
		}
	}
	for _, t := range at.Taints {
		if discourages(p, t) {
			sum += TaintPenalty
		}
	}
	return sum
}

func tolerated(tolerations []model.Toleration, t model.Taint) bool {
	for _, tol := range tolerations {
		if tol.Tolerates(t) {
			return true
		}
	}
	return false
}

// NodeSelector says whether all labels of the node selector are there.
func NodeSelector(p *view.Profile, at *Place) model.Reason {
	if r, ok := at.satisfies(p.Selector); !ok {
		return requirementReason("node selector", r, at)
	}
	return model.Reason{}
}

// Affinity says whether one of the terms of the required node affinity holds.
func Affinity(p *view.Profile, at *Place) model.Reason {
	r, ok := at.satisfiesAny(p.Affinity)
	if !ok {
		return requirementReason("required node affinity", r, at)
	}
	return model.Reason{}
}

// VolumeZones says whether each volume can be reached, and how many can before the one that can't.
func VolumeZones(c *view.Class, at *Place) (r model.Reason, reached int) {
	for i, terms := range c.Profile.Volumes {
		r, ok := at.satisfiesAny(terms)
		if ok {
			continue
		}
		if reason := lackReason(r.Key, c.PodClass, at); !reason.OK() {
			return reason, i
		}
		if i >= len(c.Volumes) {
			reason := requirementReason("place of the resource claim's devices", r, at)
			reason.Code = model.CodeDevices
			reason.Remedy = "allow nodes from where the devices of the shared resource claim can be reached"
			return reason, i
		}
		what, which := "volume of its own", "the pod's volume"
		if name := c.Volumes[i].Name; name != "" {
			what, which = "volume "+name, "volume "+name
		}
		reason := requirementReason(what, r, at)
		reason.Code = model.CodeVolumeZone
		reason.Remedy = fmt.Sprintf("let pool and pod allow nodes from where %s can be reached", which)
		if namesNode(r.Key) {
			reason.Remedy = fmt.Sprintf("free capacity on the node that %s is tied to, or delete the pod and its volume claim", which)
		}
		return reason, i
	}
	return model.Reason{}, len(c.Profile.Volumes)
}

// lackReason says what a node lacks, where that is what the label says that is in the way.
func lackReason(label string, c *model.PodClass, at *Place) model.Reason {
	out := model.Reason{Code: model.CodeNodeLacks}
	if driver, is := strings.CutPrefix(label, model.LacksDriver); is {
		out.Message = fmt.Sprintf("the CSI driver %s is not on the node, and keeps its volumes' pods off such nodes", driver)
		if at.Fresh {
			out.Message = fmt.Sprintf("nodes of its pool that are like it lack the CSI driver %s, which keeps its volumes' pods off them", driver)
		}
		out.Remedy = fmt.Sprintf("have the DaemonSet of %s run there, or take preventPodSchedulingIfMissing off its CSIDriver", driver)
	}
	if feature, is := strings.CutPrefix(label, model.LacksFeature); is {
		out.Message = fmt.Sprintf("the kubelet does not declare the feature %s, which the pod needs", feature)
		if at.Fresh {
			out.Message = fmt.Sprintf("going by the youngest node, the pool's kubelets do not declare the feature %s, which the pod needs", feature)
		}
		out.Remedy = fmt.Sprintf("give the nodes kubelets that have %s, or leave what needs it out of the pod", feature)
	}
	if strings.HasPrefix(label, model.LacksDevices) {
		out.Message, out.Remedy = lackedDevices(label, c, at)
	}
	if out.Message == "" {
		return model.Reason{}
	}
	return out
}

// lackedDevices says which devices a node lacks that were to be expected there, and where that was seen.
func lackedDevices(label string, c *model.PodClass, at *Place) (message, remedy string) {
	value, _ := at.label(label)
	has := lacks.ReadDevices(value)
	pool, _ := at.label(labels.NodePool)
	for _, d := range c.DeviceClaims {
		for _, q := range d.Requests {
			i := slices.IndexFunc(q.Options, func(o model.DeviceOption) bool { return lacks.Concerns(label, &o) })
			if i < 0 {
				continue
			}
			message = fmt.Sprintf("request %s wants %s of class %s, which node %s of pool %s was to have, and %s",
				q.Name, devices.Wanted(&q.Options[i]), q.Options[i].DeviceClass, has.Node, pool, published(has))
			if at.Fresh {
				message += ": another one would be like it"
			}
			if has.Drivers == "" {
				return message, "have the driver of such devices run there"
			}
			return message, fmt.Sprintf("have driver %s run on such nodes, or correct the pool's annotation %s", has.Drivers, labels.Devices)
		}
	}
	return "", ""
}

// published says what drivers have published on a node that lacks devices.
func published(has lacks.Devices) string {
	switch {
	case has.Drivers == "":
		return "no driver has published any there"
	case has.Has == 0:
		return fmt.Sprintf("driver %s has published none there that pods can be given", has.Drivers)
	default:
		return fmt.Sprintf("driver %s has published %d there that pods can be given", has.Drivers, has.Has)
	}
}

// namesNode says that a label tells one node from all others, so that no new node has a value that is known.
func namesNode(key string) bool { return key == labels.Hostname || key == model.KeyNodeName }

func requirementReason(what string, r require.Requirement, at *Place) model.Reason {
	has := "which is not set there"
	if v, ok := at.label(r.Key); ok {
		has = fmt.Sprintf("but there it is %q", v)
	} else if open, ok := at.Open.Get(r.Key); ok {
		has = fmt.Sprintf("but there only %s is sure", open)
	} else if at.Fresh && namesNode(r.Key) {
		has = "and a new node will have a name of its own"
	}
	return model.Reason{
		Code:    model.CodeRequirements,
		Message: fmt.Sprintf("the %s asks for %s, %s", what, r, has),
		Remedy:  fmt.Sprintf("allow %s in the node pool, or change the %s", r, what),
	}
}

// satisfies says whether the place has, for sure, all that a Set asks for; if not, the first Requirement that fails.
func (at *Place) satisfies(s require.Set) (require.Requirement, bool) {
	for _, r := range s {
		if !at.holds(r) {
			return r, false
		}
	}
	return require.Requirement{}, true
}

// satisfiesAny says whether one of some alternatives holds; none at all is no constraint. If none holds it returns what
// fails in the first.
func (at *Place) satisfiesAny(alternatives []require.Set) (require.Requirement, bool) {
	var first require.Requirement
	for i, s := range alternatives {
		r, ok := at.satisfies(s)
		if ok {
			return require.Requirement{}, true
		}
		if i == 0 {
			first = r
		}
	}
	return first, len(alternatives) == 0
}

func (at *Place) holds(r require.Requirement) bool {
	if v, ok := at.label(r.Key); ok {
		return r.Matches(v, true)
	}
	open, ok := at.Open.Get(r.Key)
	if !ok {
		return at.freshly(r)
	}
	// Of endlessly many values no more is sure than that there will be one: who chooses it is not known here.
	if endless(open) {
		return exists(r.Key).SubsetOf(r)
	}
	return open.SubsetOf(r)
}

// endless says that a label will be there, with a value that nothing narrows to a list.
func endless(r require.Requirement) bool {
	_, finite := r.Values()
	return !finite && !r.AllowsAbsent()
}

func exists(key string) require.Requirement {
	return require.New(model.Requirement{Key: key, Operator: model.Exists})
}

// MayRun says whether pods of a profile may turn up at a place, as a DaemonSet's do: what is not decided yet may turn out
// in their favour. Where they can't reach what they need they are made all the same, and stay pending.
func MayRun(p *view.Profile, at *Place) bool {
	return Tolerates(p, at) && maySelect(p, at) && !slices.ContainsFunc(p.Volumes, func(reach []require.Set) bool {
		return len(reach) > 0 && !slices.ContainsFunc(reach, at.maybeAll)
	})
}

func maySelect(p *view.Profile, at *Place) bool {
	return at.maybeAll(p.Selector) && (len(p.Affinity) == 0 || slices.ContainsFunc(p.Affinity, at.maybeAll))
}

// Selects says whether the node selector and the required node affinity hold at a place: for sure, and whether they may,
// once it is decided what is not yet.
func Selects(p *view.Profile, at *Place) (sure, may bool) {
	if _, sure = at.satisfies(p.Selector); sure {
		_, sure = at.satisfiesAny(p.Affinity)
	}
	return sure, sure || maySelect(p, at)
}

func (at *Place) maybeAll(s require.Set) bool {
	return !slices.ContainsFunc(s, func(r require.Requirement) bool { return !at.maybe(r) })
}

func (at *Place) maybe(r require.Requirement) bool {
	if v, ok := at.label(r.Key); ok {
		return r.Matches(v, true)
	}
	open, ok := at.Open.Get(r.Key)
	if !ok {
		return at.freshly(r)
	}
	if endless(open) {
		return !r.SubsetOf(require.New(model.Requirement{Key: r.Key, Operator: model.DoesNotExist}))
	}
	return !open.Intersect(r).Empty()
}

// Label is the value of a label that is decided; ok is false where it is absent or open.
func (at *Place) Label(key string) (value string, ok bool) { return at.label(key) }

// freshly judges a label that the place does not have: it stays absent, but for the hostname of a node that is not there
// yet, which will be one that no selector names.
func (at *Place) freshly(r require.Requirement) bool {
	if at.Fresh && r.Key == labels.Hostname {
		return r.Matches("\x00", true)
	}
	return r.Matches("", false)
}

func (at *Place) label(key string) (string, bool) {
	for _, l := range at.Local {
		if l.Key == key {
			return l.Value, true
		}
	}
	return at.Labels.Get(key)
}
