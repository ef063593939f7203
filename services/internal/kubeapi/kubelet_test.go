package kubeapi_test

// kubelets are the fields of the kubelet that Kerf reads. The schema leaves them open.
func kubelets() map[string]tries {
	reserved := func(name string) tries {
		at := "kubelet." + name
		return tries{
			good: []string{`kubelet: {` + name + `: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: "1000"}}`},
			bad: map[string]string{
				`kubelet: {` + name + `: {gpu: "1"}}`: at, `kubelet: {` + name + `: {cpu: "-1"}}`: at + "[cpu]", `kubelet: {` + name + `: {cpu: much}}`: at + "[cpu]",
				`kubelet: {` + name + `: {cpu: 1}}`: at,
			},
		}
	}
	percent := func(name string) tries {
		return tries{
			good: []string{`kubelet: {imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 70}`},
			bad: map[string]string{
				`kubelet: {` + name + `: 101}`: "kubelet." + name, `kubelet: {` + name + `: -1}`: "kubelet." + name,
				`kubelet: {imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 70}`: "kubelet.imageGCHighThresholdPercent",
			},
		}
	}
	soft := func(signal, value, grace string) string {
		return `kubelet: {evictionSoft: {` + signal + `: ` + value + `}, evictionSoftGracePeriod: {` + signal + `: ` + grace + `}}`
	}
	out := map[string]tries{
		"clusterDNS": {
			good: []string{`kubelet: {clusterDNS: [10.0.0.10, "fd00::a"]}`, `{amiSelectorTerms: [{alias: bottlerocket@latest}], kubelet: {clusterDNS: [10.0.0.10]}}`},
			bad: map[string]string{
				`kubelet: {clusterDNS: 10.0.0.10}`: "kubelet.clusterDNS", `kubelet: {clusterDNS: [dns]}`: "kubelet.clusterDNS[0]",
				`{amiSelectorTerms: [{alias: bottlerocket@latest}], kubelet: {clusterDNS: [10.0.0.10, 10.0.0.11]}}`: "kubelet.clusterDNS",
			},
		},
		"maxPods": {
			good: []string{`kubelet: {maxPods: 0}`, `kubelet: {maxPods: 110}`, `kubelet: {maxPods: "min(110, vcpus * 10)"}`},
			bad:  map[string]string{`kubelet: {maxPods: -1}`: "kubelet.maxPods", `kubelet: {maxPods: many}`: "kubelet.maxPods", `kubelet: {maxPods: true}`: "kubelet.maxPods"},
		},
		"podsPerCore": {
			good: []string{`kubelet: {podsPerCore: 0}`, `kubelet: {podsPerCore: 10}`},
			bad:  map[string]string{`kubelet: {podsPerCore: -1}`: "kubelet.podsPerCore", `kubelet: {podsPerCore: few}`: "kubelet.podsPerCore"},
		},
		"systemReserved": reserved("systemReserved"),
		"kubeReserved":   reserved("kubeReserved"),
		"evictionHard": {
			good: []string{`kubelet: {evictionHard: {memory.available: 5%, nodefs.available: 1Gi, nodefs.inodesFree: 5%, imagefs.available: 100%, imagefs.inodesFree: 1%, pid.available: "100"}}`},
			bad: map[string]string{
				`kubelet: {evictionHard: {memory.available: 105%}}`: "kubelet.evictionHard[memory.available]", `kubelet: {evictionHard: {memory.available: "-1"}}`: "kubelet.evictionHard[memory.available]",
				`kubelet: {evictionHard: {memory: 5%}}`: "kubelet.evictionHard",
			},
		},
		"evictionSoft": {
			good: []string{soft("memory.available", "5%", "1m30s")},
			bad: map[string]string{
				`kubelet: {evictionSoft: {memory.available: 5%}}`: "kubelet.evictionSoftGracePeriod[memory.available]", soft("memory.available", "5.%%", "1m"): "kubelet.evictionSoft[memory.available]",
				soft("disk", "5%", "1m"): "kubelet.evictionSoft",
			},
		},
		"evictionSoftGracePeriod": {
			good: []string{soft("nodefs.available", "10%", "2m")},
			bad: map[string]string{
				`kubelet: {evictionSoftGracePeriod: {memory.available: 1m}}`: "kubelet.evictionSoft[memory.available]", soft("memory.available", "5%", "soon"): "kubelet.evictionSoftGracePeriod[memory.available]",
				soft("memory.available", "5%", "-1m"): "kubelet.evictionSoftGracePeriod[memory.available]",
			},
		},
		"evictionMaxPodGracePeriod": {
			good: []string{`kubelet: {evictionMaxPodGracePeriod: 60}`, `kubelet: {evictionMaxPodGracePeriod: -1}`}, // -1: the pod's own
			bad:  map[string]string{`kubelet: {evictionMaxPodGracePeriod: 60s}`: "kubelet.evictionMaxPodGracePeriod"},
		},
		"imageGCHighThresholdPercent": percent("imageGCHighThresholdPercent"),
		"imageGCLowThresholdPercent":  percent("imageGCLowThresholdPercent"),
		"cpuCFSQuota":                 {good: []string{`kubelet: {cpuCFSQuota: false}`}, bad: map[string]string{`kubelet: {cpuCFSQuota: "off"}`: "kubelet.cpuCFSQuota"}},
		// Any other field of the kubelet's own.
		"*": {
			good: []string{`kubelet: {shutdownGracePeriod: 30s}`, `{amiFamily: Custom, kubelet: {shutdownGracePeriod: 30s}}`},
			bad: map[string]string{
				`{amiSelectorTerms: [{alias: al2@latest}], kubelet: {shutdownGracePeriod: 30s}}`: "kubelet.shutdownGracePeriod",
				`kubelet: {registerWithTaints: []}`:                                              "kubelet.registerWithTaints",
				`{amiFamily: Custom, kubelet: {shutDownGracePeriod: 30s}}`:                       "kubelet.shutDownGracePeriod",
			},
		},
	}
	below := map[string]tries{}
	for name, t := range out {
		t.later = true
		below["kubelet."+name] = t
	}
	return below
}
