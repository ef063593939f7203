package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The shape of a day in ten minutes.
const (
	DayLength = 600 // seconds
	// DayStep is the time between two changes of the load: a day has 40, 36 minutes of its own each.
	DayStep = 15

	// StorageClass is of the volumes that the StatefulSets of a day ask for; Provisioner makes them.
	StorageClass = "day"
	Provisioner  = "ebs.csi.aws.com"

	// How large a day is: workloads of each kind, and their pods at the peak.
	webs, webPeak  = 20, 30
	batchEvery     = 3 // steps
	volumes        = 3
	noon           = DayLength / 2
	doNotDisrupt   = "karpenter.sh/do-not-disrupt"
	quietestFactor = 0.25
)

// Day is a day's load. What is there at its start, and what changes at its steps.
type Day struct {
	Deployments []*appsv1.Deployment
	Sets        []*appsv1.StatefulSet
	Budgets     []*policyv1.PodDisruptionBudget
	Steps       []Step
}

// Step is what changes at a time, in seconds since the start.
type Step struct {
	At float64
	// Replicas are new sizes of Deployments by name.
	Replicas map[string]int32
	// Batch are pods that run for a while, are not to be disturbed, and end.
	Batch []Batch
	// Restart are Deployments whose pods are made anew.
	Restart []string
}

// Batch is one such pod.
type Batch struct {
	Pod  *corev1.Pod
	Runs time.Duration
}

// TheDay is the day of a seed: Deployments that rise and fall, some spread over zones, some at most one a node, half of
// them behind a disruption budget; StatefulSets with volumes; batches of pods that end; and one rollout at noon.
func TheDay(seed uint64) *Day {
	r := source(seed, "day")
	d := &Day{}
	for i := range webs {
		d.web(i, randomSize(r))
	}
	for i := range volumes {
		d.Sets = append(d.Sets, set(fmt.Sprintf("data-%d", i), 3, randomSize(r)))
		d.Budgets = append(d.Budgets, budget(fmt.Sprintf("data-%d", i), intstr.FromInt32(1)))
	}
	for at := 0; at < DayLength; at += DayStep {
		d.Steps = append(d.Steps, d.step(r, at))
	}
	for _, w := range d.Deployments {
		*w.Spec.Replicas = d.Steps[0].Replicas[w.Name]
	}
	d.Steps[0].Replicas = nil // they are there at the start
	return d
}

// web is the i-th Deployment.
func (d *Day) web(i int, s size) {
	name := fmt.Sprintf("web-%02d", i)
	w := deployment(name, 0, s)
	switch i % 4 {
	case 0:
		spread(w, corev1.LabelTopologyZone)
	case 1:
		apart(w)
	}
	d.Deployments = append(d.Deployments, w)
	if i%2 == 0 {
		d.Budgets = append(d.Budgets, budget(name, intstr.FromString("10%")))
	}
}

// step is what changes at a time. The load is highest in the second half of the day; each Deployment has its own noise.
func (d *Day) step(r *rand.Rand, at int) Step {
	s := Step{At: float64(at), Replicas: map[string]int32{}}
	level := quietestFactor + (1-quietestFactor)*(0.5-0.5*math.Cos(2*math.Pi*(float64(at)/DayLength)))
	for i, w := range d.Deployments {
		peak := webPeak
		if i%4 == 1 { // at most one a node: as many nodes
			peak = 8
		}
		noise := 0.9 + 0.2*r.Float64()
		s.Replicas[w.Name] = int32(max(1, math.Round(float64(peak)*level*noise)))
		if at == noon && i < webs/2 {
			s.Restart = append(s.Restart, w.Name)
		}
	}
	if at/DayStep%batchEvery == 1 {
		s.Batch = batch(r, at)
	}
	return s
}

// batch is pods of one size that run for as long as each other, half a minute to a minute and a half.
func batch(r *rand.Rand, at int) []Batch {
	size, count := randomSize(r), 8+r.IntN(16)
	runs := time.Duration(30+r.IntN(60)) * time.Second
	var out []Batch
	for i := range count {
		name := fmt.Sprintf("batch-%03d-%02d", at, i)
		out = append(out, Batch{Runs: runs, Pod: &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{AppLabel: "batch"},
				Annotations: map[string]string{doNotDisrupt: "true"},
			},
			Spec: podSpec(size),
		}})
	}
	return out
}

// apart lets no two of a Deployment's pods share a node.
func apart(d *appsv1.Deployment) {
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: d.Spec.Selector,
		}},
	}}
}

func budget(app string, unavailable intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &unavailable, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{AppLabel: app}},
		},
	}
}

// set is a StatefulSet whose pods have a volume each, made in the zone of the pod's first node.
func set(name string, replicas int32, s size) *appsv1.StatefulSet {
	d, class := deployment(name, replicas, s), StorageClass
	d.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: d.ObjectMeta,
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: d.Spec.Selector, ServiceName: name, Template: d.Spec.Template,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceStorage: *resource.NewQuantity(10<<30, resource.BinarySI),
					}},
				},
			}},
		},
	}
}

// Standing is all that runs after a time, as Deployments: the day's own in the size of that time, StatefulSets without
// their volumes, and the batches that have not ended, which count from when they are asked for. It is what the bound is
// asked about.
func (d *Day) Standing(at float64) []*appsv1.Deployment {
	var out []*appsv1.Deployment
	for _, w := range d.Deployments {
		w = w.DeepCopy()
		for _, s := range d.Steps {
			if n, ok := s.Replicas[w.Name]; ok && s.At <= at {
				*w.Spec.Replicas = n
			}
		}
		out = append(out, w)
	}
	for _, s := range d.Sets {
		w := deployment(s.Name, *s.Spec.Replicas, size{})
		w.Spec.Template.Spec.Containers[0].Resources = s.Spec.Template.Spec.Containers[0].Resources
		out = append(out, w)
	}
	for _, s := range d.Steps {
		if len(s.Batch) == 0 || s.At > at || at >= s.At+s.Batch[0].Runs.Seconds() {
			continue
		}
		w := deployment(fmt.Sprintf("batch-%03.0f", s.At), int32(len(s.Batch)), size{})
		w.Spec.Template.Spec.Containers[0].Resources = s.Batch[0].Pod.Spec.Containers[0].Resources
		out = append(out, w)
	}
	return out
}
