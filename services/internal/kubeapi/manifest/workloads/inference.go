package workloads

import (
	"cmp"
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
	least    *int32
	size     *int32     // how many pods each replica is in, with workers
	worker   *component // nil where there are none
	metadata podMetadata
	spec     corev1.PodSpec
}

// UnmarshalJSON reads a component as a pod with a number of replicas.
func (c *component) UnmarshalJSON(text []byte) error {
	var own struct {
		corev1.PodSpec `json:",inline"`
		podMetadata    `json:",inline"`

		Least  *int32     `json:"minReplicas"`
		Size   *int32     `json:"pipelineParallelSize"`
		Worker *component `json:"workerSpec"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	c.least, c.metadata, c.spec, c.size, c.worker = own.Least, own.podMetadata, own.PodSpec, own.Size, own.Worker
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	server := 0 // the first, of those that have no model
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(frameworks(), name) {
			continue
		}
		var own corev1.Container
		if err := json.Unmarshal(all[name], &own); err != nil {
			return err
		}
		own.Name, own.Image = "kserve-container", "kserve"
		server = len(c.spec.Containers)
		c.spec.Containers = append(c.spec.Containers, own)
	}
	for i := range c.spec.Containers {
		one := &c.spec.Containers[i]
		one.Image = cmp.Or(one.Image, "kserve")
		if i == server {
			setServerDefaults(&one.Resources)
		}
	}
	return nil
}

// setServerDefaults gives a model's server what KServe's own settings have, of each resource for which it says nothing.
func setServerDefaults(r *corev1.ResourceRequirements) {
	for _, list := range []*corev1.ResourceList{&r.Requests, &r.Limits} {
		had := *list
		*list = amounts("1", "2Gi")
		maps.Copy(*list, had)
	}
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
		t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: c.spec} // its pods have its own labels
		c.metadata.put(&t)
		labels := map[string]string{"serving.kserve.io/inferenceservice": meta.Name, "component": name}
		out = append(out, group{name: name, pods: max(or(c.least, 1), 1), template: t, labels: labels})
		if w := c.worker; w != nil {
			t.Spec = w.spec
			pods := times(max(or(c.least, 1), 1), or(w.size, leastSize)-1)
			out = append(out, group{name: name + "-worker", pods: pods, template: *t.DeepCopy(), labels: labels})
		}
	}
	return out
}

// leastSize is in how many pods a replica is that has workers, where nothing says how many.
const leastSize = 2
