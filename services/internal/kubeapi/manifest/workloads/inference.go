package workloads

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// inference is KServe's InferenceService. Each of its components is a pod, with the model's server as one more container,
// whose field is named by the framework.
type inference struct {
	Spec struct {
		Explainer   component `json:"explainer"`
		Predictor   component `json:"predictor"`
		Transformer component `json:"transformer"`
	} `json:"spec"`
}

type component struct {
	least *int32
	spec  corev1.PodSpec
}

// UnmarshalJSON reads a component as a pod with a number of replicas.
func (c *component) UnmarshalJSON(text []byte) error {
	var own struct {
		corev1.PodSpec `json:",inline"`
		Least          *int32 `json:"minReplicas"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	c.least, c.spec = own.Least, own.PodSpec
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(frameworks(), name) {
			continue
		}
		var server corev1.Container
		if err := json.Unmarshal(all[name], &server); err != nil {
			return err
		}
		server.Name, server.Image = "kserve-container", "kserve"
		c.spec.Containers = append(c.spec.Containers, server)
	}
	return nil
}

// frameworks are the fields of a component that say a model, and how its server runs.
func frameworks() []string {
	return []string{"art", "huggingface", "lightgbm", "model", "onnx", "paddle", "pmml", "pytorch", "sklearn", "tensorflow", "triton", "xgboost"}
}

func (s *inference) groups(meta metav1.ObjectMeta) (out []group) {
	for _, of := range []struct {
		name string
		component
	}{{"explainer", s.Spec.Explainer}, {"predictor", s.Spec.Predictor}, {"transformer", s.Spec.Transformer}} {
		name, c := of.name, of.component
		if len(c.spec.Containers) == 0 {
			continue
		}
		for i := range c.spec.Containers {
			one := &c.spec.Containers[i]
			if len(one.Resources.Requests) == 0 && len(one.Resources.Limits) == 0 { // as KServe's own settings have it
				one.Resources = corev1.ResourceRequirements{Requests: amounts("1", "2Gi"), Limits: amounts("1", "2Gi")}
			}
			if one.Image == "" {
				one.Image = "kserve"
			}
		}
		out = append(out, group{
			name: name, pods: max(or(c.least, 1), 1), template: corev1.PodTemplateSpec{Spec: c.spec},
			labels: map[string]string{"serving.kserve.io/inferenceservice": meta.Name, "component": name},
		})
	}
	return out
}
