package awssim

type zonesAnswer struct {
	Zones []zoneItem `xml:"availabilityZoneInfo>item"`
}

type zoneItem struct {
	Name   string `xml:"zoneName"`
	ID     string `xml:"zoneId"`
	Region string `xml:"regionName"`
	State  string `xml:"zoneState"`
	OptIn  string `xml:"optInStatus"`
	Kind   string `xml:"zoneType"`
}

// describeAvailabilityZones names the zones of the catalogue, all of which the account has.
func (s *Sim) describeAvailabilityZones(f *form) (any, error) {
	f.ignore("AllAvailabilityZones")
	attrs := attributes[zoneItem]{by: map[string]func(zoneItem) []string{
		"zone-name":   func(z zoneItem) []string { return one(z.Name) },
		"zone-id":     func(z zoneItem) []string { return one(z.ID) },
		"region-name": func(z zoneItem) []string { return one(z.Region) },
		"state":       func(z zoneItem) []string { return one(z.State) },
	}}
	fs, names := filters(f, attrs), set(f.list("ZoneName"))
	if err := f.checked(); err != nil {
		return nil, err
	}
	var out zonesAnswer
	for _, z := range s.cfg.Catalog.Zones {
		item := zoneItem{z.Name, z.ID, s.cfg.Region, "available", "opt-in-not-required", "availability-zone"}
		if (len(names) == 0 || names[z.Name]) && attrs.passes(item, fs) {
			out.Zones = append(out.Zones, item)
		}
	}
	return out, nil
}
