package gen

import (
	"fmt"
	"strings"
)

// Family is a set of kinds of constraints.
type Family uint64

// The families. HostAffinity is node affinity on the host name; it needs Affinity too. DaemonTies lets pods be tied to,
// or kept from, the pods of DaemonSets. Roomy are clusters in which most pods fit. Kinds are all reasons to disrupt
// nodes and all that forbids it, Defaults the scheduler's default spread, Several pods that are tied by several
// topologies at once, Devices those of dynamic resource allocation, NewAttach attach limits that new nodes share with
// those of their type, Exclusive volumes that one pod at a time may use, Ending pods that are being deleted, and pods
// that wait for their room, Needs drivers and features of kubelets that nodes may lack, and Backed extended resources that
// devices serve; it needs Devices too.
const (
	Selector Family = 1 << iota
	Affinity
	Taints
	Extended
	Ports
	Spread
	PodAffinity
	PodAntiAffinity
	Namespaces
	Volumes
	Attach
	Nodes
	Cordon
	Flights
	Daemons
	Priority
	Preferred
	Limits
	OpenLabels
	MinValues
	HostAffinity
	DaemonTies
	Roomy
	ResourceLimits
	Leaving
	Static
	Expected
	Removals
	Buffers
	Overlays
	Kinds
	Defaults
	Several
	Devices
	NewAttach
	Exclusive
	Ending
	Needs
	Backed
	end
)

// Everything is all the families.
const Everything = end - 1

func names() []string {
	return []string{
		"selector", "affinity", "taints", "extended", "ports", "spread", "pod-affinity", "pod-anti-affinity", "namespaces",
		"volumes", "attach", "nodes", "cordon", "flights", "daemons", "priority", "preferred", "limits", "open-labels", "min-values",
		"host-affinity", "daemon-ties", "roomy", "resource-limits", "leaving", "static", "expected", "removals", "buffers", "overlays",
		"kinds", "defaults", "several", "devices", "new-attach",
		"exclusive", "ending", "needs", "backed",
	}
}

// All lists the families one by one.
func All() []Family {
	var out []Family
	for f := Family(1); f < end; f <<= 1 {
		out = append(out, f)
	}
	return out
}

// Parse reads "all", "spread,nodes" or "all,-spread".
func Parse(text string) (Family, error) {
	var out Family
	for word := range strings.SplitSeq(text, ",") {
		name, without := strings.CutPrefix(word, "-")
		set := Family(0)
		if name == "all" {
			set = Everything
		}
		for i, n := range names() {
			if n == name {
				set = 1 << i
			}
		}
		if set == 0 {
			return 0, fmt.Errorf("family %q is not known; known are all, %s", name, strings.Join(names(), ", "))
		}
		if without {
			out &^= set
		} else {
			out |= set
		}
	}
	return out, nil
}

// String lists the families by name.
func (f Family) String() string {
	var out []string
	for i, n := range names() {
		if f&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ",")
}
