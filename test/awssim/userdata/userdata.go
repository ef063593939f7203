// Package userdata reads the user data of an instance the way the boot programs of the EKS images do: nodeadm on Amazon
// Linux 2023, the settings of Bottlerocket, and the bootstrap scripts of Amazon Linux 2 and Windows. The result is what
// a kubelet would be started with.
//
// It decides only what the text asks for. What a machine of some size then offers is worked out in package awssim.
// A text that the real boot program would choke on is an error here too, because such an instance never joins.
//
// Start reading at Parse.
package userdata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Family names the boot program of an image.
type Family string

// The families that are understood.
const (
	AL2          Family = "al2"
	AL2023       Family = "al2023"
	Bottlerocket Family = "bottlerocket"
	Windows      Family = "windows"
)

// MaxBytes is EC2's limit for decoded user data.
const MaxBytes = 16384

// ErrNothing says that the text holds nothing that would start a kubelet.
var ErrNothing = errors.New("user data has no node configuration")

// Node is what a kubelet would be started with.
type Node struct {
	ClusterName, Endpoint, CertificateAuthority string
	// ServiceCIDR is only part of AL2023's configuration.
	ServiceCIDR string
	// MaxPods is zero when the text leaves it to the boot program.
	MaxPods int64
	// Labels are those of --node-labels.
	Labels map[string]string
	// Taints are registered with the node, in the order given.
	Taints []Taint
	// KubeReserved, SystemReserved and EvictionHard hold what the text says, nothing more; values are quantities, and
	// for EvictionHard also percentages.
	KubeReserved, SystemReserved, EvictionHard map[string]string
	// LocalStorageRAID0 says that instance-store disks become the node's ephemeral storage.
	LocalStorageRAID0 bool
}

// Taint is a node taint; Effect is one of the three of Kubernetes.
type Taint struct {
	Key, Value, Effect string
}

// String is the kubelet's own spelling: key=value:effect, or key:effect.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// Parse reads decoded user data for an image of family f. It returns ErrNothing (wrapped) when no part configures a
// node, and otherwise an error that names the field that would keep the kubelet from starting.
func Parse(f Family, text []byte) (Node, error) {
	if len(text) > MaxBytes {
		return Node{}, fmt.Errorf("user data has %d bytes, the limit is %d", len(text), MaxBytes)
	}
	var n Node
	var err error
	switch f {
	case AL2023:
		n, err = parseAL2023(text)
	case Bottlerocket:
		n, err = parseBottlerocket(text)
	case AL2:
		n, err = parseAL2(text)
	case Windows:
		n, err = parseWindows(text)
	default:
		return Node{}, fmt.Errorf("image family %q has no boot program that reads user data", f)
	}
	if err != nil {
		return Node{}, err
	}
	return n, n.check()
}

// check refuses what makes a kubelet exit at start.
func (n Node) check() error {
	for _, k := range sortedKeys(n.Labels) {
		if !kubeletMaySet(k) {
			return fmt.Errorf("--node-labels: %s: a kubelet may not set this label on itself", k)
		}
	}
	for _, t := range n.Taints {
		if t.Key == "" {
			return errors.New("registerWithTaints: a taint has no key")
		}
		switch t.Effect {
		case "NoSchedule", "PreferNoSchedule", "NoExecute":
		default:
			return fmt.Errorf("registerWithTaints: taint %s: effect %q is not one of NoSchedule, PreferNoSchedule, NoExecute", t.Key, t.Effect)
		}
	}
	if n.MaxPods < 0 {
		return fmt.Errorf("maxPods: %d is negative", n.MaxPods)
	}
	for name, m := range map[string]map[string]string{"kubeReserved": n.KubeReserved, "systemReserved": n.SystemReserved} {
		for _, k := range sortedKeys(m) {
			if _, err := resource.ParseQuantity(m[k]); err != nil {
				return fmt.Errorf("%s.%s: %q is no quantity", name, k, m[k])
			}
		}
	}
	for _, k := range sortedKeys(n.EvictionHard) {
		if _, err := ParseThreshold(n.EvictionHard[k], 0); err != nil {
			return fmt.Errorf("evictionHard[%s]: %w", k, err)
		}
	}
	return nil
}

// ParseThreshold is an eviction threshold in the unit of total: a quantity, or a percentage of total. "100%" switches
// a threshold off, as in the kubelet, and is zero.
func ParseThreshold(s string, total int64) (int64, error) {
	if p, ok := strings.CutSuffix(s, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil || f < 0 || f > 100 {
			return 0, fmt.Errorf("%q is no percentage", s)
		}
		if f == 100 {
			return 0, nil
		}
		return int64(float64(total) * f / 100), nil
	}
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a quantity nor a percentage", s)
	}
	return q.Value(), nil
}

// kubeletMaySet is the kubelet's rule for --node-labels: in the kubernetes.io and k8s.io domains only a short list,
// and anything below kubelet.kubernetes.io and node.kubernetes.io.
func kubeletMaySet(key string) bool {
	ns, _, ok := strings.Cut(key, "/")
	if !ok || !inDomain(ns, "kubernetes.io") && !inDomain(ns, "k8s.io") {
		return true
	}
	if inDomain(ns, "kubelet.kubernetes.io") || inDomain(ns, "node.kubernetes.io") {
		return true
	}
	switch key {
	case "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
		"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region":
		return true
	}
	return false
}

func inDomain(ns, domain string) bool { return ns == domain || strings.HasSuffix(ns, "."+domain) }

// parseLabels reads the value of --node-labels into labels.
func parseLabels(value string, labels map[string]string) error {
	for pair := range strings.SplitSeq(value, ",") {
		if pair == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return fmt.Errorf("--node-labels: %q is not key=value", pair)
		}
		labels[k] = v
	}
	return nil
}

// parseTaint reads key=value:effect or key:effect.
func parseTaint(s string) (Taint, error) {
	kv, effect, ok := strings.Cut(s, ":")
	if !ok {
		return Taint{}, fmt.Errorf("taint %q is not key=value:effect", s)
	}
	k, v, _ := strings.Cut(kv, "=")
	return Taint{Key: k, Value: v, Effect: effect}, nil
}

// applyFlags reads kubelet command-line flags, each as --name=value, into n. Flags that do not shape the node are
// passed over.
func applyFlags(flags []string, n *Node) error {
	for _, f := range flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch name {
		case "node-labels":
			if err := parseLabels(value, n.Labels); err != nil {
				return err
			}
		case "register-with-taints":
			for t := range strings.SplitSeq(value, ",") {
				taint, err := parseTaint(t)
				if err != nil {
					return fmt.Errorf("--register-with-taints: %w", err)
				}
				n.Taints = append(n.Taints, taint)
			}
		case "max-pods":
			v, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("--max-pods: %q is no number", value)
			}
			n.MaxPods = v
		case "kube-reserved":
			n.KubeReserved = parsePairs(value, "=")
		case "system-reserved":
			n.SystemReserved = parsePairs(value, "=")
		case "eviction-hard":
			n.EvictionHard = parsePairs(value, "<")
		}
	}
	return nil
}

func parsePairs(s, sep string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if k, v, ok := strings.Cut(pair, sep); ok {
			out[k] = v
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
