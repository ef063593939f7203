package refused

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// Class is what of a class has no effect: what it asks of an image that an SSM parameter names, and settings of kubelets
// that no kubelet has which Kerf has heard of.
func Class(c *awsv1.EC2NodeClass) (problems []string) {
	for i, t := range c.Spec.AMISelectorTerms {
		if t.SSMParameter != "" && (len(t.Tags) > 0 || t.Name != "" || t.Owner != "") {
			problems = append(problems, fmt.Sprintf("spec.amiSelectorTerms[%d]: tags, name and owner have no effect beside ssmParameter, which names one image", i))
		}
	}
	kubelet, _ := awsv1.ParseKubelet(c.Spec.Kubelet, nil) // what is wrong with it is told where the class is checked
	known := awsv1.KubeletNames()
	for _, name := range kubelet.ExtraNames() {
		if !slices.Contains(known, name) {
			problems = append(problems, strings.TrimSuffix(fmt.Sprintf("spec.kubelet.%s: kubelets of Kubernetes 1.37 and before pass over it; %s", name, near.Question(name, known)), "; "))
		}
	}
	return problems
}
