package offline

import (
	"fmt"
	"strings"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// fillIDs gives a class some id in the place of each that a program should have filled in: which image, subnet or security
// group it is, files alone don't tell anyway, and no plan depends on it. A reservation's id is not among them: it has a
// price.
func fillIDs(c *awsv1.EC2NodeClass) (notes []string) {
	fill := func(field string, i int, prefix string, id *string) {
		if what := template.Unfilled(*id); what != "" {
			notes = append(notes, fmt.Sprintf("%s: spec.%s[%d].id: %s; the plan does not depend on it", convert.TitleOf(c), field, i, strings.TrimPrefix(what, "; ")))
			*id = fmt.Sprintf("%s%017x", prefix, i)
		}
	}
	for i := range c.Spec.AMISelectorTerms {
		fill("amiSelectorTerms", i, "ami-", &c.Spec.AMISelectorTerms[i].ID)
	}
	for i := range c.Spec.SubnetSelectorTerms {
		fill("subnetSelectorTerms", i, "subnet-", &c.Spec.SubnetSelectorTerms[i].ID)
	}
	for i := range c.Spec.SecurityGroupSelectorTerms {
		fill("securityGroupSelectorTerms", i, "sg-", &c.Spec.SecurityGroupSelectorTerms[i].ID)
	}
	return notes
}
