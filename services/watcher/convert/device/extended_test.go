package device

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExtendedResourcesAreClaimedAsTheSchedulerDoes(t *testing.T) {
	const gpu, nic = "example.com/gpu", "example.com/nic"
	asks := func(pairs ...string) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}
		for _, pair := range pairs {
			name, n, _ := strings.Cut(pair, "=")
			c.Resources.Requests[corev1.ResourceName(name)] = resource.MustParse(n)
		}
		return c
	}
	sidecar := func(c corev1.Container) corev1.Container {
		c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		return c
	}
	list := func(c ...corev1.Container) []corev1.Container { return c }
	classes := []*resourcev1.DeviceClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new(gpu)}},
		{ObjectMeta: metav1.ObjectMeta{Name: "nics"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new(nic)}},
	}
	for name, tc := range map[string]struct {
		inits, containers []corev1.Container
		want              []string
	}{
		"none":                           {nil, list(asks("example.com/other=1", "cpu=2")), nil},
		"nothing of it":                  {nil, list(asks(gpu + "=0")), nil},
		"one":                            {nil, list(asks(gpu + "=2")), []string{"2 gpus"}},
		"more than a claim can have":     {nil, list(asks(gpu+"=33", nic+"=1")), []string{"1 nics"}},
		"a class by its name":            {nil, list(asks("deviceclass.resource.kubernetes.io/gpus=1")), nil},
		"containers, and then resources": {nil, list(asks(nic+"=1", gpu+"=1"), asks(gpu+"=3")), []string{"1 gpus", "1 nics", "3 gpus"}},
		"init containers use those that are there later": {
			list(asks(gpu + "=2")), list(asks(gpu+"=1"), asks(gpu+"=1")), []string{"1 gpus", "1 gpus"},
		},
		"the largest of what is missing": {
			list(asks(gpu+"=2"), asks(gpu+"=4"), asks(gpu+"=4"), asks(gpu+"=3")), list(asks(gpu + "=1")), []string{"3 gpus", "1 gpus"},
		},
		"a sidecar keeps its own": {
			list(sidecar(asks(gpu+"=2")), asks(gpu+"=2")), list(asks(gpu + "=1")), []string{"2 gpus", "1 gpus", "1 gpus"},
		},
		"a sidecar that begins later lends": {
			list(asks(gpu+"=2"), sidecar(asks(gpu+"=2"))), list(asks(gpu + "=1")), []string{"2 gpus", "1 gpus"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: tc.inits, Containers: tc.containers}}
			var got []string
			for _, q := range Extended(p, func(r string) *resourcev1.DeviceClass { return ClassOf(classes, r) }) {
				got = append(got, fmt.Sprintf("%d %s", q.GetDevices().GetCount(), q.GetDevices().GetDeviceClass()))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNewestClassStandsForAResource(t *testing.T) {
	made := func(name, resource string, age time.Duration) *resourcev1.DeviceClass {
		at := metav1.NewTime(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC).Add(-age))
		return &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &resource},
		}
	}
	classes := []*resourcev1.DeviceClass{
		made("old", "example.com/gpu", time.Hour), made("b", "example.com/gpu", time.Minute), made("a", "example.com/gpu", time.Minute),
		made("other", "example.com/nic", 0),
		{ObjectMeta: metav1.ObjectMeta{Name: "none"}},
	}
	for range 2 {
		if got := ClassOf(classes, "example.com/gpu"); got == nil || got.Name != "a" {
			t.Errorf("the class is %v, want a", got)
		}
		slices.Reverse(classes)
	}
	if got := ClassOf(classes, "example.com/fpga"); got != nil {
		t.Errorf("%s stands for what it does not name", got.Name)
	}
}
