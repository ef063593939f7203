package validation

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	content "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// longestMaker leaves place for the number that a CronJob's Jobs have at the end of their names.
const longestMaker = content.DNS1035LabelMaxLength - 11

// Names is what is wrong with the name and the namespace of an object of any kind that Kerf reads: an API server takes
// subdomains of RFC 1123 for names, and for few kinds only labels of it; and what becomes the value of a label must fit
// in one.
func Names(kind string, o metav1.Object) field.ErrorList {
	at := field.NewPath("metadata")
	errs := validateName(o.GetName(), content.IsDNS1123Subdomain, at.Child("name"))
	most, why := longestName(kind)
	switch {
	case kind == "Namespace" || kind == "Service":
		errs = validateName(o.GetName(), content.IsDNS1123Label, at.Child("name"))
	case len(errs) == 0 && most > 0 && len(o.GetName()) > most:
		errs = append(errs, field.Invalid(at.Child("name"), o.GetName(),
			fmt.Sprintf("it has %d characters, and %s: want at most %d", len(o.GetName()), why, most)))
	}
	if namespace := o.GetNamespace(); namespace != "" {
		errs = append(errs, validateName(namespace, content.IsDNS1123Label, at.Child("namespace"))...)
	}
	return errs
}

// longestName is the most characters that names of a kind may have, and why; 0 where it is those of any subdomain.
func longestName(kind string) (most int, why string) {
	const asLabel = "is a label's value on each of its "
	switch kind {
	case karpenterv1.KindNodePool, awsv1.KindEC2NodeClass:
		return content.LabelValueMaxLength, asLabel + "nodes"
	case "Job":
		return content.LabelValueMaxLength, asLabel + "pods"
	case "CronJob":
		return longestMaker, "its Jobs' names are longer by 11"
	default:
		return 0, ""
	}
}

func validateName(name string, check func(string) []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range check(name) {
		if like := nameLike(name); like != "" && len(check(like)) == 0 {
			problem += "; " + like + " would do"
		}
		errs = append(errs, field.Invalid(path, name, problem))
	}
	return errs
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// nameLike is a name as much like one that is none as can be.
func nameLike(name string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-.")
}
