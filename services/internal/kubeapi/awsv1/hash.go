package awsv1

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/canonical"
)

// HashEC2NodeClass is the hash of the part of a class that its nodes can drift
// from; see labels.NodeClassHash. What the class selects (subnets, groups,
// images, reservations) is left out, because it is compared with what each
// instance has; so is ipPrefixCount. The family counts as it is resolved, the
// kubelet's configuration as its text without white space and order of keys.
// Defaults and other ways to write the same don't change the hash. c is not
// changed.
//
// A change by which the same object gets another hash must let hashes begin with
// "kerf2-", and so on: rules.SameVersion then compares them with no older one, and
// no node drifts by an upgrade.
func HashEC2NodeClass(c *EC2NodeClass) (string, error) {
	c = c.DeepCopy()
	c.SetDefaults()
	kubelet, err := kubeletText(c)
	if err != nil {
		return "", fmt.Errorf("node class %s: spec.kubelet: %w", c.Name, err)
	}
	family := c.Family()
	c.Spec.AMIFamily = nil
	c.Spec.SubnetSelectorTerms = nil
	c.Spec.SecurityGroupSelectorTerms = nil
	c.Spec.CapacityReservationSelectorTerms = nil
	c.Spec.AMISelectorTerms = nil
	c.Spec.IPPrefixCount = nil
	c.Spec.Kubelet = nil
	sum, err := canonical.Sum(struct {
		Spec    EC2NodeClassSpec `json:"spec"`
		Family  AMIFamily        `json:"family"`
		Kubelet string           `json:"kubelet"`
	}{c.Spec, family, kubelet})
	if err != nil {
		return "", fmt.Errorf("node class %s: %w", c.Name, err)
	}
	return sum, nil
}

// kubeletText keeps the order of lists, which counts for the kubelet.
func kubeletText(c *EC2NodeClass) (string, error) {
	if c.Spec.Kubelet == nil || len(c.Spec.Kubelet.Raw) == 0 {
		return "", nil
	}
	decoder := json.NewDecoder(bytes.NewReader(c.Spec.Kubelet.Raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return "", fmt.Errorf("parse: %w", err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	return string(text), nil
}
