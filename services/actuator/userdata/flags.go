package userdata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// kubeletFlags are the kubelet's command line, for the families whose boot script takes one.
func kubeletFlags(n Node) string {
	k := n.Kubelet
	var out []string
	put := func(name, value string) {
		if value != "" {
			out = append(out, "--"+name+"="+value)
		}
	}
	put("node-labels", labelPairs(n.Labels))
	taints := make([]string, 0, len(n.Taints))
	for _, t := range n.Taints {
		taints = append(taints, t.Key+"="+t.Value+":"+t.Effect.String())
	}
	put("register-with-taints", strings.Join(taints, ","))
	if n.MaxPods > 0 {
		put("max-pods", strconv.FormatInt(n.MaxPods, 10))
	}
	put("pods-per-core", whole(k.PodsPerCore))
	put("kube-reserved", pairs(k.KubeReserved, "="))
	put("system-reserved", pairs(k.SystemReserved, "="))
	put("eviction-hard", pairs(k.EvictionHard, "<"))
	put("eviction-soft", pairs(k.EvictionSoft, "<"))
	put("eviction-soft-grace-period", pairs(k.EvictionSoftGracePeriod, "="))
	put("eviction-max-pod-grace-period", whole(k.EvictionMaxPodGracePeriod))
	put("image-gc-high-threshold", whole(k.ImageGCHighThreshold))
	put("image-gc-low-threshold", whole(k.ImageGCLowThreshold))
	if k.CPUCFSQuota != nil {
		put("cpu-cfs-quota", strconv.FormatBool(*k.CPUCFSQuota))
	}
	return strings.Join(out, " ")
}

func labelPairs(all model.Labels) string {
	kept := nodeLabels(all)
	out := make([]string, 0, len(kept))
	for _, l := range kept {
		out = append(out, l.Key+"="+l.Value)
	}
	return strings.Join(out, ",")
}

func pairs(m map[string]string, sep string) string {
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+sep+m[k])
	}
	return strings.Join(out, ",")
}

func whole[N int32 | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}
