package userdata

import (
	"encoding/json"
	"fmt"
	"net/textproto"

	"github.com/kerf-dev/kerf/services/core/model"
)

// nodeConfig is the document that AL2023's nodeadm reads. When several are given, the later ones win, so the generated
// one comes last.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster  nodeConfigCluster   `json:"cluster"`
	Kubelet  nodeConfigKubelet   `json:"kubelet"`
	Instance *nodeConfigInstance `json:"instance,omitempty"`
}

type nodeConfigCluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

type nodeConfigKubelet struct {
	Config map[string]any `json:"config"`
	Flags  []string       `json:"flags"`
}

type nodeConfigInstance struct {
	LocalStorage struct {
		Strategy string `json:"strategy"`
	} `json:"localStorage"`
}

// al2023 adds the generated NodeConfig behind the parts of the class's own user data.
func al2023(n Node) (string, error) {
	config := nodeConfig{APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig"}
	config.Spec.Cluster = nodeConfigCluster{
		Name: n.Cluster, APIServerEndpoint: n.API.Endpoint, CertificateAuthority: n.API.CABase64, CIDR: n.API.ServiceCIDR,
	}
	config.Spec.Kubelet.Config = kubeletConfig(n)
	if labels := labelPairs(n.Labels); labels != "" {
		config.Spec.Kubelet.Flags = []string{"--node-labels=" + labels}
	}
	if n.RAID0 {
		config.Spec.Instance = &nodeConfigInstance{}
		config.Spec.Instance.LocalStorage.Strategy = "RAID0"
	}
	document, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		return "", fmt.Errorf("render NodeConfig: %w", err)
	}

	parts, err := customParts(n.Custom)
	if err != nil {
		return "", err
	}
	return message(append(parts, part{textproto.MIMEHeader{"Content-Type": {typeNodeConfig}}, document}))
}

// kubeletConfig is the part of KubeletConfiguration that the class and the claim decide.
func kubeletConfig(n Node) map[string]any {
	k := n.Kubelet
	out := map[string]any{}
	for _, f := range k.Extra { // first, so that what the claim decides wins
		out[f.Name] = json.RawMessage(f.JSON)
	}
	put := func(key string, set bool, value any) {
		if set {
			out[key] = value
		}
	}
	put("registerWithTaints", len(n.Taints) > 0, taintObjects(n.Taints))
	put("maxPods", n.MaxPods > 0, n.MaxPods)
	put("podsPerCore", k.PodsPerCore != nil, k.PodsPerCore)
	put("kubeReserved", len(k.KubeReserved) > 0, k.KubeReserved)
	put("systemReserved", len(k.SystemReserved) > 0, k.SystemReserved)
	put("evictionHard", len(k.EvictionHard) > 0, k.EvictionHard)
	put("evictionSoft", len(k.EvictionSoft) > 0, k.EvictionSoft)
	put("evictionSoftGracePeriod", len(k.EvictionSoftGracePeriod) > 0, k.EvictionSoftGracePeriod)
	put("evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod != nil, k.EvictionMaxPodGracePeriod)
	put("imageGCHighThresholdPercent", k.ImageGCHighThreshold != nil, k.ImageGCHighThreshold)
	put("imageGCLowThresholdPercent", k.ImageGCLowThreshold != nil, k.ImageGCLowThreshold)
	put("cpuCFSQuota", k.CPUCFSQuota != nil, k.CPUCFSQuota)
	dns := n.dns()
	put("clusterDNS", len(dns) > 0, dns)
	return out
}

func taintObjects(taints []model.Taint) []map[string]string {
	out := make([]map[string]string, 0, len(taints))
	for _, t := range taints {
		out = append(out, map[string]string{"key": t.Key, "value": t.Value, "effect": t.Effect.String()})
	}
	return out
}
