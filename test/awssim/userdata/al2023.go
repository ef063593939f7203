package userdata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

const (
	nodeConfigGroup = "node.eks.aws"
	typeNodeConfig  = "application/node.eks.aws"
	typeShell       = "text/x-shellscript"
)

// nodeConfig is the part of nodeadm's NodeConfig that shapes a node. Other fields are passed over.
type nodeConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name                 string `json:"name"`
			APIServerEndpoint    string `json:"apiServerEndpoint"`
			CertificateAuthority string `json:"certificateAuthority"`
			CIDR                 string `json:"cidr"`
		} `json:"cluster"`
		Kubelet struct {
			Config kubeletConfig `json:"config"`
			Flags  []string      `json:"flags"`
		} `json:"kubelet"`
		Instance struct {
			LocalStorage struct {
				Strategy string `json:"strategy"`
			} `json:"localStorage"`
		} `json:"instance"`
	} `json:"spec"`
}

// kubeletConfig is the part of KubeletConfiguration that shapes a node.
type kubeletConfig struct {
	MaxPods            *int64            `json:"maxPods"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	SystemReserved     map[string]string `json:"systemReserved"`
	EvictionHard       map[string]string `json:"evictionHard"`
	RegisterWithTaints []Taint           `json:"registerWithTaints"`
}

// parseAL2023 merges all NodeConfig parts in their order, later ones winning field by field and map key by map key, as
// nodeadm does. Lists are replaced, but flags add up.
func parseAL2023(text []byte) (Node, error) {
	parts, err := split(text)
	if err != nil {
		return Node{}, err
	}
	n := newNode()
	found := false
	for _, p := range parts {
		if p.mediaType != typeNodeConfig {
			continue
		}
		found = true
		if err := applyNodeConfig(p.body, &n); err != nil {
			return Node{}, fmt.Errorf("NodeConfig: %w", err)
		}
	}
	if !found {
		return Node{}, fmt.Errorf("no part of type %s: %w", typeNodeConfig, ErrNothing)
	}
	return n, checkCluster(n)
}

func applyNodeConfig(body []byte, n *Node) error {
	var c nodeConfig
	if err := yaml.Unmarshal(body, &c); err != nil {
		return err
	}
	if c.APIVersion != nodeConfigGroup+"/v1alpha1" || c.Kind != "NodeConfig" {
		return fmt.Errorf("apiVersion %q, kind %q: want %s/v1alpha1, NodeConfig", c.APIVersion, c.Kind, nodeConfigGroup)
	}
	set(&n.ClusterName, c.Spec.Cluster.Name)
	set(&n.Endpoint, c.Spec.Cluster.APIServerEndpoint)
	set(&n.CertificateAuthority, c.Spec.Cluster.CertificateAuthority)
	set(&n.ServiceCIDR, c.Spec.Cluster.CIDR)
	k := c.Spec.Kubelet.Config
	if k.MaxPods != nil {
		n.MaxPods = *k.MaxPods
	}
	if len(k.RegisterWithTaints) > 0 {
		n.Taints = k.RegisterWithTaints
	}
	maps.Copy(n.KubeReserved, k.KubeReserved)
	maps.Copy(n.SystemReserved, k.SystemReserved)
	maps.Copy(n.EvictionHard, k.EvictionHard)
	switch s := c.Spec.Instance.LocalStorage.Strategy; s {
	case "":
	case "RAID0":
		n.LocalStorageRAID0 = true
	case "RAID10", "Mount":
	default:
		return fmt.Errorf("spec.instance.localStorage.strategy: %q is not one of RAID0, RAID10, Mount", s)
	}
	return applyFlags(c.Spec.Kubelet.Flags, n)
}

// checkCluster refuses what nodeadm refuses: it needs all four facts about the cluster.
func checkCluster(n Node) error {
	for _, f := range []struct{ field, value string }{
		{"name", n.ClusterName},
		{"apiServerEndpoint", n.Endpoint},
		{"certificateAuthority", n.CertificateAuthority},
		{"cidr", n.ServiceCIDR},
	} {
		if f.value == "" {
			return fmt.Errorf("NodeConfig: spec.cluster.%s is missing", f.field)
		}
	}
	if _, err := base64.StdEncoding.DecodeString(n.CertificateAuthority); err != nil {
		return errors.New("NodeConfig: spec.cluster.certificateAuthority is not base64")
	}
	return nil
}

func newNode() Node {
	return Node{
		Labels:         map[string]string{},
		KubeReserved:   map[string]string{},
		SystemReserved: map[string]string{},
		EvictionHard:   map[string]string{},
	}
}

func set(dst *string, v string) {
	if v != "" {
		*dst = v
	}
}
