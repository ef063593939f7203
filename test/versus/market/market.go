// Package market is what both sides may buy: types of Kerf's bundled catalogue, in three zones of its region, at its
// prices. It writes them as the file that Karpenter's kwok provider reads, with the same capacity for pods on each
// node, and as the requirements by which Kerf's pool chooses the same.
//
// It is pure: it knows neither clusters nor clocks. Start reading at New.
package market

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

// Requirement is one of a node pool's. The operator is In, Gt or Lt.
type Requirement struct {
	Key      string
	Operator corev1.NodeSelectorOperator
	Values   []string
}

// Types are the requirements that choose the types: c, m and r from generation 5 on, for amd64, up to 32 CPUs, no bare
// metal.
func Types() []Requirement {
	return []Requirement{
		{corev1.LabelArchStable, corev1.NodeSelectorOpIn, []string{"amd64"}},
		{labels.InstanceCategory, corev1.NodeSelectorOpIn, []string{"c", "m", "r"}},
		{labels.InstanceGeneration, corev1.NodeSelectorOpGt, []string{"4"}},
		{labels.InstanceCPU, corev1.NodeSelectorOpLt, []string{"33"}},
		{labels.InstanceHypervisor, corev1.NodeSelectorOpIn, []string{"nitro"}},
	}
}

// allows says whether a label's value meets the requirement.
func (r Requirement) allows(value string) bool {
	if r.Operator == corev1.NodeSelectorOpIn {
		return slices.Contains(r.Values, value)
	}
	a, err := strconv.Atoi(value)
	if err != nil {
		return false
	}
	b, err := strconv.Atoi(r.Values[0])
	return err == nil && (r.Operator == corev1.NodeSelectorOpGt && a > b || r.Operator == corev1.NodeSelectorOpLt && a < b)
}

// Zones are those of the simulated account.
func Zones() []string { return []string{"us-east-1a", "us-east-1b", "us-east-1c"} }

// Market is what is sold. Safe for concurrent use.
type Market struct {
	types []catalog.Type
	sim   *awssim.Sim
}

// New is the market of the bundled catalogue.
func New() (*Market, error) {
	bundled, err := catalog.Bundled()
	if err != nil {
		return nil, err
	}
	m := &Market{}
	for _, t := range bundled.Types {
		shape, err := instancetype.Resolve(t, instancetype.Settings{})
		if err != nil {
			continue // types that the image cannot run
		}
		if chosen(shape.Labels) && len(zones(t)) > 0 && t.SupportsOnDemand {
			m.types = append(m.types, t)
		}
	}
	m.sim, err = awssim.New(awssim.Default("prices"))
	return m, err
}

func chosen(l model.Labels) bool {
	for _, r := range Types() {
		if value, ok := l.Get(r.Key); !ok || !r.allows(value) {
			return false
		}
	}
	return true
}

func zones(t catalog.Type) []string {
	return slices.DeleteFunc(Zones(), func(z string) bool { return !slices.Contains(t.Zones, z) })
}

// Len is how many types there are.
func (m *Market) Len() int { return len(m.types) }

// Price is dollars an hour; 0 for what is not sold.
func (m *Market) Price(instanceType, zone string, spot bool) float64 {
	if spot {
		return dollars(m.sim.SpotPrice(instanceType, zone))
	}
	return dollars(m.sim.OnDemandPrice(instanceType))
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// offer and kwokType are the form of the kwok provider's file.
type offer struct {
	Price        float64
	Available    bool
	Requirements []corev1.NodeSelectorRequirement
}

type kwokType struct {
	Name             string              `json:"name"`
	Offerings        []offer             `json:"offerings"`
	Architecture     string              `json:"architecture"`
	OperatingSystems []string            `json:"operatingSystems"`
	Resources        corev1.ResourceList `json:"resources"`
}

// What the kwok provider takes off each node's resources, whatever its type.
const (
	kwokCPUMilli    = 100
	kwokMemoryBytes = 10 << 20
)

// Kwok is the file of instance types for Karpenter's kwok provider. A node's capacity is set so that what the provider
// leaves of it to pods is what a node of Kerf's leaves.
func (m *Market) Kwok() ([]byte, error) {
	var out []kwokType
	for _, t := range m.types {
		shape, err := instancetype.Resolve(t, instancetype.Settings{})
		if err != nil {
			return nil, fmt.Errorf("instance types for kwok: %w", err)
		}
		a := shape.Allocatable
		k := kwokType{
			Name: t.Name, Architecture: t.Arch, OperatingSystems: []string{"linux"},
			Resources: corev1.ResourceList{
				corev1.ResourceCPU:              *resource.NewMilliQuantity(a.Value(instancetype.CPU)+kwokCPUMilli, resource.DecimalSI),
				corev1.ResourceMemory:           *resource.NewQuantity(a.Value(instancetype.Memory)+kwokMemoryBytes, resource.BinarySI),
				corev1.ResourceEphemeralStorage: *resource.NewQuantity(a.Value(instancetype.EphemeralStorage), resource.BinarySI),
				corev1.ResourcePods:             *resource.NewQuantity(a.Value(instancetype.Pods), resource.DecimalSI),
			},
		}
		for _, zone := range zones(t) {
			k.Offerings = append(k.Offerings, offer{
				Price: dollars(t.OnDemandMicroUSD), Available: true,
				Requirements: []corev1.NodeSelectorRequirement{
					in(labels.CapacityType, awssim.OnDemand), in(corev1.LabelTopologyZone, zone),
				},
			})
		}
		out = append(out, k)
	}
	return json.MarshalIndent(out, "", " ")
}

func in(key, value string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
}
