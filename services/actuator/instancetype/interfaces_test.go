package instancetype

import (
	"errors"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestInterfacesThatTheClassLists(t *testing.T) {
	p5 := catalog.Type{
		Name: "p5.48xlarge", Arch: "amd64", Hypervisor: "nitro", VCPU: 192, MemoryMiB: 2 << 20,
		DefaultENIs: 2, IPv4PerENI: 50, NetworkCards: 32, EFAInterfaces: 32,
	}
	s := Settings{Interfaces: []Interface{{}, {Device: 1, EFAOnly: true}, {Card: 1, Device: 1, EFAOnly: true}}}
	got, err := Resolve(p5, s)
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Capacity.Value(EFA); n != 2 {
		t.Errorf("%d adapters, want the 2 that the class lists", n)
	}
	if n := got.Capacity.Value(model.Resource(Pods)); n != 1*49+2 {
		t.Errorf("%d pods, want those of one interface: the other of card 0 has no addresses", n)
	}
	if _, err := Resolve(p5, Settings{Prefixes: 49}); err != nil {
		t.Errorf("as many prefixes as an interface takes beside its own address: %v", err)
	}
	one := p5
	one.NetworkCards, one.EFAInterfaces = 0, 1
	second := p5
	second.EFAFirstCard = 1
	for name, tt := range map[string]struct {
		t catalog.Type
		s Settings
	}{
		"fewer cards":                       {one, s},
		"fewer adapters":                    {one, Settings{Interfaces: []Interface{{}, {Device: 1, EFAOnly: true}, {Device: 2, EFAOnly: true}}}},
		"fewer interfaces on a card":        {p5, Settings{Interfaces: []Interface{{}, {Device: 1}, {Device: 2}}}},
		"a first card without EFA":          {second, s},
		"another hypervisor":                {catalog.Type{Name: "t2.large", Arch: "amd64", Hypervisor: "xen"}, Settings{Nitro: true}},
		"no virtual machines of its own":    {p5, Settings{NestedVirtualization: true}},
		"no room for so many prefixes":      {catalog.Type{Name: "t3.small", Arch: "amd64", IPv4PerENI: 4}, Settings{Prefixes: 4}},
		"no prefixes at all":                {catalog.Type{Name: "m4.large", Arch: "amd64", Hypervisor: "xen", IPv4PerENI: 10}, Settings{Prefixes: 1}},
		"no place in clusters, EC2 says":    {catalog.Type{Name: "m7i-flex.large", Arch: "amd64", NoClusterPlacement: true}, Settings{PlacementStrategy: "cluster"}},
		"burstable in a cluster of its own": {catalog.Type{Name: "t3.large", Arch: "amd64", BurstablePerformance: true}, Settings{PlacementStrategy: "cluster"}},
	} {
		if _, err := Resolve(tt.t, tt.s); !errors.Is(err, ErrIncompatible) {
			t.Errorf("%s: error %v, want that the type does not fit the class", name, err)
		}
	}
}

// EC2 gives a public address to no instance with several interfaces, and launches attach all adapters that a type takes.
func TestAdaptersBesideAPublicAddress(t *testing.T) {
	one := catalog.Type{Name: "g6.8xlarge", Arch: "amd64", Hypervisor: "nitro", VCPU: 32, MemoryMiB: 128 << 10, EFAInterfaces: 1}
	four, second := one, one
	four.NetworkCards, four.EFAInterfaces = 4, 4
	second.NetworkCards, second.EFAFirstCard = 2, 1
	for name, tt := range map[string]struct {
		t      catalog.Type
		public bool
		want   int64
	}{
		"the node's own interface is the only adapter": {one, true, 1},
		"an adapter on each of four cards":             {four, true, 0},
		"the first card takes none":                    {second, true, 0},
		"four without a public address":                {four, false, 4},
	} {
		got, err := Resolve(tt.t, Settings{PublicAddress: tt.public})
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Capacity.Value(EFA); n != tt.want {
			t.Errorf("%s: %d adapters, want %d", name, n, tt.want)
		}
	}
}
