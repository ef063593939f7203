// Package load makes what a cluster is asked to run, from a seed alone: the same seed gives the same objects on every
// machine, so that both sides and the bound get the same.
//
// It knows no cluster and no clock. Start reading at Ramp.
package load

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const (
	// AppLabel names the workload of a pod.
	AppLabel = "app"

	image = "registry.k8s.io/pause:3.10"
)

// size is what a pod asks for.
type size struct{ milli, mib int64 }

// randomSize draws from a few round amounts of CPU, as people write them, and from ratios of memory to CPU, in GiB, about
// those of the c, m and r families.
func randomSize(r *rand.Rand) size {
	millis := []int64{100, 200, 250, 400, 500, 750, 1000, 1500}
	ratios := []int64{1, 2, 4, 6, 8}
	milli := millis[r.IntN(len(millis))]
	return size{milli, milli * ratios[r.IntN(len(ratios))] * 1024 / 1000}
}

func source(seed uint64, what string) *rand.Rand {
	var salt uint64
	for _, c := range []byte(what) {
		salt = salt*131 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, salt)) //nolint:gosec // not a secret
}

// Ramp is 24 Deployments of 40 pods each. Those of a quarter of them must spread over the zones.
func Ramp(seed uint64) []*appsv1.Deployment {
	r := source(seed, "ramp")
	var out []*appsv1.Deployment
	for i := range 24 {
		d := deployment(fmt.Sprintf("ramp-%02d", i), 40, randomSize(r))
		if i%4 == 0 {
			spread(d, corev1.LabelTopologyZone)
		}
		out = append(out, d)
	}
	return out
}

// Bursts are four Deployments of 20 pods, to be made one after the other.
func Bursts(seed uint64) []*appsv1.Deployment {
	r := source(seed, "bursts")
	var out []*appsv1.Deployment
	for i := range 4 {
		out = append(out, deployment(fmt.Sprintf("burst-%d", i), 20, randomSize(r)))
	}
	return out
}

// Scaled are copies with a share of their replicas, rounded down.
func Scaled(of []*appsv1.Deployment, percent int32) []*appsv1.Deployment {
	var out []*appsv1.Deployment
	for _, d := range of {
		d = d.DeepCopy()
		*d.Spec.Replicas = *d.Spec.Replicas * percent / 100
		out = append(out, d)
	}
	return out
}

// Pods is how many pods the Deployments ask for.
func Pods(of []*appsv1.Deployment) int {
	n := 0
	for _, d := range of {
		n += int(*d.Spec.Replicas)
	}
	return n
}

// YAML is the objects as a manifest.
func YAML[T runtime.Object](objects []T) ([]byte, error) {
	var out []byte
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}

func deployment(name string, replicas int32, s size) *appsv1.Deployment {
	labels := map[string]string{AppLabel: name}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(s)},
		},
	}
}

func podSpec(s size) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: image,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(s.milli, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(s.mib<<20, resource.BinarySI),
		}},
	}}}
}

// spread lets a Deployment's pods differ by at most one between any two domains.
func spread(d *appsv1.Deployment, key string) {
	d.Spec.Template.Spec.TopologySpreadConstraints = append(d.Spec.Template.Spec.TopologySpreadConstraints,
		corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: d.Spec.Selector,
		})
}

// Surging are copies that replace their pods by a quarter at a time, each only once a new one is ready.
func Surging(of []*appsv1.Deployment) []*appsv1.Deployment {
	quarter, none := intstr.FromString("25%"), intstr.FromInt32(0)
	var out []*appsv1.Deployment
	for _, d := range of {
		d = d.DeepCopy()
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &none},
		}
		out = append(out, d)
	}
	return out
}

// PodsPerNode is how many of Many's pods the largest types of the market hold.
const PodsPerNode = 10

// Many are Deployments of at most a thousand pods each, which together ask for that many pods, all of one size: ten of
// them fill a node of 32 CPUs, and no smaller one is cheaper for them.
func Many(name string, pods int) []*appsv1.Deployment {
	var out []*appsv1.Deployment
	for i := 0; pods > 0; i++ {
		n := min(pods, 1000)
		out = append(out, deployment(fmt.Sprintf("%s-%02d", name, i), int32(n), size{3100, 5 * 1024}))
		pods -= n
	}
	return out
}

// Rare is an instance type of the market that Many's pods are not put on, another one for each number from 0 to 2.
func Rare(i int) string { return []string{"m5.xlarge", "m5.2xlarge", "m5.4xlarge"}[i] }
