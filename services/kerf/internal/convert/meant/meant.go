// Package meant says which label, or which value of one, was meant by one that chooses nothing.
//
// It goes by the values that a catalogue has of each label, and must never know an object. Start reading at Label.
package meant

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Known are the labels whose values are looked at, with those values that do not depend on what is sold; the others are
// for the caller to add.
func Known() map[string]map[string]bool {
	return map[string]map[string]bool{
		labels.InstanceType: {}, labels.InstanceFamily: {}, labels.InstanceCategory: {}, labels.InstanceSize: {}, labels.Zone: {},
		labels.Arch: {"amd64": true, "arm64": true}, labels.OS: {"linux": true, "windows": true}, labels.InstanceTenancy: {},
		labels.CapacityType: {"on-demand": true, "reserved": true, "spot": true},
	}
}

// Label is the label that a requirement of another one means, as its values say: m5.large is of instance types, also
// where the label is just instance-type. It is "" for one that is known, or is of the user's own domain.
func Label(r karpenterv1.Requirement, known map[string]map[string]bool) string {
	own := labels.Normal(r.Key)
	if labels.WellKnown(own) || isUsers(own) {
		return ""
	}
	name := own[strings.LastIndexByte(own, '/')+1:]
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if strings.HasSuffix(key, "/"+name) && slices.ContainsFunc(r.Values, func(v string) bool { return known[key][v] }) {
			return key
		}
	}
	return ""
}

// isUsers says that a label is of a domain in which users make up labels: neither Kubernetes' nor Karpenter's, nor that of
// EKS Auto Mode, whose labels are almost Karpenter's, nor what is nearly one of these.
func isUsers(key string) bool {
	domain, _, has := strings.Cut(key, "/")
	ours := []string{"eks.amazonaws.com", "k8s.aws", "k8s.io", "karpenter.k8s.aws", "karpenter.sh", "kubernetes.io", "node.kubernetes.io", "topology.kubernetes.io"}
	return has && !slices.Contains(strings.Split(domain, "."), "karpenter") && !slices.ContainsFunc(ours, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d) || !strings.Contains(domain, d) && len(near.Names(domain, []string{d})) > 0
	})
}

// Value is the question which of the known values of a label was meant, as the end of what is wrong with one; "" for none.
func Value(key, v string, known map[string]bool) string {
	if labels.Normal(key) == labels.InstanceType {
		return questionType(v, known)
	}
	return question(v, known)
}

// typeForm is how AWS names instance types: family, generation and options, and a size.
var typeForm = regexp.MustCompile(`^[a-z][a-z0-9-]*[0-9][a-z0-9-]*\.(nano|micro|small|medium|large|xlarge|[0-9]+xlarge|metal(-[0-9]+xl)?)$`)

// questionType asks which instance type was meant. One of a family that the catalogue lacks, with a size as AWS has
// them, may be sold all the same.
func questionType(v string, known map[string]bool) string {
	family, _, _ := strings.Cut(v, ".")
	if !typeForm.MatchString(v) {
		return question(v, known)
	}
	for name := range known {
		if strings.HasPrefix(name, family+".") {
			return question(v, known)
		}
	}
	return ", which has none of " + family + "; if AWS sells it, kerf catalog fetch makes a catalogue that has it" + question(v, known)
}

func question(v string, known map[string]bool) string {
	if other := map[string]string{"x86_64": "amd64", "x86": "amd64", "aarch64": "arm64"}[v]; known[other] {
		return "; did you mean " + other + "?"
	}
	if q := near.Value(v, slices.Sorted(maps.Keys(known))); q != "" {
		return "; " + q
	}
	return ""
}
