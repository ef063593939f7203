// Package instancetype computes what a node of an instance type will be: the labels it carries, its capacity, and what
// of that is left for pods after the kubelet, the system and the eviction thresholds have taken theirs.
//
// It is arithmetic over two values, a type of the catalogue and the settings of a node class. It never asks AWS or a
// node, and knows neither zones, prices nor stock. All results are whole numbers, computed without floating point:
// what a node keeps back is rounded up and what it offers is therefore rounded down; the kubelet's share of the CPU
// alone is rounded down, in each tier, as the machine images do it.
//
// Start reading at Resolve, then at overhead.go.
package instancetype

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/formula"
)

// ErrIncompatible is what Resolve returns, wrapped, when no node of the type can be as the settings say. The
// settings may be right for other types: leave this one out.
var ErrIncompatible = errors.New("instance type does not fit the node class")

// AMI families, as the field spec.amiFamily of a node class writes them.
const (
	AL2          = "AL2"
	AL2023       = "AL2023"
	Bottlerocket = "Bottlerocket"
	Windows2019  = "Windows2019"
	Windows2022  = "Windows2022"
	Windows2025  = "Windows2025"
	Custom       = "Custom"
)

// Names of the resources that every shape has. CPU counts millicores, memory and ephemeral storage bytes; pods and all
// other resources are counts.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
)

// EFA is the resource of elastic fabric adapters, which a node has only where its launch attached them.
const EFA = "vpc.amazonaws.com/efa"

// NitroSandbox is the resource of pods that run in enclaves: instances that it is asked of are launched with these allowed.
// No type brings it; a NodeOverlay says which nodes have how many.
const NitroSandbox = "eks.amazonaws.com/nitro-sandbox"

// EBSVolumes is how many EBS volumes of pods a node attaches. Planners take it from the type; nodes tell it elsewhere.
const EBSVolumes = model.AttachLimit + "ebs.csi.aws.com"

// Attached is what of a type's resources a node reports that is launched for the requests: adapters only where they are
// asked for, and no attach limit.
func Attached(has, requests model.Amounts) model.Amounts {
	return slices.DeleteFunc(slices.Clone(has), func(a model.Amount) bool {
		return a.Resource == EBSVolumes || (a.Resource == EFA && requests.Value(EFA) == 0)
	})
}

// Settings is the part of a node class and of the actuator's configuration that changes what nodes offer. The zero
// value is a plain AL2023 class.
type Settings struct {
	// AMIFamily is one of the constants above; empty means AL2023.
	AMIFamily string
	// MaxPods is the kubelet's limit of pods; nil lets the network interfaces decide (110 on Windows).
	MaxPods *int64
	// MaxPodsFormula gives MaxPods for each type, in the language of package formula; "" for none.
	MaxPodsFormula string `json:",omitempty"`
	// PodsPerCore limits pods by virtual CPU; nil or zero means no such limit. Bottlerocket ignores it.
	PodsPerCore *int64
	// KubeReserved and SystemReserved are kubelet quantities by resource: cpu, memory, ephemeral-storage, pid. What is
	// absent from KubeReserved is computed; what is absent from SystemReserved is zero.
	KubeReserved, SystemReserved map[string]string
	// EvictionHard are quantities or percentages by eviction signal. memory.available and nodefs.available change what
	// is allocatable, the other signals are only checked. 100% turns a threshold off.
	EvictionHard map[string]string
	// ReservedENIs is how many network interfaces are not for pods.
	ReservedENIs int64
	// VMMemoryOverheadPercent is the share of memory that the hypervisor and the system's firmware keep, as a fraction
	// of one: 0.075 means 7.5 %. It is read to the millionth. Zero means 0.075.
	VMMemoryOverheadPercent float64
	// RAID0 makes all local NVMe disks together the ephemeral storage, where the type has any.
	RAID0 bool
	// EphemeralStorageBytes is the size of the volume that holds pods' files; zero means 20 GiB, for Windows 50.
	EphemeralStorageBytes int64
	// BlockDevices is how many EBS volumes each node is launched with; zero means those that the family's images have.
	BlockDevices int64 `json:",omitempty"`
	// Interfaces are the network interfaces that each node gets; empty for its type's own.
	Interfaces []Interface `json:",omitempty"`
	// PublicAddress says that each node gets a public address, which EC2 gives to none with several network interfaces.
	PublicAddress bool `json:",omitempty"`
	// Prefixes is how many address prefixes each node's first interface gets; zero for none.
	Prefixes int64 `json:",omitempty"`
	// Nitro and NestedVirtualization leave only types whose hypervisor is nitro, and types that can run virtual machines.
	Nitro, NestedVirtualization bool `json:",omitempty"`
	// Memory is how many bytes nodes of a type have turned out to have, by the type's name, in the place of what is
	// computed.
	Memory map[string]int64 `json:",omitempty"`
	// PlacementGroup is the id of the placement group that nodes go into, and PlacementStrategy its strategy in EC2's
	// words; "" for none.
	PlacementGroup, PlacementStrategy string `json:",omitempty"`
}

// Interface is a network interface of a node. One that is for EFA alone has no addresses for pods.
type Interface struct {
	Card, Device int64
	EFAOnly      bool
}

// Shape is what a node of one type offers under one node class. All lists are sorted by name or key.
type Shape struct {
	Name string
	// Labels are those that follow from the type. Zone, region and capacity type are not among them.
	Labels model.Labels
	// Capacity is all that the node has; Allocatable is what pods may ask for together, never below zero.
	Capacity, Allocatable model.Amounts
	// KubeReserved, SystemReserved and EvictionHard are the difference between the two.
	KubeReserved, SystemReserved, EvictionHard model.Amounts
}

// Resolve computes the shape of a type. Errors name the type and the setting; see ErrIncompatible.
func Resolve(t catalog.Type, s Settings) (Shape, error) {
	r, err := parse(s)
	if err != nil {
		return Shape{}, fmt.Errorf("instance type %s: %w", t.Name, err)
	}
	return r.shape(t, s)
}

func (r resolved) shape(t catalog.Type, s Settings) (Shape, error) {
	err := errors.Join(r.family.runsOn(t), s.allows(t))
	if err == nil && r.formula != nil {
		r.maxPods, err = r.maxPodsOf(t)
	}
	if err != nil {
		return Shape{}, fmt.Errorf("instance type %s: %w", t.Name, err)
	}
	capacity := r.capacity(t)
	kube, system, eviction := r.overhead(t, capacity)
	return Shape{
		Name:           t.Name,
		Labels:         nodeLabels(t, r.family, s.PlacementGroup),
		Capacity:       sorted(capacity),
		Allocatable:    sorted(allocatable(capacity, kube, system, eviction)),
		KubeReserved:   sorted(kube),
		SystemReserved: sorted(system),
		EvictionHard:   sorted(eviction),
	}, nil
}

// CatalogID names the shapes that follow from settings: equal settings have the same.
func CatalogID(s Settings) (model.CatalogID, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	sum := sha256.Sum256(text)
	return model.CatalogID("k-" + hex.EncodeToString(sum[:8])), nil
}

// Catalog is the shapes of those types that the settings' images can run. Errors name the type and the setting.
func Catalog(types []catalog.Type, s Settings) (*model.Catalog, error) {
	id, err := CatalogID(s)
	if err != nil {
		return nil, err
	}
	out := &model.Catalog{ID: id}
	if len(types) == 0 {
		return out, nil
	}
	r, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("instance type %s: %w", types[0].Name, err)
	}
	for _, t := range types {
		shape, err := r.shape(t, s)
		if errors.Is(err, ErrIncompatible) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.InstanceTypes = append(out.InstanceTypes, model.InstanceType{
			Name: model.TypeName(t.Name), Labels: shape.Labels, Capacity: shape.Capacity, Allocatable: shape.Allocatable,
		})
	}
	return out, nil
}

// resolved is Settings once checked, with defaults filled in.
type resolved struct {
	family                       family
	maxPods, podsPerCore         int64            // below zero: not set
	formula                      *formula.Formula // of maxPods; nil for none
	kubeReserved, systemReserved map[string]int64
	evictionHard                 map[string]threshold
	reservedENIs                 int64
	interfaces                   []Interface
	publicAddress                bool
	memoryOverheadMillionths     int64
	memory                       map[string]int64
	raid0                        bool
	storageBytes                 int64
	blockDevices                 int64
}

// Defaults of Settings.
const (
	defaultOverheadMillionths = 75_000
	defaultStorageBytes       = 20 * gi
	windowsStorageBytes       = 50 * gi
	maxPodsAllowed            = 1 << 20
)

func parse(s Settings) (resolved, error) {
	r := resolved{
		maxPods: -1, podsPerCore: -1, reservedENIs: s.ReservedENIs, interfaces: s.Interfaces, publicAddress: s.PublicAddress, raid0: s.RAID0,
		memory: s.Memory, memoryOverheadMillionths: defaultOverheadMillionths, storageBytes: defaultStorageBytes, blockDevices: s.BlockDevices,
	}
	var err error
	if r.family, err = familyNamed(s.AMIFamily); err != nil {
		return r, err
	}
	for _, n := range []struct {
		field string
		from  *int64
		to    *int64
	}{{"maxPods", s.MaxPods, &r.maxPods}, {"podsPerCore", s.PodsPerCore, &r.podsPerCore}} {
		if n.from == nil {
			continue
		}
		if *n.from < 0 || *n.from > maxPodsAllowed {
			return r, fmt.Errorf("kubelet.%s: %d: want 0 to %d", n.field, *n.from, maxPodsAllowed)
		}
		*n.to = *n.from
	}
	if s.MaxPodsFormula != "" {
		if r.formula, err = formula.Parse(s.MaxPodsFormula); err != nil {
			return r, fmt.Errorf("kubelet.maxPods: %w", err)
		}
	}
	if s.ReservedENIs < 0 {
		return r, fmt.Errorf("reservedENIs: %d: want 0 or more", s.ReservedENIs)
	}
	if s.EphemeralStorageBytes < 0 {
		return r, fmt.Errorf("ephemeral storage: %d bytes: want 0 or more", s.EphemeralStorageBytes)
	}
	if r.family.windowsBuild != "" {
		r.storageBytes = windowsStorageBytes
	}
	if r.blockDevices == 0 {
		r.blockDevices = r.family.blockDevices()
	}
	if s.EphemeralStorageBytes > 0 {
		r.storageBytes = s.EphemeralStorageBytes
	}
	p := s.VMMemoryOverheadPercent
	if math.IsNaN(p) || p < 0 || p >= 1 {
		return r, fmt.Errorf("vmMemoryOverheadPercent: %v: want a fraction from 0 to less than 1", p)
	}
	if p > 0 {
		r.memoryOverheadMillionths = int64(math.Round(p * 1e6))
	}
	return r, r.parseKubelet(s)
}

func (r *resolved) parseKubelet(s Settings) (err error) {
	if r.kubeReserved, err = parseReserved("kubelet.kubeReserved", s.KubeReserved); err != nil {
		return err
	}
	if r.systemReserved, err = parseReserved("kubelet.systemReserved", s.SystemReserved); err != nil {
		return err
	}
	r.evictionHard, err = parseThresholds("kubelet.evictionHard", s.EvictionHard)
	return err
}

func sorted(amounts map[string]int64) model.Amounts {
	out := make(model.Amounts, 0, len(amounts))
	for name, value := range amounts {
		out = append(out, model.Amount{Resource: model.Resource(name), Value: value})
	}
	slices.SortFunc(out, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}
