package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// The sizes that the schema allows.
const (
	maxTerms    = 30
	maxTermTags = 20
	maxTags     = 50

	maxGroupName = 255 // of a placement group
)

// EC2NodeClass is everything that is wrong with a node class, in the order
// of its fields: the schema's rules and those beyond it. Apply SetDefaults first.
// Whether what it selects exists is not its business.
func EC2NodeClass(c *awsv1.EC2NodeClass) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	errs = append(errs, validateSubnetTerms(c.Spec.SubnetSelectorTerms, spec.Child("subnetSelectorTerms"))...)
	errs = append(errs, validateGroupTerms(c.Spec.SecurityGroupSelectorTerms, spec.Child("securityGroupSelectorTerms"))...)
	errs = append(errs, validateReservationTerms(c.Spec.CapacityReservationSelectorTerms, spec.Child("capacityReservationSelectorTerms"))...)
	errs = append(errs, validatePlacementGroup(c.Spec.PlacementGroupSelector, spec.Child("placementGroupSelector"))...)
	errs = append(errs, atLeast(c.Spec.IPPrefixCount, 0, spec.Child("ipPrefixCount"))...)
	errs = append(errs, validateImage(c, spec)...)
	errs = append(errs, validateIdentity(&c.Spec, spec)...)
	errs = append(errs, validateTags(c.Spec.Tags, spec.Child("tags"))...)
	errs = append(errs, validateKubelet(c, spec.Child("kubelet"))...)
	return append(errs, validateHardware(&c.Spec, spec)...)
}

// part is one field of a selector term.
type part struct {
	name string
	set  bool
}

// validateTerm checks that a term has one of the fields that suffice alone, and that
// those that exclude others stand alone.
func validateTerm(parts []part, alone, exclusive []string, path *field.Path) field.ErrorList {
	var set []string
	enough := false
	for _, p := range parts {
		if p.set {
			set = append(set, p.name)
			enough = enough || slices.Contains(alone, p.name)
		}
	}
	if !enough {
		return field.ErrorList{field.Required(path, "set "+strings.Join(alone, " or "))}
	}
	for _, name := range exclusive {
		if slices.Contains(set, name) && len(set) > 1 {
			return field.ErrorList{field.Forbidden(path.Child(name),
				fmt.Sprintf("%s can't be combined with other fields: the term has %s; write one term for each", name, strings.Join(set, ", ")))}
		}
	}
	return nil
}

func validateSubnetTerms(terms []awsv1.SubnetSelectorTerm, path *field.Path) field.ErrorList {
	errs := checkTermCount(len(terms), 1, path)
	for i, t := range terms {
		at := path.Index(i)
		parts := []part{{"tags", len(t.Tags) > 0}, {"id", t.ID != ""}}
		errs = append(errs, validateTerm(parts, []string{"tags", "id"}, []string{"id"}, at)...)
		errs = append(errs, validateTermTags(t.Tags, at.Child("tags"))...)
		errs = append(errs, validateID(t.ID, "subnet-", at.Child("id"))...)
	}
	return errs
}

func validateGroupTerms(terms []awsv1.SecurityGroupSelectorTerm, path *field.Path) field.ErrorList {
	errs := checkTermCount(len(terms), 1, path)
	for i, t := range terms {
		at := path.Index(i)
		parts := []part{{"tags", len(t.Tags) > 0}, {"id", t.ID != ""}, {"name", t.Name != ""}}
		errs = append(errs, validateTerm(parts, []string{"tags", "id", "name"}, []string{"id", "name"}, at)...)
		errs = append(errs, validateTermTags(t.Tags, at.Child("tags"))...)
		errs = append(errs, validateID(t.ID, "sg-", at.Child("id"))...)
	}
	return errs
}

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

func validateReservationTerms(terms []awsv1.CapacityReservationSelectorTerm, path *field.Path) field.ErrorList {
	errs := checkTermCount(len(terms), 0, path)
	for i, t := range terms {
		at := path.Index(i)
		parts := []part{
			{"tags", len(t.Tags) > 0},
			{"id", t.ID != ""},
			{"ownerID", t.OwnerID != ""},
			{"instanceMatchCriteria", t.InstanceMatchCriteria != ""},
		}
		errs = append(errs, validateTerm(parts, []string{"tags", "id", "instanceMatchCriteria"}, []string{"id"}, at)...)
		errs = append(errs, validateTermTags(t.Tags, at.Child("tags"))...)
		errs = append(errs, validateID(t.ID, "cr-", at.Child("id"))...)
		if t.OwnerID != "" && !accountID.MatchString(t.OwnerID) {
			errs = append(errs, field.Invalid(at.Child("ownerID"), t.OwnerID, "want an account of 12 digits"))
		}
		errs = append(errs, oneOf(&t.InstanceMatchCriteria, at.Child("instanceMatchCriteria"), "", "open", "targeted")...)
	}
	return errs
}

func checkTermCount(n, least int, path *field.Path) field.ErrorList {
	if n < least {
		return field.ErrorList{field.Required(path, "give at least one term")}
	}
	if n > maxTerms {
		return field.ErrorList{field.TooMany(path, n, maxTerms)}
	}
	return nil
}

func validateTermTags(tags map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(tags) > maxTermTags {
		errs = append(errs, field.TooMany(path, len(tags), maxTermTags))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if key == "" || tags[key] == "" {
			errs = append(errs, field.Invalid(path.Key(key), tags[key], "a tag needs a key and a value; * means any value"))
		}
	}
	return errs
}

var idRest = regexp.MustCompile(`^[0-9a-z]+$`)

func validateID(id, prefix string, path *field.Path) field.ErrorList {
	rest, found := strings.CutPrefix(id, prefix)
	if id != "" && (!found || !idRest.MatchString(rest)) {
		return field.ErrorList{field.Invalid(path, id, "want an id such as "+prefix+"0123456789abcdef0")}
	}
	return nil
}

func validatePlacementGroup(g *awsv1.PlacementGroupSelector, path *field.Path) field.ErrorList {
	if g == nil {
		return nil
	}
	if (g.Name == "") == (g.ID == "") {
		return field.ErrorList{field.Required(path, "set exactly one of name and id")}
	}
	if len(g.Name) > maxGroupName {
		return field.ErrorList{field.TooLong(path.Child("name"), g.Name, maxGroupName)}
	}
	return validateID(g.ID, "pg-", path.Child("id"))
}

func validateImage(c *awsv1.EC2NodeClass, spec *field.Path) field.ErrorList {
	path := spec.Child("amiSelectorTerms")
	terms := c.Spec.AMISelectorTerms
	errs := checkTermCount(len(terms), 1, path)
	alone := []string{"alias", "tags", "id", "name", "ssmParameter"}
	hasAlias := false
	for i, t := range terms {
		at := path.Index(i)
		parts := []part{
			{"alias", t.Alias != ""},
			{"tags", len(t.Tags) > 0},
			{"id", t.ID != ""},
			{"name", t.Name != ""},
			{"owner", t.Owner != ""},
			{"ssmParameter", t.SSMParameter != ""},
		}
		errs = append(errs, validateTerm(parts, alone, []string{"alias", "id"}, at)...)
		errs = append(errs, validateTermTags(t.Tags, at.Child("tags"))...)
		errs = append(errs, validateID(t.ID, "ami-", at.Child("id"))...)
		if t.Alias == "" {
			continue
		}
		hasAlias = true
		if _, err := awsv1.ParseAlias(t.Alias); err != nil {
			errs = append(errs, field.Invalid(at.Child("alias"), t.Alias, err.Error()))
		}
		if len(terms) > 1 {
			errs = append(errs, field.Forbidden(at.Child("alias"), "an alias must be the only term: remove the other terms or the alias"))
		}
	}
	return append(errs, validateFamily(c, hasAlias, spec.Child("amiFamily"))...)
}

func validateFamily(c *awsv1.EC2NodeClass, hasAlias bool, path *field.Path) field.ErrorList {
	if c.Spec.AMIFamily == nil {
		if hasAlias {
			return nil
		}
		return field.ErrorList{field.Required(path, "without an alias the image's family must be said, for example AL2023")}
	}
	family := *c.Spec.AMIFamily
	if !slices.Contains(awsv1.Families(), family) {
		return field.ErrorList{field.NotSupported(path, family, awsv1.Families())}
	}
	alias, ok := c.Alias()
	if ok && family != awsv1.FamilyCustom && family != alias.Family {
		return field.ErrorList{field.Invalid(path, string(family),
			fmt.Sprintf("the alias %s is of family %s: write that, or Custom, or remove amiFamily", alias, alias.Family))}
	}
	return nil
}

func validateIdentity(spec *awsv1.EC2NodeClassSpec, path *field.Path) field.ErrorList {
	profile := spec.InstanceProfile != nil
	if profile && *spec.InstanceProfile == "" {
		return field.ErrorList{field.Invalid(path.Child("instanceProfile"), "", "want the profile's name, or remove it and set role")}
	}
	if (spec.Role != "") == profile {
		return field.ErrorList{field.Required(path.Child("role"), "set exactly one of role and instanceProfile")}
	}
	return nil
}

func validateTags(tags map[string]string, path *field.Path) field.ErrorList {
	ours := []string{"eks:eks-cluster-name", labels.NodePool, karpenterv1.Group + "/nodeclaim", labels.NodeClass}
	var errs field.ErrorList
	if len(tags) > maxTags {
		errs = append(errs, field.TooMany(path, len(tags), maxTags))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case key == "":
			errs = append(errs, field.Invalid(path.Key(key), key, "a tag needs a key"))
		case slices.Contains(ours, key) || strings.HasPrefix(key, labels.TagClusterPrefix):
			errs = append(errs, field.Forbidden(path.Key(key), "it is set by the controller: remove it"))
		}
	}
	return errs
}

// validateKubelet also refuses what the family's user data can't carry.
func validateKubelet(c *awsv1.EC2NodeClass, path *field.Path) field.ErrorList {
	k, errs := awsv1.ParseKubelet(c.Spec.Kubelet, path)
	family := c.Family()
	if len(errs) > 0 || family == awsv1.FamilyCustom {
		return errs
	}
	for _, name := range k.ExtraNames() {
		if name == "registerWithTaints" {
			errs = append(errs, field.Forbidden(path.Child(name), "write the pool's taints and startupTaints instead"))
		} else if family != awsv1.FamilyAL2023 {
			errs = append(errs, field.Forbidden(path.Child(name), fmt.Sprintf("family %s can't pass it on; AL2023 can", family)))
		}
	}
	if len(k.ClusterDNS) > 1 && family != awsv1.FamilyAL2023 {
		errs = append(errs, field.TooMany(path.Child("clusterDNS"), len(k.ClusterDNS), 1))
	}
	return errs
}
