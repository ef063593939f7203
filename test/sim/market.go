package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// market is what the cloud sells, and what of it is there.
type market struct {
	types  []model.InstanceType
	byName map[string]*model.InstanceType
	zones  []string
	offers map[string]*model.Offering
	ids    []string // of offers, sorted
	// soldOut is until when the cloud really has none, which only asking tells.
	soldOut map[string]time.Time
}

func offerID(t model.TypeName, zone string, ct model.CapacityType) string {
	return string(t) + "/" + zone + "/" + ct.String() + "/"
}

// sizes are those of nodes.
func (cfg *Config) sizes() []string {
	sizes := []string{"large", "xlarge", "2xlarge", "4xlarge", "8xlarge"}
	if !cfg.SpotFirst {
		sizes = sizes[:4]
	}
	return sizes
}

// newMarket has ten families in some sizes and three zones, at list prices of us-east-1; spot is cheaper by the dice.
func newMarket(r *rand.Rand, sizes []string) *market {
	m := &market{
		zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"}, byName: map[string]*model.InstanceType{},
		offers: map[string]*model.Offering{}, soldOut: map[string]time.Time{},
	}
	families := []struct {
		name   string
		price  int64 // of a large, on demand
		memory int64 // GiB of a large
	}{
		{"c5", 85000, 4},
		{"c6a", 76500, 4},
		{"c6i", 85000, 4},
		{"c7a", 102640, 4},
		{"m5", 96000, 8},
		{"m6a", 86400, 8},
		{"m6i", 96000, 8},
		{"m7a", 115920, 8},
		{"r5", 126000, 16},
		{"r6a", 113400, 16},
	}
	for _, f := range families {
		for i, size := range sizes {
			times := int64(1) << i
			name := f.name + "." + size
			m.types = append(m.types, model.InstanceType{
				Name: model.TypeName(name),
				Labels: model.Labels{
					{Key: labels.InstanceCategory, Value: f.name[:1]},
					{Key: labels.InstanceFamily, Value: f.name},
					{Key: labels.InstanceSize, Value: size},
					{Key: labels.Arch, Value: "amd64"},
					{Key: labels.OS, Value: "linux"},
					{Key: labels.InstanceType, Value: name},
				},
				Capacity:    amounts(2000*times, f.memory*times*gib, 29*times),
				Allocatable: amounts(2000*times-70, f.memory*times*gib*92/100-300*mib, 29*times),
			})
			spot := 0.30 + 0.14*r.Float64() // of the list price; zones differ by less than types do
			for _, zone := range m.zones {
				m.sell(name, zone, model.OnDemand, f.price*times)
				m.sell(name, zone, model.Spot, int64(float64(f.price*times)*spot*(0.97+0.06*r.Float64())))
			}
		}
	}
	slices.SortFunc(m.types, func(a, b model.InstanceType) int { return strings.Compare(string(a.Name), string(b.Name)) })
	for i := range m.types {
		m.byName[string(m.types[i].Name)] = &m.types[i]
	}
	slices.Sort(m.ids)
	return m
}

func (m *market) sell(name, zone string, ct model.CapacityType, price int64) {
	o := &model.Offering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: ct, Price: price}
	id := offerID(o.InstanceType, zone, ct)
	m.offers[id] = o
	m.ids = append(m.ids, id)
}

func amounts(cpu, memory, pods int64) model.Amounts {
	return model.Amounts{{Resource: model.CPU, Value: cpu}, {Resource: model.Memory, Value: memory}, {Resource: model.Pods, Value: pods}}
}

func in(key string, values ...string) model.Requirement {
	slices.Sort(values)
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

// addPools makes two pools: one that buys whatever is cheapest and holds its budget by reason and by the clock, and one
// of on-demand nodes.
func (c *cluster) addPools() {
	c.class = model.NodeClass{
		Name: "default", Catalog: "k-1", Zones: c.market.zones, Hash: "class-1",
		Images: []model.MachineImage{{ID: "ami-1", Name: "image-1", CreateTime: midnight().Add(-240 * time.Hour)}},
	}
	quiet := time.Duration(0)
	old := time.Duration(0.75 * float64(c.cfg.whole()))
	sizes := in(labels.InstanceSize, c.cfg.sizes()...)
	pool := func(name string, weight int32, types ...string) model.NodePool {
		return model.NodePool{
			Name: model.PoolName(name), Weight: weight, NodeClass: "default", Hash: name + "-1", ConsolidationPolicy: model.WhenEmptyOrUnderutilized,
			ConsolidateAfter: &quiet, ExpireAfter: &old, Requirements: []model.Requirement{sizes, in(labels.CapacityType, types...)},
			Labels: model.Labels{{Key: "team", Value: name}},
		}
	}
	general, steady := pool("general", 0, "spot", "on-demand"), pool("steady", 0, "on-demand")
	rush := c.part(0.52)
	general.Budgets = []model.DisruptionBudget{
		{Count: 20, IsPercent: true},
		{Count: 10, IsPercent: true, Reasons: []model.DisruptionReason{model.ReasonDrifted}},
		{
			Count: 0, Reasons: []model.DisruptionReason{model.ReasonDrifted},
			Schedule: strconv.Itoa(rush.Minute()) + " " + strconv.Itoa(rush.Hour()) + " * * *", Duration: c.cfg.Length / 24,
		},
	}
	steady.Budgets = []model.DisruptionBudget{{Count: 15, IsPercent: true}}
	if c.cfg.SpotFirst {
		general.Budgets = []model.DisruptionBudget{{Count: 10, IsPercent: true}}
	}
	c.pools = []model.NodePool{general, steady}
}

func (c *cluster) pool(name model.PoolName) *model.NodePool {
	i := slices.IndexFunc(c.pools, func(p model.NodePool) bool { return p.Name == name })
	return &c.pools[i]
}

// The labels that the simulation names.
