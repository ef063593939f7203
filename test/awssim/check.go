package awssim

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
)

// check refuses a world that could not be.
func (c *Config) check() error {
	if c.Cluster == "" {
		return errors.New("config: Cluster is missing")
	}
	if c.Region != c.Catalog.Region {
		return fmt.Errorf("config: Region %s is not the catalogue's, which is %s", c.Region, c.Catalog.Region)
	}
	if !regexp.MustCompile(`^1\.\d+$`).MatchString(c.KubernetesVersion) {
		return fmt.Errorf("config: KubernetesVersion %q is not major.minor", c.KubernetesVersion)
	}
	if _, err := base64.StdEncoding.DecodeString(c.CertificateAuthority); err != nil {
		return fmt.Errorf("config: CertificateAuthority: %w", err)
	}
	for _, d := range []struct {
		name  string
		value int64
	}{
		{"LaunchLatency", int64(c.LaunchLatency)},
		{"JoinLatency", int64(c.JoinLatency)},
		{"TerminateLatency", int64(c.TerminateLatency)},
		{"DescribeLag", int64(c.DescribeLag)},
		{"ProfileLag", int64(c.ProfileLag)},
		{"TemplateLag", int64(c.TemplateLag)},
		{"SpotWarning", int64(c.SpotWarning)},
	} {
		if d.value < 0 {
			return fmt.Errorf("config: %s is negative", d.name)
		}
	}
	if c.MemoryOverheadPercent < 0 || c.MemoryOverheadPercent >= 100 {
		return fmt.Errorf("config: MemoryOverheadPercent %v is not between 0 and 100", c.MemoryOverheadPercent)
	}
	return c.checkSubnets()
}

func (c *Config) checkSubnets() error {
	zones := map[string]bool{}
	for _, z := range c.Catalog.Zones {
		zones[z.Name] = true
	}
	seen := map[string]bool{}
	for _, s := range c.Subnets {
		if s.ID == "" || seen[s.ID] {
			return fmt.Errorf("config: subnet id %q is empty or twice", s.ID)
		}
		seen[s.ID] = true
		if !zones[s.Zone] {
			return fmt.Errorf("config: subnet %s: zone %q is not in the catalogue", s.ID, s.Zone)
		}
		p, err := netip.ParsePrefix(s.CIDR)
		if err != nil || !p.Addr().Is4() || p.Bits() < 16 || p.Bits() > 28 {
			return fmt.Errorf("config: subnet %s: CIDR %q is not an IPv4 range between /16 and /28", s.ID, s.CIDR)
		}
	}
	return nil
}
