package catalog

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Upper bounds of sane values, far above anything sold. They keep sums and products in instancetype inside int64.
const (
	maxCount     = 1 << 20           // devices, CPUs, megahertz
	maxNetwork   = 1 << 12           // interfaces, addresses of each
	maxMbps      = 1 << 30           // a petabit a second
	maxMemoryMiB = 1 << 30           // one pebibyte
	maxDiskGB    = 1 << 30           // one exabyte
	maxZones     = 64                // the bits of a number
	maxPrice     = 1_000_000_000_000 // a million dollars an hour
)

// validate says what is wrong with the catalogue first, in order; nil if it can be used.
func (c *Catalog) validate() error {
	if c.Region == "" {
		return errors.New(`field "region": empty: want a region such as us-east-1`)
	}
	if c.Currency != "" && !slices.Contains([]string{"CNY", "EUR"}, c.Currency) {
		return fmt.Errorf(`field "currency": %q: want CNY or EUR, or none for USD`, c.Currency)
	}
	zones, err := c.zoneNames()
	if err != nil {
		return err
	}
	if len(c.Types) == 0 {
		return errors.New(`field "types": empty: want at least one instance type`)
	}
	names := regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
	for i := range c.Types {
		t := &c.Types[i]
		if !names.MatchString(t.Name) {
			return fmt.Errorf(`%s: field "name": %q: want family.size, such as m5.large`, typeLabel(i, t.Name), t.Name)
		}
		if i > 0 && t.Name <= c.Types[i-1].Name {
			return fmt.Errorf(`type %s: field "name": after %s: want types sorted by name, each once`, t.Name, c.Types[i-1].Name)
		}
		if err := t.validate(zones); err != nil {
			return fmt.Errorf("type %s: %w", t.Name, err)
		}
	}
	return nil
}

func (c *Catalog) zoneNames() ([]string, error) {
	if len(c.Zones) == 0 {
		return nil, errors.New(`field "zones": empty: want at least one zone`)
	}
	if len(c.Zones) > maxZones {
		return nil, fmt.Errorf(`field "zones": %d: want %d at most`, len(c.Zones), maxZones)
	}
	names := make([]string, 0, len(c.Zones))
	for i, z := range c.Zones {
		if z.Name == "" || z.ID == "" {
			return nil, fmt.Errorf("zone number %d: want both a name and an id", i+1)
		}
		if i > 0 && z.Name <= c.Zones[i-1].Name {
			return nil, fmt.Errorf(`zone %s: field "name": after %s: want zones sorted by name, each once`, z.Name, c.Zones[i-1].Name)
		}
		names = append(names, z.Name)
	}
	return names, nil
}

// validate checks one type; its errors name the field.
func (t *Type) validate(zones []string) error {
	checks := []func() error{t.validateWords, t.validateNumbers, t.validateDevices}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	for _, z := range slices.Sorted(maps.Keys(t.SpotMicroUSD)) {
		if p := t.SpotMicroUSD[z]; !slices.Contains(t.Zones, z) || p <= 0 || p > maxPrice {
			return fmt.Errorf(`field "spotMicroUSD": %d in %q: want 1 to %d in one of the type's zones %v`, p, z, maxPrice, t.Zones)
		}
	}
	for i, z := range t.Zones {
		if !slices.Contains(zones, z) {
			return fmt.Errorf(`field "zones": %q is not one of the catalogue's zones %v`, z, zones)
		}
		if i > 0 && z <= t.Zones[i-1] {
			return fmt.Errorf(`field "zones": %q after %q: want them sorted, each once`, z, t.Zones[i-1])
		}
	}
	return nil
}

func (t *Type) validateWords() error {
	words := []struct {
		field, value string
		allowed      []string
	}{
		{"arch", t.Arch, []string{"amd64", "arm64"}},
		{"hypervisor", t.Hypervisor, []string{"nitro", "xen", ""}},
		{"cpuManufacturer", t.CPUManufacturer, []string{"intel", "amd", "aws"}},
	}
	for _, w := range words {
		if !slices.Contains(w.allowed, w.value) {
			return fmt.Errorf("field %q: %q: want one of %q", w.field, w.value, w.allowed)
		}
	}
	if t.BareMetal != (t.Hypervisor == "") {
		return fmt.Errorf(`field "hypervisor": %q with bareMetal %v: want it empty for bare metal only`, t.Hypervisor, t.BareMetal)
	}
	return nil
}

func (t *Type) validateNumbers() error {
	numbers := []struct {
		field           string
		value, min, max int64
	}{
		{"vcpu", t.VCPU, 1, maxCount},
		{"memoryMiB", t.MemoryMiB, 1, maxMemoryMiB},
		{"defaultENIs", t.DefaultENIs, 1, maxNetwork},
		{"ipv4PerENI", t.IPv4PerENI, 1, maxNetwork},
		{"networkMbps", t.NetworkMbps, 0, maxMbps},
		{"ebsMbps", t.EBSMbps, 0, maxMbps},
		{"ebsVolumes", t.EBSVolumes, 0, maxCount},
		{"networkCards", t.NetworkCards, 0, maxNetwork},
		{"efaInterfaces", t.EFAInterfaces, 0, maxNetwork},
		{"efaFirstCard", t.EFAFirstCard, 0, maxNetwork},
		{"branchENIs", t.BranchENIs, 0, maxNetwork},
		{"localNVMeGB", t.LocalNVMeGB, 0, maxDiskGB},
		{"clockMHz", t.ClockMHz, 0, maxCount},
		{"neuronCores", t.NeuronCores, 0, maxCount},
		{"onDemandMicroUSD", t.OnDemandMicroUSD, 0, maxPrice},
		{"spotSavesPercent", t.SpotSavesPercent, 0, 99},
		{"reclaimed", int64(t.Reclaimed), 0, int64(model.Above20)},
	}
	for _, n := range numbers {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("field %q: %d: want %d to %d", n.field, n.value, n.min, n.max)
		}
	}
	if cards := max(t.NetworkCards, 1); t.EFAInterfaces > 0 && t.EFAFirstCard+t.EFAInterfaces > cards {
		return fmt.Errorf(`field "efaInterfaces": %d from card %d on, of %d cards: want one on each`, t.EFAInterfaces, t.EFAFirstCard, cards)
	}
	if t.BranchENIs > 0 && !t.TrunkingSupported {
		return fmt.Errorf(`field "branchENIs": %d without trunking: want 0`, t.BranchENIs)
	}
	return nil
}

func (t *Type) validateDevices() error {
	lists := []struct {
		field   string
		devices []GPU
	}{{"gpus", t.GPUs}, {"accelerators", t.Accelerators}}
	for _, l := range lists {
		for _, d := range l.devices {
			if d.Name == "" || d.Manufacturer == "" {
				return fmt.Errorf("field %q: name %q, manufacturer %q: want both", l.field, d.Name, d.Manufacturer)
			}
			if want := Manufacturer(d.Manufacturer); d.Manufacturer != want {
				return fmt.Errorf("field %q: %s: manufacturer %q: want %q", l.field, d.Name, d.Manufacturer, want)
			}
			if d.Count < 0 || d.Count > maxCount || d.MemoryMiB < 0 || d.MemoryMiB > maxMemoryMiB {
				return fmt.Errorf("field %q: %s: count %d, memoryMiB %d: out of range", l.field, d.Name, d.Count, d.MemoryMiB)
			}
		}
	}
	return nil
}
