package userdata

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// bottlerocket puts the generated settings into the class's own document. What that says about Kubernetes beside them
// stays.
func bottlerocket(n Node) (string, error) {
	document := map[string]any{}
	if _, err := toml.Decode(n.Custom, &document); err != nil {
		return "", invalid("its TOML: %w", err)
	}
	settings, err := table(document, "settings")
	if err != nil {
		return "", err
	}
	kubernetes, err := table(settings, "settings.kubernetes")
	if err != nil {
		return "", err
	}
	if err := joins(n, kubernetes); err != nil {
		return "", err
	}
	if err := reserves(n, kubernetes); err != nil {
		return "", err
	}
	if n.RAID0 {
		commands, err := table(settings, "settings.bootstrap-commands")
		if err != nil {
			return "", err
		}
		if !strings.Contains(fmt.Sprint(commands), ephemeralStorage) { // done twice it fails, and the node does not start
			commands["000-mount-instance-storage"] = instanceStorage()
		}
	}
	var out strings.Builder
	e := toml.NewEncoder(&out) // tables in the order of their names: equal content gives an equal template
	e.Indent = ""
	if err := e.Encode(document); err != nil {
		return "", fmt.Errorf("render settings: %w", err)
	}
	return out.String(), nil
}

// joins sets what makes the node one of this cluster, as its claim is.
func joins(n Node, kubernetes map[string]any) error {
	kubernetes["cluster-name"] = n.Cluster
	kubernetes["api-server"] = n.API.Endpoint
	kubernetes["cluster-certificate"] = n.API.CABase64
	switch dns := n.dns(); len(dns) {
	case 0:
	case 1:
		kubernetes["cluster-dns-ip"] = dns[0]
	default:
		kubernetes["cluster-dns-ip"] = dns
	}
	labels, err := table(kubernetes, "settings.kubernetes.node-labels")
	if err != nil {
		return err
	}
	for _, l := range nodeLabels(n.Labels) {
		labels[l.Key] = l.Value
	}
	taints := map[string][]string{}
	for _, t := range n.Taints {
		taints[t.Key] = append(taints[t.Key], t.Value+":"+t.Effect.String())
	}
	return decides(kubernetes, "node-taints", len(taints) > 0, taints, "taints of the node pool")
}

// reserves sets what changes how much of the node is for pods, and when the kubelet evicts them.
func reserves(n Node, kubernetes map[string]any) error {
	k := n.Kubelet
	for _, s := range []struct {
		key    string
		set    bool
		value  any
		remedy string
	}{
		{"max-pods", n.MaxPods > 0, n.MaxPods, "spec.kubelet.maxPods"},
		{"kube-reserved", len(k.KubeReserved) > 0, k.KubeReserved, "spec.kubelet.kubeReserved"},
		{"system-reserved", len(k.SystemReserved) > 0, k.SystemReserved, "spec.kubelet.systemReserved"},
		{"eviction-hard", len(k.EvictionHard) > 0, k.EvictionHard, "spec.kubelet.evictionHard"},
	} {
		if s.set { // what the class and the claim say wins
			delete(kubernetes, s.key)
		}
		if err := decides(kubernetes, s.key, s.set, s.value, s.remedy); err != nil {
			return err
		}
	}
	put := func(key string, set bool, value any) { // plans don't depend on these: the class's own text may set them too
		if set {
			kubernetes[key] = value
		}
	}
	put("eviction-soft", len(k.EvictionSoft) > 0, k.EvictionSoft)
	put("eviction-soft-grace-period", len(k.EvictionSoftGracePeriod) > 0, k.EvictionSoftGracePeriod)
	put("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod != nil, k.EvictionMaxPodGracePeriod)
	put("image-gc-high-threshold-percent", k.ImageGCHighThreshold != nil, percent(k.ImageGCHighThreshold))
	put("image-gc-low-threshold-percent", k.ImageGCLowThreshold != nil, percent(k.ImageGCLowThreshold))
	put("cpu-cfs-quota-enforced", k.CPUCFSQuota != nil, k.CPUCFSQuota)
	return nil
}

// percent is text, as Bottlerocket's settings have it.
func percent(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// decides sets a key that plans depend on. Set by the class's own text it is refused: what plans do not know makes nodes
// that pods do not fit.
func decides(kubernetes map[string]any, key string, set bool, value any, remedy string) error {
	if _, there := kubernetes[key]; there {
		return invalid("settings.kubernetes.%s: set %s in its place", key, remedy)
	}
	if set {
		kubernetes[key] = value
	}
	return nil
}

// ephemeralStorage is what Bottlerocket's own tool calls local disks.
const ephemeralStorage = "ephemeral-storage"

// instanceStorage is the command that joins the local disks and has containers and logs on them.
func instanceStorage() map[string]any {
	return map[string]any{
		"commands": [][]string{
			{"apiclient", ephemeralStorage, "init"},
			{"apiclient", ephemeralStorage, "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"},
		},
		"essential": true, "mode": "always",
	}
}

// table is the table at the end of a path, made where it is missing.
func table(parent map[string]any, path string) (map[string]any, error) {
	names := strings.Split(path, ".")
	key := names[len(names)-1]
	if parent[key] == nil {
		parent[key] = map[string]any{}
	}
	out, ok := parent[key].(map[string]any)
	if !ok {
		return nil, invalid("%s: want a table", path)
	}
	return out, nil
}
