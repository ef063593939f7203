package legacy

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// moved lists, by today's version, those in which the kinds of other projects were before, with the same fields but for
// what Today mends.
func moved() map[string][]string {
	return map[string][]string{
		"apps/v1":              {"apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"},
		"batch/v1":             {"batch/v1beta1", "batch/v2alpha1"},
		"node.k8s.io/v1":       {"node.k8s.io/v1beta1"},
		"policy/v1":            {"policy/v1beta1"},
		"resource.k8s.io/v1":   {"resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"},
		"scheduling.k8s.io/v1": {"scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1"},
		"storage.k8s.io/v1":    {"storage.k8s.io/v1alpha1", "storage.k8s.io/v1beta1"},

		"autoscaling.x-k8s.io/v1beta1": {"autoscaling.x-k8s.io/v1alpha1"},
	}
}

// MovedTo is the version in which the kinds of an earlier one are today; false where it is none of those.
func MovedTo(gv schema.GroupVersion) (schema.GroupVersion, bool) {
	for today, before := range moved() {
		if slices.Contains(before, gv.String()) {
			to, err := schema.ParseGroupVersion(today)
			return to, err == nil
		}
	}
	return schema.GroupVersion{}, false
}

// Today rewrites an object of an earlier version in the words of today's. What it does not know stays as it is.
func Today(object []byte, to schema.GroupVersion, kind string) []byte {
	fields := map[string]any{}
	if json.Unmarshal(object, &fields) != nil {
		return object
	}
	from := fields["apiVersion"]
	fields["apiVersion"] = to.String()
	spec, _ := fields["spec"].(map[string]any)
	switch {
	case kind == "PodDisruptionBudget":
		// An empty selector was one of no pods and is one of all; one that is missing is one of none.
		if selector, ok := spec["selector"].(map[string]any); ok && len(selector) == 0 {
			delete(spec, "selector")
		}
	case to.Group == "apps" && spec != nil && spec["selector"] == nil:
		spec["selector"] = map[string]any{"matchLabels": at(spec, "template", "metadata")["labels"]}
	case kind == "ResourceClaim" && from == "resource.k8s.io/v1beta1":
		exactly(at(spec, "devices"))
	case kind == "ResourceClaimTemplate" && from == "resource.k8s.io/v1beta1":
		exactly(at(spec, "spec", "devices"))
	case kind == "ResourceSlice" && from == "resource.k8s.io/v1beta1":
		devices, _ := spec["devices"].([]any)
		for _, d := range devices {
			device, _ := d.(map[string]any)
			basic := at(device, "basic")
			delete(device, "basic")
			maps.Copy(device, basic)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return object
	}
	return out
}

// exactly moves what a request of v1beta1 asks for to where it is today, unless it lists alternatives.
func exactly(devices map[string]any) {
	requests, _ := devices["requests"].([]any)
	for _, r := range requests {
		request, _ := r.(map[string]any)
		asked := map[string]any{}
		for name, value := range request {
			if name != "name" && name != "firstAvailable" && name != "exactly" {
				asked[name] = value
				delete(request, name)
			}
		}
		if len(asked) > 0 {
			request["exactly"] = asked
		}
	}
}

// at follows fields that hold objects; it is nil where one of them does not.
func at(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}
