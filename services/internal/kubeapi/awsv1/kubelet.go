package awsv1

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/formula"
)

// Kubelet is the part of the kubelet's configuration that Kerf itself reads, as
// it decides how much of a node pods can use. Quantities are text as the user
// wrote it; ParseKubelet has checked that they parse.
type Kubelet struct {
	// Addresses of the cluster's DNS.
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// The most pods on a node.
	MaxPods *int32 `json:"maxPods,omitempty"`
	// The same as an expression, see package formula; "" where it is a number.
	MaxPodsFormula string `json:"-"`
	// The most pods per vCPU; MaxPods still holds.
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// What the operating system keeps: cpu, memory, ephemeral-storage, pid.
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// What Kubernetes' own programs keep: cpu, memory, ephemeral-storage, pid.
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// Hard eviction thresholds by signal: a quantity or a percentage.
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// Soft eviction thresholds by signal: a quantity or a percentage.
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// How long a soft threshold may be crossed, by signal: a duration.
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// The most time that a soft eviction gives a pod, in seconds; below 0 the pod's own.
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// How full the disk is when images are deleted, in percent.
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// How far images are deleted, in percent.
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// Whether CPU limits are enforced.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`

	// The fields that Kerf passes on without reading them, by name.
	Extra map[string]json.RawMessage `json:"-"`
}

// ExtraNames are the names of Extra, sorted.
func (k Kubelet) ExtraNames() []string { return slices.Sorted(maps.Keys(k.Extra)) }

// ParseKubelet reads a node class's kubelet field; nil gives the zero Kubelet. The
// errors name fields below path.
func ParseKubelet(raw *runtime.RawExtension, path *field.Path) (Kubelet, field.ErrorList) {
	var k Kubelet
	if raw == nil || len(raw.Raw) == 0 {
		return k, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw.Raw, &fields); err != nil {
		return k, field.ErrorList{field.Invalid(path, short(raw.Raw), "want an object of kubelet settings")}
	}
	var errs field.ErrorList
	targets := k.targets()
	names := KubeletNames()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		target, known := targets[name]
		if !known {
			if i := slices.IndexFunc(names, func(n string) bool { return n != name && strings.EqualFold(n, name) }); i >= 0 {
				errs = append(errs, field.Invalid(path.Child(name), short(fields[name]), "kubelets pass over it: write "+names[i]))
			}
			if k.Extra == nil {
				k.Extra = map[string]json.RawMessage{}
			}
			k.Extra[name] = fields[name]
			continue
		}
		if name == "maxPods" && json.Unmarshal(fields[name], &k.MaxPodsFormula) == nil && k.MaxPodsFormula != "" {
			if _, err := formula.Parse(k.MaxPodsFormula); err != nil {
				errs = append(errs, field.Invalid(path.Child(name), short(fields[name]), err.Error()))
			}
			continue
		}
		if err := json.Unmarshal(fields[name], target); err != nil {
			errs = append(errs, field.Invalid(path.Child(name), short(fields[name]), wantOf(target)))
		}
	}
	if len(errs) > 0 {
		return k, errs
	}
	return k, k.validate(path)
}

func (k *Kubelet) targets() map[string]any {
	return map[string]any{
		"clusterDNS":                  &k.ClusterDNS,
		"maxPods":                     &k.MaxPods,
		"podsPerCore":                 &k.PodsPerCore,
		"systemReserved":              &k.SystemReserved,
		"kubeReserved":                &k.KubeReserved,
		"evictionHard":                &k.EvictionHard,
		"evictionSoft":                &k.EvictionSoft,
		"evictionSoftGracePeriod":     &k.EvictionSoftGracePeriod,
		"evictionMaxPodGracePeriod":   &k.EvictionMaxPodGracePeriod,
		"imageGCHighThresholdPercent": &k.ImageGCHighThresholdPercent,
		"imageGCLowThresholdPercent":  &k.ImageGCLowThresholdPercent,
		"cpuCFSQuota":                 &k.CPUCFSQuota,
	}
}

func wantOf(target any) string {
	switch target.(type) {
	case **int32:
		return "want a whole number; maxPods may be an expression too"
	case **bool:
		return "want true or false"
	case *[]string:
		return "want a list of texts"
	default:
		return `want an object of texts such as {memory: "200Mi"}; numbers go in quotes`
	}
}

func (k *Kubelet) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, checkAddresses(k.ClusterDNS, path.Child("clusterDNS"))...)
	errs = append(errs, checkCount(k.MaxPods, path.Child("maxPods"))...)
	errs = append(errs, checkCount(k.PodsPerCore, path.Child("podsPerCore"))...)
	errs = append(errs, checkReserved(k.SystemReserved, path.Child("systemReserved"))...)
	errs = append(errs, checkReserved(k.KubeReserved, path.Child("kubeReserved"))...)
	errs = append(errs, checkThresholds(k.EvictionHard, path.Child("evictionHard"))...)
	errs = append(errs, checkThresholds(k.EvictionSoft, path.Child("evictionSoft"))...)
	errs = append(errs, checkGracePeriods(k, path)...)
	return append(errs, checkImageGC(k, path)...)
}

func checkAddresses(list []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range list {
		if _, err := netip.ParseAddr(text); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), text, "want an address such as 10.100.0.10"))
		}
	}
	return errs
}

func checkCount(n *int32, path *field.Path) field.ErrorList {
	if n != nil && *n < 0 {
		return field.ErrorList{field.Invalid(path, *n, "want 0 or more")}
	}
	return nil
}

func checkReserved(m map[string]string, path *field.Path) field.ErrorList {
	known := []string{"cpu", "ephemeral-storage", "memory", "pid"}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(path, name, known))
		}
		errs = append(errs, checkQuantity(m[name], path.Key(name))...)
	}
	return errs
}

func checkThresholds(m map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, signal := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(evictionSignals(), signal) {
			errs = append(errs, field.NotSupported(path, signal, evictionSignals()))
		}
		value := m[signal]
		if share, percent := strings.CutSuffix(value, "%"); percent {
			// A quantity without a suffix is a decimal number, which is what a share is.
			if q, err := resource.ParseQuantity(share); err != nil || q.Sign() < 0 || q.CmpInt64(100) > 0 {
				errs = append(errs, field.Invalid(path.Key(signal), value, "want 0% to 100%"))
			}
			continue
		}
		errs = append(errs, checkQuantity(value, path.Key(signal))...)
	}
	return errs
}

func evictionSignals() []string {
	return []string{
		"imagefs.available", "imagefs.inodesFree", "memory.available",
		"nodefs.available", "nodefs.inodesFree", "pid.available",
	}
}

func checkQuantity(value string, path *field.Path) field.ErrorList {
	q, err := resource.ParseQuantity(value)
	if err != nil {
		return field.ErrorList{field.Invalid(path, value, "want a quantity such as 100m or 200Mi; only maxPods may be an expression")}
	}
	if q.Sign() < 0 {
		return field.ErrorList{field.Invalid(path, value, "want 0 or more")}
	}
	return nil
}

func checkGracePeriods(k *Kubelet, path *field.Path) field.ErrorList {
	periods := path.Child("evictionSoftGracePeriod")
	var errs field.ErrorList
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[signal]; !ok {
			errs = append(errs, field.Required(periods.Key(signal), "evictionSoft has this signal: give it a grace period such as 1m"))
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if _, ok := k.EvictionSoft[signal]; !ok {
			errs = append(errs, field.Required(path.Child("evictionSoft").Key(signal),
				"evictionSoftGracePeriod has this signal: give it a threshold or remove the grace period"))
		}
		value := k.EvictionSoftGracePeriod[signal]
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			errs = append(errs, field.Invalid(periods.Key(signal), value, "want a duration such as 1m30s"))
		}
	}
	return errs
}

func checkImageGC(k *Kubelet, path *field.Path) field.ErrorList {
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	var errs field.ErrorList
	for name, value := range map[string]*int32{"imageGCHighThresholdPercent": high, "imageGCLowThresholdPercent": low} {
		if value != nil && (*value < 0 || *value > 100) {
			errs = append(errs, field.Invalid(path.Child(name), *value, "want 0 to 100"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	if high != nil && low != nil && *high <= *low {
		errs = append(errs, field.Invalid(path.Child("imageGCHighThresholdPercent"), *high,
			fmt.Sprintf("want more than imageGCLowThresholdPercent, which is %d", *low)))
	}
	return errs
}

// short is text for a message: enough of it to know it again.
func short(text []byte) string {
	const most = 60
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
