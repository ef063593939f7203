package awsv1

import (
	"fmt"
	"strings"
)

const maxAlias = 30

// VersionLatest is the version of an alias that follows AWS's newest image.
const VersionLatest = "latest"

// Alias is an image that AWS publishes for EKS.
type Alias struct {
	// The image's family, never FamilyCustom.
	Family AMIFamily
	// The image's version, or VersionLatest.
	Version string
}

// ParseAlias reads an alias such as "al2023@latest".
func ParseAlias(s string) (Alias, error) {
	name, version, found := strings.Cut(s, "@")
	if !found || version == "" || len(s) > maxAlias {
		return Alias{}, fmt.Errorf("alias %q: want family@version such as al2023@latest, at most %d characters", s, maxAlias)
	}
	for _, family := range Families() {
		if family == FamilyCustom || name != strings.ToLower(string(family)) {
			continue
		}
		if strings.HasPrefix(name, "windows") && version != VersionLatest {
			return Alias{}, fmt.Errorf("alias %q: Windows has the version latest only: write %s@latest", s, name)
		}
		return Alias{Family: family, Version: version}, nil
	}
	return Alias{}, fmt.Errorf("alias %q: unknown family; want al2, al2023, bottlerocket, windows2019, windows2022 or windows2025", s)
}

// String is the alias as a user writes it.
func (a Alias) String() string {
	return strings.ToLower(string(a.Family)) + "@" + a.Version
}

// Alias is the alias that selects the class's image; ok is false when the class
// selects its images otherwise.
func (c *EC2NodeClass) Alias() (alias Alias, ok bool) {
	for _, term := range c.Spec.AMISelectorTerms {
		if term.Alias == "" {
			continue
		}
		parsed, err := ParseAlias(term.Alias)
		return parsed, err == nil
	}
	return Alias{}, false
}

// Family is the class's image family: what it says, else its alias's. "" means
// that it has neither, which validation refuses.
func (c *EC2NodeClass) Family() AMIFamily {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	alias, _ := c.Alias()
	return alias.Family
}
