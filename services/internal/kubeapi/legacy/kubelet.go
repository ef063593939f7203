package legacy

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// PoolKubelet is the kubelet settings of one pool that was read in an old form.
type PoolKubelet struct {
	// The pool's name.
	Pool string
	// The settings; nil when the pool gave none.
	Kubelet *runtime.RawExtension
}

// OwnClasses gives each pool whose kubelet settings differ from those of the first pool of the class, or from the
// class's own, a copy of the class with its settings, which is named in the result under the pool's name. It is for
// those who plan with the objects: pools of an old form could share a class and differ in their kubelets.
func OwnClasses(class *awsv1.EC2NodeClass, pools []PoolKubelet) map[string]*awsv1.EC2NodeClass {
	settings := class.Spec.Kubelet
	if settings == nil {
		settings = pools[0].Kubelet
	}
	out := map[string]*awsv1.EC2NodeClass{}
	for _, p := range pools {
		if !sameJSON(p.Kubelet, settings) {
			own := class.DeepCopy()
			own.Name = class.Name + "-" + p.Pool
			own.Spec.Kubelet = p.Kubelet.DeepCopy()
			out[p.Pool] = own
		}
	}
	return out
}

// MoveKubelet puts the kubelet settings of all pools that name the class into it.
// Pools that share a class must agree, because a class can say one thing only.
// The class is nil when the input holds none of that name. The error names the
// pool's field.
func MoveKubelet(class *awsv1.EC2NodeClass, ref karpenterv1.NodeClassReference, pools []PoolKubelet) error {
	said := -1
	for i, p := range pools {
		if p.Kubelet != nil {
			said = i
			break
		}
	}
	if said < 0 {
		return nil
	}
	if class == nil {
		return kubeletError(pools[said].Pool, field.Forbidden(kubeletPath(),
			"it belongs to the EC2NodeClass now, and "+ref.Name+" is not among the objects read: read it too, or write the settings there"))
	}
	settings := pools[said].Kubelet
	for _, p := range pools {
		if !sameJSON(p.Kubelet, settings) {
			return kubeletError(p.Pool, field.Forbidden(kubeletPath(),
				"it belongs to the EC2NodeClass now, and NodePool "+pools[said].Pool+" wants other settings of "+ref.Name+": give each pool a class of its own"))
		}
	}
	if class.Spec.Kubelet != nil && !sameJSON(class.Spec.Kubelet, settings) {
		return kubeletError(pools[said].Pool, field.Forbidden(kubeletPath(),
			"it belongs to the EC2NodeClass now, and "+ref.Name+" has other settings in spec.kubelet: remove one of them"))
	}
	class.Spec.Kubelet = settings.DeepCopy()
	return nil
}

// PoolError is what is wrong with a pool because of another object.
type PoolError struct {
	Pool    string
	Problem *field.Error
}

// Error implements error.
func (e *PoolError) Error() string {
	return "NodePool " + e.Pool + ": " + e.Problem.Error()
}

func kubeletError(pool string, problem *field.Error) error {
	return &PoolError{Pool: pool, Problem: problem}
}

func kubeletPath() *field.Path {
	return field.NewPath("spec", "template", "spec", "kubelet")
}

func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	var left, right any
	if json.Unmarshal(a.Raw, &left) != nil || json.Unmarshal(b.Raw, &right) != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}

// withoutContainerRuntime drops the one kubelet setting that no later form has.
func (r *Result) withoutContainerRuntime(raw *runtime.RawExtension, path *field.Path) *runtime.RawExtension {
	if raw == nil {
		return nil
	}
	const name = "containerRuntime"
	settings := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw.Raw, &settings); err != nil {
		r.fail(field.Invalid(path, string(raw.Raw), "want an object of kubelet settings"))
		return nil
	}
	if _, ok := settings[name]; !ok {
		return raw
	}
	r.note(path.Child(name), "containerd is the only runtime now: dropped")
	delete(settings, name)
	if len(settings) == 0 {
		return nil
	}
	text, err := json.Marshal(settings)
	if err != nil { // values that came from JSON always go back to JSON
		r.fail(field.InternalError(path, err))
		return nil
	}
	return &runtime.RawExtension{Raw: text}
}
