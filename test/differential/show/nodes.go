package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (w *writer) claimOf(n *model.Node) *model.Claim {
	i := slices.IndexFunc(w.s.Claims, func(c model.Claim) bool { return c.Node == n.Name })
	if i < 0 {
		return nil
	}
	return &w.s.Claims[i]
}

func (w *writer) node(n *model.Node) {
	label := func(key string) string {
		v, _ := n.Labels.Get(key)
		return v
	}
	pool := label(labels.NodePool)
	var own model.Labels
	for _, l := range n.Labels {
		if !strings.Contains(l.Key, "/") {
			own = append(own, l)
		}
	}
	var pods, limits, ts []string
	for _, p := range w.s.Pods {
		if p.Node == n.Name && !w.podClass(p.Class).Daemon {
			pods = append(pods, string(p.ID))
		}
	}
	for _, a := range n.VolumeLimits {
		limits = append(limits, fmt.Sprintf("%s=%d", a.Resource, a.Value))
	}
	for _, t := range n.Taints {
		ofPool := slices.ContainsFunc(w.s.NodePools, func(p model.NodePool) bool { return string(p.Name) == pool && slices.Contains(p.Taints, t) })
		if !ofPool {
			ts = append(ts, t.String())
		}
	}
	words := []string{
		pair("type", label(labels.InstanceType)),
		pair("zone", letter(label(labels.Zone))), pair("capacity", label(labels.CapacityType)), pair("pool", pool),
		pair("pods", strings.Join(pods, ",")), pair("labels", pairs(own)), pair("taints", strings.Join(ts, ",")),
		pair("attach", strings.Join(limits, ",")), pair("drivers", strings.Join(n.Drivers, ",")),
		pair("features", strings.Join(n.Features, ",")), flag("unowned", w.claimOf(n) == nil), flag("cordoned", n.Unschedulable),
		flag("terminating", n.Terminating), w.state(n),
	}
	w.line("node", string(n.Name), append(words, deviceWords(n.Devices)...)...)
}

// claim writes a claim whose node has not joined.
func (w *writer) claim(c *model.Claim) {
	if c.Node != "" {
		return
	}
	var types, pods []string
	for _, o := range c.Offerings {
		name := string(o.InstanceType)
		if o.Zone != c.Offerings[0].Zone || o.CapacityType != c.Offerings[0].CapacityType {
			name += "/" + letter(o.Zone) + "/" + o.CapacityType.String()
		}
		types = append(types, name)
	}
	for _, p := range c.Pods {
		if slices.ContainsFunc(w.s.Pods, func(x model.Pod) bool { return x.ID == p }) {
			pods = append(pods, string(p))
		}
	}
	words := []string{pair("pool", string(c.NodePool)), pair("state", c.State.String()), pair("pods", strings.Join(pods, ","))}
	if c.InstanceType != "" {
		words = append(words, pair("type", string(c.InstanceType)), pair("zone", letter(c.Zone)), pair("capacity", c.CapacityType.String()))
	} else {
		first := c.Offerings[0]
		words = append(words, pair("types", strings.Join(types, ",")), pair("zone", letter(first.Zone)),
			pair("capacity", first.CapacityType.String()))
	}
	w.line("claim", string(c.ID), words...)
	if len(c.Requirements) > 0 || len(c.Labels) > 0 {
		w.line("# with", term(c.Requirements), pair("labels", pairs(c.Labels)))
	}
}
