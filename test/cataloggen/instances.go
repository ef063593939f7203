package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kerf-dev/kerf/services/core/model"
)

// instancesFile is where the module keeps what it knows of EC2.
const instancesFile = "data/instances.json"

// instances is what the module says, by region and type.
type instances struct {
	version string
	regions map[string]map[string]seen
}

// seen is what a type was seen to cost in a region.
type seen struct {
	listed    int64 // micro-dollars per hour
	saves     int64 // percent; 0: unknown
	reclaimed model.ReclaimBand
}

// instanceRecord is the part of a record that is read. Spot's figures are missing, null or zero where nothing is known.
type instanceRecord struct {
	InstanceType string `json:"instance_type"`
	Pricing      map[string]struct {
		Linux price `json:"linux"`
	} `json:"pricing"`
}

type price struct {
	OnDemand  json.Number `json:"ondemand"`
	Saves     *int64      `json:"pct_savings_od"`
	Reclaimed *string     `json:"pct_interrupt"`
}

func (p *price) seen() (s seen, err error) {
	if s.listed, err = microDollars(p.OnDemand.String()); err != nil {
		return s, err
	}
	if p.Saves != nil {
		s.saves = *p.Saves
	}
	if p.Reclaimed != nil {
		s.reclaimed, err = model.ParseReclaimBand(*p.Reclaimed)
	}
	return s, err
}

// aRegion is the name of a whole region, not of a local zone or of a wavelength zone.
var aRegion = regexp.MustCompile(`^[a-z]{2}(-gov)?-[a-z]+-[0-9]+$`)

func readInstances(dir string) (*instances, error) {
	version, err := moduleVersion(dir)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(instancesFile)))
	if err != nil {
		return nil, err
	}
	var records []instanceRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("%s: %w", instancesFile, err)
	}
	out := &instances{version: version, regions: map[string]map[string]seen{}}
	for _, r := range records {
		for region, p := range r.Pricing {
			if !aRegion.MatchString(region) || p.Linux.OnDemand == "" {
				continue
			}
			s, err := p.Linux.seen()
			if err != nil {
				return nil, fmt.Errorf("%s: %s in %s: %w", instancesFile, r.InstanceType, region, err)
			}
			if out.regions[region] == nil {
				out.regions[region] = map[string]seen{}
			}
			out.regions[region][r.InstanceType] = s
		}
	}
	return out, nil
}
