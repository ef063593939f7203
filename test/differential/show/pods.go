package show

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

func (w *writer) podClass(id model.ClassID) *model.PodClass {
	for i := range w.s.PodClasses {
		if c := &w.s.PodClasses[i]; c.ID == id {
			return c
		}
	}
	return &model.PodClass{}
}

func (w *writer) pod(p *model.Pod) {
	c := w.podClass(p.Class)
	if c.Daemon {
		w.line("# a pod of DaemonSet", c.OwnerName+": "+string(p.ID)+" on "+string(p.Node))
		return
	}
	words := append(w.podWords(c, false), flag("terminating", p.Terminating && p.TerminationDeadline.IsZero()), pair("ends-in", ends(p)), pair("expected", string(p.ExpectedNode)), pair("unschedulable", since(p)))
	w.line("pod", string(p.ID), words...)
}

// podWords are the words of a class.
func (w *writer) podWords(c *model.PodClass, daemon bool) []string {
	words := resources(c.Requests)
	add := func(key, value string) { words = append(words, pair(key, value)) }
	add("labels", pairs(c.Labels))
	words = append(words, flag("unlabelled", len(c.Labels) == 0), number("priority", int64(c.Priority)))
	if !daemon {
		add("owner", c.OwnerKind+"/"+c.OwnerName)
	}
	add("select", pairs(c.NodeSelector))
	for _, t := range c.NodeAffinity {
		add("affinity", term(t.Requirements))
	}
	for _, t := range c.PreferredNodeAffinity {
		add("prefer", fmt.Sprintf("%d: %s", t.Weight, term(t.Requirements)))
	}
	for _, t := range c.Tolerations {
		add("tolerate", toleration(t))
	}
	if daemon && len(c.Tolerations) == 0 {
		add("tolerate", "nothing")
	}
	for _, t := range c.TopologySpread {
		add("spread", spread(t))
	}
	if c.DefaultSelector != nil {
		add("default-selector", selector(c.DefaultSelector))
	}
	for _, t := range c.PodAffinity {
		words = append(words, `near="`+podTerm(t)+`"`)
	}
	for _, t := range c.PodAntiAffinity {
		words = append(words, `apart="`+podTerm(t)+`"`)
	}
	for _, p := range c.HostPorts {
		add("port", port(p))
	}
	for _, v := range c.Volumes {
		words = append(words, `volume="`+volume(v)+`"`)
	}
	for _, x := range c.DeviceClaims {
		add("devices", deviceClaim(x))
	}
	for _, x := range c.ExtendedRequests {
		add("extended", string(x.Resource)+"="+x.Devices.Selector)
	}
	return append(words, pair("needs-drivers", strings.Join(c.NeededDrivers, ",")), pair("needs-features", strings.Join(c.NeededFeatures, ",")))
}

func toleration(t model.Toleration) string {
	out := t.Key
	if t.Key == "" && t.Exists {
		return "*"
	}
	if !t.Exists {
		out += "=" + t.Value
	}
	if t.Effect != model.AnyEffect {
		out += ":" + t.Effect.String()
	}
	return out
}

func selector(s *model.Selector) string {
	if s == nil {
		return "none"
	}
	if len(s.Requirements) == 0 {
		return "*"
	}
	var out []string
	for _, r := range s.Requirements {
		switch r.Operator {
		case model.In:
			out = append(out, r.Key+"="+strings.Join(r.Values, "|"))
		case model.NotIn:
			out = append(out, r.Key+"!="+strings.Join(r.Values, "|"))
		case model.DoesNotExist:
			out = append(out, "!"+r.Key)
		default:
			out = append(out, r.Key)
		}
	}
	return strings.Join(out, ",")
}

func spread(t model.TopologySpread) string {
	out := fmt.Sprintf("%s skew=%d of=%s", key(t.TopologyKey), t.MaxSkew, selector(t.Selector))
	if !t.Required {
		out += " soft"
	}
	if t.MinDomains > 0 {
		out += fmt.Sprintf(" min-domains=%d", t.MinDomains)
	}
	if t.IgnoreNodeAffinity {
		out += " ignore-affinity"
	}
	if t.HonorTaints {
		out += " honor-taints"
	}
	return out
}

func podTerm(t model.PodAffinityTerm) string {
	out := key(t.TopologyKey) + " of=" + selector(t.Selector)
	if len(t.Namespaces) > 0 {
		out += " in=" + strings.Join(t.Namespaces, ",")
	}
	if t.NamespaceSelector != nil {
		out += " in-labelled=" + selector(t.NamespaceSelector)
	}
	if t.Weight != 0 {
		out += " weight=" + strconv.Itoa(int(t.Weight))
	}
	return out
}

func port(p model.HostPort) string {
	out := strconv.Itoa(int(p.Port))
	if p.IP != "" {
		out = p.IP + ":" + out
	}
	if p.Protocol != "TCP" {
		out = p.Protocol + "/" + out
	}
	return out
}

func volume(v model.VolumeTopology) string {
	_, name, _ := strings.Cut(v.Name, "/")
	var terms []string
	for _, t := range v.Terms {
		terms = append(terms, term(t.Requirements))
	}
	of := name + "@" + v.Driver
	if v.Exclusive {
		of += " exclusive"
	}
	return strings.TrimSpace(of + ": " + strings.Join(terms, " || "))
}

// ends is in what time the grace of a pod ends that is being deleted; "" where that is not known.
func ends(p *model.Pod) string {
	if p.TerminationDeadline.IsZero() {
		return ""
	}
	return p.TerminationDeadline.Sub(gen.Now()).String()
}

func since(p *model.Pod) string {
	if p.UnschedulableTime.IsZero() {
		return ""
	}
	return gen.Now().Sub(p.UnschedulableTime).String()
}
