package instancetype

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// efaOnly is how many of the interfaces on a card, or with card -1 on any, are for EFA alone.
func efaOnly(all []Interface, card int64) int64 {
	var n int64
	for _, i := range all {
		if i.EFAOnly && (card < 0 || i.Card == card) {
			n++
		}
	}
	return n
}

// adapters is how many elastic fabric adapters a node can have: those that the class lists, or else all that the type
// takes. A node with a public address has one interface, so that it can have the adapter alone that is this one itself.
func (r resolved) adapters(t catalog.Type) int64 {
	if len(r.interfaces) > 0 {
		return efaOnly(r.interfaces, -1)
	}
	if r.publicAddress && (t.EFAFirstCard > 0 || t.EFAInterfaces > 1) {
		return 0
	}
	return t.EFAInterfaces
}

// allows refuses types that EC2 would not launch as the class says.
func (s Settings) allows(t catalog.Type) error {
	no := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrIncompatible, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Nitro && t.Hypervisor != "nitro":
		return no("connectionTracking needs the hypervisor nitro")
	case s.NestedVirtualization && !t.NestedVirtualization:
		return no("it cannot run virtual machines itself")
	case s.Prefixes > 0 && t.Hypervisor == "xen":
		return no("ipPrefixCount needs a type of the Nitro system")
	case t.IPv4PerENI > 0 && s.Prefixes >= t.IPv4PerENI: // each takes the place of an address, and the interface has one of its own
		return no("its network interfaces take %d address prefixes, the class asks for %d", t.IPv4PerENI-1, s.Prefixes)
	case s.PlacementStrategy == "cluster" && (t.NoClusterPlacement || t.BurstablePerformance):
		return no("EC2 takes it into no placement group of the strategy cluster")
	}
	perCard := map[int64]int64{}
	for _, i := range s.Interfaces {
		perCard[i.Card]++
		switch {
		case i.Card >= max(t.NetworkCards, 1):
			return no("it has no network card %d", i.Card)
		case perCard[i.Card] > t.DefaultENIs || i.Device >= t.DefaultENIs:
			return no("its network cards take %d interfaces each", t.DefaultENIs)
		case i.EFAOnly && i.Card < t.EFAFirstCard:
			return no("its network card %d takes no EFA", i.Card)
		}
	}
	if n := efaOnly(s.Interfaces, -1); n > t.EFAInterfaces {
		return no("it takes %d elastic fabric adapters, the class asks for %d", t.EFAInterfaces, n)
	}
	return nil
}
