// Package show writes a case down in the language of test/scenario/GRAMMAR.md, so that a failing seed can be read, and
// kept as a scenario. What the language has no words for is written as a comment. Start reading with Scenario.
package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// writer collects lines.
type writer struct {
	strings.Builder
	s *model.Snapshot
}

// Scenario is a case as a scenario file, under a title.
func Scenario(c gen.Case, title string) string {
	w := &writer{s: &c.Input.Snapshot}
	fmt.Fprintf(w, "%s\n\n-- catalog --\n", title)
	w.catalog()
	w.WriteString("-- policy --\n")
	if len(c.Input.Kinds) > 0 {
		w.WriteString("kinds provision\n")
	}
	if c.Input.Policy.RoomWait != nil {
		w.line("room-wait", c.Input.Policy.RoomWait.String())
	}
	for _, t := range c.Input.Policy.DefaultSpread {
		w.line("default-spread", key(t.TopologyKey), number("skew", int64(t.MaxSkew)), flag("soft", !t.Required))
	}
	w.WriteString("-- snapshot --\n")
	for _, ns := range w.s.Namespaces {
		w.line("namespace", ns.Name, pair("labels", pairs(ns.Labels)))
	}
	for i := range w.s.NodeClasses {
		w.class(&w.s.NodeClasses[i])
	}
	for i := range w.s.NodePools {
		w.pool(&w.s.NodePools[i])
	}
	for i := range w.s.DaemonSets {
		d := &w.s.DaemonSets[i]
		w.line("daemonset", d.ID, w.podWords(w.podClass(d.Class), true)...)
	}
	for i := range w.s.Pods {
		w.pod(&w.s.Pods[i])
	}
	for i := range w.s.Nodes {
		w.node(&w.s.Nodes[i])
	}
	for i := range w.s.Claims {
		w.claim(&w.s.Claims[i])
	}
	w.later()
	return w.String()
}

// line writes a verb, a name and the words that are not empty.
func (w *writer) line(verb, name string, words ...string) {
	w.WriteString(verb + " " + name)
	for _, x := range words {
		if x != "" {
			w.WriteString(" " + x)
		}
	}
	w.WriteString("\n")
}

// pair is key=value, quoted where it must be; nothing without a value.
func pair(key, value string) string {
	if value == "" {
		return ""
	}
	if strings.ContainsAny(value, " \t") {
		return key + `="` + value + `"`
	}
	return key + "=" + value
}

func flag(name string, set bool) string {
	if set {
		return name
	}
	return ""
}

func number(key string, n int64) string {
	if n == 0 {
		return ""
	}
	return pair(key, strconv.FormatInt(n, 10))
}

func pairs(ls model.Labels) string {
	var out []string
	for _, l := range ls {
		out = append(out, l.Key+"="+l.Value)
	}
	return strings.Join(out, ",")
}

func money(micro int64) string { return fmt.Sprintf("$%g", float64(micro)/1e6) }

func memory(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatInt(bytes>>20, 10) + "Mi"
}

func cpu(milli int64) string {
	if milli == 0 {
		return ""
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// letter is a zone's short name.
func letter(zone string) string { return strings.TrimPrefix(zone, "us-east-1") }

// resources are the words for what something has or asks for.
func resources(as model.Amounts) []string {
	var more []string
	for _, a := range as {
		switch a.Resource {
		case model.CPU, model.Memory, model.Pods:
		default:
			more = append(more, fmt.Sprintf("%s=%d", a.Resource, a.Value))
		}
	}
	return []string{
		pair("cpu", cpu(as.Value(model.CPU))), pair("mem", memory(as.Value(model.Memory))), pair("more", strings.Join(more, ",")),
	}
}

// key is a label's short name where it has one.
func key(k string) string {
	switch k {
	case labels.Zone, labels.EBSZone:
		return "zone"
	case labels.CapacityType:
		return "capacity"
	case labels.InstanceType:
		return "type"
	case labels.Arch:
		return "arch"
	case labels.Hostname:
		return "hostname"
	case labels.NodePool:
		return "pool"
	}
	return k
}

func requirement(r model.Requirement) string {
	values := slices.Clone(r.Values)
	if key(r.Key) == "zone" {
		for i := range values {
			values[i] = letter(values[i])
		}
	}
	return strings.TrimSpace(key(r.Key) + " " + r.Operator.String() + " " + strings.Join(values, ","))
}

func term(rs []model.Requirement) string {
	var out []string
	for _, r := range rs {
		out = append(out, requirement(r))
	}
	return strings.Join(out, " && ")
}

func taints(ts []model.Taint) string {
	var out []string
	for _, t := range ts {
		out = append(out, t.String())
	}
	return strings.Join(out, ",")
}

// catalog writes the types with their prices, and what is not available.
func (w *writer) catalog() {
	zones := w.zones()
	for _, t := range w.s.Catalogs[0].InstanceTypes {
		var onDemand, spot int64
		for _, o := range w.s.Offerings {
			switch {
			case o.InstanceType != t.Name:
			case o.CapacityType == model.Spot:
				spot = o.Price
			default:
				onDemand = o.Price
			}
		}
		var own model.Labels
		for _, l := range t.Labels {
			if strings.HasPrefix(l.Key, "karpenter.k8s.aws/") {
				own = append(own, l)
			}
		}
		arch, _ := t.Labels.Get(labels.Arch)
		words := append(resources(t.Capacity), number("pods", t.Capacity.Value(model.Pods)), pair("arch", arch), pair("labels", pairs(own)))
		if onDemand > 0 {
			words = append(words, pair("price", money(onDemand)))
		}
		if spot > 0 {
			words = append(words, pair("spot", money(spot)))
		}
		w.line("type", string(t.Name), append(words, pair("zones", strings.Join(zones, ",")))...)
		for _, z := range zones {
			w.unavailable(t.Name, z, model.OnDemand, onDemand)
			w.unavailable(t.Name, z, model.Spot, spot)
		}
	}
}

func (w *writer) zones() []string {
	var out []string
	for _, o := range w.s.Offerings {
		out = append(out, letter(o.Zone))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *writer) unavailable(t model.TypeName, zone string, ct model.CapacityType, price int64) {
	there := slices.ContainsFunc(w.s.Offerings, func(o model.Offering) bool {
		return o.InstanceType == t && letter(o.Zone) == zone && o.CapacityType == ct && o.UnavailableUntil.IsZero()
	})
	if !there && price > 0 {
		w.line("unavailable", fmt.Sprintf("%s/%s/%s", t, zone, ct))
	}
}

func (w *writer) class(c *model.NodeClass) {
	var zones, arch []string
	for _, z := range c.Zones {
		zones = append(zones, letter(z))
	}
	for _, r := range c.Images[0].Requirements {
		arch = append(arch, r.Values...)
	}
	w.line("class", string(c.Name), pair("zones", strings.Join(zones, ",")), pair("arch", strings.Join(arch, ",")))
}

func (w *writer) pool(p *model.NodePool) {
	words := []string{number("weight", int64(p.Weight))}
	capacity := "on-demand,spot"
	for _, r := range p.Requirements {
		if key(r.Key) == "capacity" && r.Operator == model.In {
			capacity = strings.Join(r.Values, ",")
			continue
		}
		words = append(words, pair("require", requirement(r)))
		if r.MinValues > 0 {
			words = append(words, pair("min", fmt.Sprintf("%s %d", key(r.Key), r.MinValues)))
		}
	}
	var limits []string
	for _, a := range p.Limits {
		v := strconv.FormatInt(a.Value, 10)
		if a.Resource == model.CPU {
			v += "m"
		}
		limits = append(limits, string(a.Resource)+"="+v)
	}
	words = append(words, pair("capacity", capacity), pair("labels", pairs(p.Labels)), pair("taints", taints(p.Taints)),
		pair("startup-taints", taints(p.StartupTaints)), pair("limits", strings.Join(limits, ",")))
	if p.Replicas != nil {
		words = append(words, pair("replicas", strconv.FormatInt(*p.Replicas, 10)))
	}
	if p.ConsolidationPolicy == model.WhenEmptyOrUnderutilized {
		words = append(words, "policy=WhenEmptyOrUnderutilized after=0s budget=100%")
	}
	for _, t := range p.Devices {
		words = append(words, deviceWords(t.Devices, t.InstanceTypes...)...)
	}
	w.line("pool", string(p.Name), words...)
}
