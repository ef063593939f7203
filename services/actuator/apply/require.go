package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// The operators of requirements, in Kubernetes' words.
const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
	opGt           = "Gt"
	opLt           = "Lt"
	opGte          = "Gte"
	opLte          = "Lte"
)

// Allows says whether a requirement holds for a label that has the value, or is absent.
func Allows(r model.Requirement, value string, present bool) bool {
	switch r.Operator {
	case opIn:
		return present && slices.Contains(r.Values, value)
	case opNotIn:
		return !present || !slices.Contains(r.Values, value)
	case opExists:
		return present
	case opDoesNotExist:
		return !present
	case opGt, opLt, opGte, opLte:
		return present && compares(r, value)
	default:
		return false // what is not understood is not allowed
	}
}

func compares(r model.Requirement, value string) bool {
	if len(r.Values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	switch r.Operator {
	case opGt:
		return have > bound
	case opLt:
		return have < bound
	case opGte:
		return have >= bound
	default:
		return have <= bound
	}
}

// violated says which requirement an offering does not meet; "" when it meets all. Keys of the user's own, which no
// offering has, are met by the claim: its requirements must leave only values that the pool allows.
func violated(labels map[string]string, pool cluster.Pool, w Wish) string {
	for _, r := range w.Requirements {
		value, present := labels[r.Key]
		if !present && !offeringKey(r.Key) && r.Operator == opIn {
			continue // the claim gives its node one of these values
		}
		if !Allows(r, value, present) {
			return fmt.Sprintf("the claim's requirement %s does not hold", Describe(r))
		}
	}
	for _, r := range pool.Requirements {
		value, present := labels[r.Key]
		if !present && !offeringKey(r.Key) {
			if !promised(r, w.Requirements) {
				return fmt.Sprintf("the claim does not promise the pool's requirement %s", Describe(r))
			}

			continue
		}
		if !Allows(r, value, present) {
			return fmt.Sprintf("the pool's requirement %s does not hold", Describe(r))
		}
	}

	return ""
}

// promised says whether the claim's requirements leave the label only such values as r allows.
func promised(r model.Requirement, claim []model.Requirement) bool {
	for _, c := range claim {
		if c.Key != r.Key || c.Operator != opIn || len(c.Values) == 0 {
			continue
		}
		if !slices.ContainsFunc(c.Values, func(value string) bool { return !Allows(r, value, true) }) {
			return true
		}
	}

	return Allows(r, "", false)
}

// offeringKey says that a label describes the instance and can't be chosen.
func offeringKey(key string) bool {
	switch key {
	case labelZone, labelZoneID, labelRegion, labelCapacityType, labelPool, labelClass, "kubernetes.io/arch", "kubernetes.io/os",
		"kubernetes.io/hostname", "node.kubernetes.io/instance-type", "node.kubernetes.io/windows-build":
		return true
	}

	return strings.HasPrefix(key, "karpenter.k8s.aws/") || strings.HasPrefix(key, "karpenter.sh/")
}

// Describe prints a requirement for people.
func Describe(r model.Requirement) string {
	if len(r.Values) == 0 {
		return r.Key + " " + r.Operator
	}

	return fmt.Sprintf("%s %s [%s]", r.Key, r.Operator, strings.Join(r.Values, ", "))
}

func sortedLabels(m map[string]string) []model.Label {
	labels := make([]model.Label, 0, len(m))
	for k, v := range m {
		labels = append(labels, model.Label{Key: k, Value: v})
	}
	slices.SortFunc(labels, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })

	return labels
}
