// Package device converts what pods claim of dynamic resource allocation, and what nodes have of it.
//
// The planner can't evaluate the expressions by which claims select devices. So Rules collects those of a cluster, and
// each device says which of them it matches. The package must never know a pod's class or a client. Start reading at
// Rules, then OfNode for nodes and Claim for pods.
package device

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

// celCacheSize is how many compiled expressions are kept; a cluster has a handful.
const celCacheSize = 1000

// expressions are those of a class and of a request, all of which a device must meet.
func expressions(lists ...[]resourcev1.DeviceSelector) ([]string, string) {
	out := []string{}
	for _, list := range lists {
		for i, s := range list {
			if s.CEL == nil {
				return nil, fmt.Sprintf("selectors[%d]: is of a kind that is not known; want cel", i)
			}
			out = append(out, s.CEL.Expression)
		}
	}
	return out, ""
}

// selectorID names a list of expressions by its content, so that classes and nodes that are converted at different times
// agree on it.
func selectorID(exprs []string) string {
	h := sha256.New()
	for _, e := range exprs {
		fmt.Fprintf(h, "%d:%s", len(e), e)
	}
	return "d-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Rules is what the cluster's claims look at in devices: the selectors of their requests, and the attributes of
// their constraints. Nodes' devices are converted by it, because the planner can't evaluate expressions. Make it with
// NewRules; it is owned by one goroutine.
type Rules struct {
	cache *cel.Cache
	by    map[string][]rule // what each claim and template looks at
	uses  map[rule]int

	selectors  []selector // sorted by id
	attributes []string   // sorted
	version    int
	taints     []*resourcev1.DeviceTaintRule // those that keep pods away
}

// rule is a selector before its class is known, or an attribute.
type rule struct{ class, expressions, attribute string }

// exprSeparator can't be part of an expression: no CEL token has it.
const exprSeparator = "\x00"

type selector struct {
	id       string
	exprs    []string
	compiled []cel.CompilationResult
}

// NewRules has no rules yet.
func NewRules() *Rules {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
	return &Rules{cache: cel.NewCache(celCacheSize, features), by: map[string][]rule{}, uses: map[rule]int{}}
}

// Taints takes the rules that taint devices, as their drivers do themselves in slices.
func (r *Rules) Taints(list []*resourcev1.DeviceTaintRule) {
	r.taints = nil
	for _, t := range list {
		if t.Spec.DeviceSelector != nil && keepsAway(t.Spec.Taint) {
			r.taints = append(r.taints, t)
		}
	}
}

// tainted says whether a device is tainted so that no pod gets it, by its driver or by a rule. The pool of a device that
// is yet to come is "".
func (r *Rules) tainted(l listed) bool {
	is := func(want *string, is string) bool { return want == nil || *want == is }
	return slices.ContainsFunc(l.device.Taints, keepsAway) || slices.ContainsFunc(r.taints, func(t *resourcev1.DeviceTaintRule) bool {
		s := t.Spec.DeviceSelector
		return is(s.Driver, l.driver) && is(s.Pool, l.pool) && is(s.Device, l.device.Name)
	})
}

func keepsAway(t resourcev1.DeviceTaint) bool {
	return t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute
}

// Put takes what one claim or template asks for, by a key of the caller's, or forgets it where spec is nil. It says
// whether the rules are others now, and Classes has to be called.
func (r *Rules) Put(key string, spec *resourcev1.ResourceClaimSpec) (changed bool) {
	before, now := r.by[key], rulesOf(spec)
	for _, x := range now {
		if r.uses[x]++; r.uses[x] == 1 {
			changed = true
		}
	}
	for _, x := range before {
		if r.uses[x]--; r.uses[x] == 0 {
			delete(r.uses, x)
			changed = true
		}
	}
	if delete(r.by, key); len(now) > 0 {
		r.by[key] = now
	}
	return changed
}

func rulesOf(spec *resourcev1.ResourceClaimSpec) []rule {
	if spec == nil {
		return nil
	}
	var out []rule
	for _, q := range spec.Devices.Requests {
		for _, w := range waysOf(q) {
			if exprs, bad := expressions(w.Selectors); bad == "" {
				out = append(out, rule{class: w.DeviceClassName, expressions: strings.Join(exprs, exprSeparator)})
			}
		}
	}
	for _, c := range spec.Devices.Constraints {
		if c.MatchAttribute != nil {
			out = append(out, rule{attribute: string(*c.MatchAttribute)})
		}
	}
	return out
}

// Classes puts the rules together with the device classes that there are. Each class counts by itself as well, because a
// pod can ask for its devices without a claim.
func (r *Rules) Classes(classes []*resourcev1.DeviceClass) {
	found := map[string][]string{}
	byName := map[string][]string{}
	for _, c := range classes {
		if exprs, bad := expressions(c.Spec.Selectors); bad == "" {
			byName[c.Name] = exprs
			found[selectorID(exprs)] = exprs
		}
	}
	attributes := map[string]bool{}
	for x := range r.uses {
		if x.attribute != "" {
			attributes[x.attribute] = true
			continue
		}
		exprs, ok := byName[x.class]
		if !ok {
			continue
		}
		if x.expressions != "" {
			exprs = slices.Concat(exprs, strings.Split(x.expressions, exprSeparator))
		}
		found[selectorID(exprs)] = exprs
	}
	r.selectors = nil
	for _, id := range slices.Sorted(maps.Keys(found)) {
		s := selector{id: id, exprs: found[id]}
		for _, e := range s.exprs {
			s.compiled = append(s.compiled, r.cache.GetOrCompile(e))
		}
		r.selectors = append(r.selectors, s)
	}
	r.attributes = slices.Sorted(maps.Keys(attributes))
	r.version++
}

// Version changes whenever Classes was called.
func (r *Rules) Version() int { return r.version }

// judge fills in what the rules say of a device.
func (r *Rules) judge(out *clusterpb.NodeDevice, d *resourcev1.Device, identity []string) {
	input := cel.Device{
		Driver: out.GetDriver(), AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
	}
	for _, s := range r.selectors {
		matches, err := s.matches(input)
		switch {
		case err != nil:
			out.FailingSelectors = append(out.FailingSelectors, s.id)
		case matches:
			out.Selectors = append(out.Selectors, s.id)
			if s.mentions(identity) {
				out.OwnSelectors = append(out.OwnSelectors, s.id)
			}
		}
	}
	for _, name := range r.attributes {
		if a := attributeOf(d, out.GetDriver(), name); a != nil {
			out.Attributes = append(out.Attributes, a)
		}
	}
}

// matches evaluates one expression after the other and stops at the first that does not hold, as the scheduler does: a
// class that asks for a driver first keeps the request's expressions off the devices of others.
func (s selector) matches(d cel.Device) (bool, error) {
	for i, c := range s.compiled {
		if c.Error != nil {
			return false, fmt.Errorf("compile %q: %s", s.exprs[i], c.Error.Detail)
		}
		ok, _, err := c.DeviceMatches(context.Background(), d) // it ends by its cost limit
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// mentions says whether an expression has one of the attributes' names in it.
func (s selector) mentions(names []string) bool {
	for _, e := range s.exprs {
		for _, n := range names {
			if strings.Contains(e, n) {
				return true
			}
		}
	}
	return false
}

// attributeOf is an attribute of a device; nil for one that is not there, and for lists, which no constraint can compare.
func attributeOf(d *resourcev1.Device, driver, name string) *clusterpb.DeviceAttribute {
	a, ok := d.Attributes[resourcev1.QualifiedName(name)]
	if !ok {
		domain, id, _ := strings.Cut(name, "/")
		if a, ok = d.Attributes[resourcev1.QualifiedName(id)]; !ok || domain != driver {
			return nil
		}
	}
	out := &clusterpb.DeviceAttribute{Name: name}
	switch {
	case a.IntValue != nil:
		out.Value = &clusterpb.DeviceAttribute_IntValue{IntValue: *a.IntValue}
	case a.BoolValue != nil:
		out.Value = &clusterpb.DeviceAttribute_BoolValue{BoolValue: *a.BoolValue}
	case a.StringValue != nil:
		out.Value = &clusterpb.DeviceAttribute_StringValue{StringValue: *a.StringValue}
	case a.VersionValue != nil:
		out.Value = &clusterpb.DeviceAttribute_VersionValue{VersionValue: *a.VersionValue}
	default:
		return nil
	}
	return out
}
