package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: list("cpu", "250m"), Limits: list("cpu", "1", "memory", "1Gi")},
		}}},
	}
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }

func TestDaemonSetClassToleratesWhatItsControllerAdds(t *testing.T) {
	d := &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Template: template()}}
	d.Spec.Template.Spec.HostNetwork = true
	d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9100}}
	o := convert.DaemonSet(d, nil, cluster(t))
	class := o.Class.Payload.(*clusterpb.PodClass)
	if !class.GetDaemon() || o.Payload.(*clusterpb.DaemonSet).GetClassId() != class.GetId() || o.ID != "shop/agent" {
		t.Errorf("DaemonSet %v with class %v", o.Payload, class)
	}
	if len(class.GetTolerations()) != 7 {
		t.Errorf("%d tolerations, want the controller's seven: %v", len(class.GetTolerations()), class.GetTolerations())
	}
	if len(class.GetHostPorts()) != 1 || class.GetHostPorts()[0].GetPort() != 9100 {
		t.Errorf("host ports %v, want the container's port", class.GetHostPorts())
	}
}

func TestALimitOfThePodIsItsRequestWhereNoContainerHasOne(t *testing.T) {
	spec := corev1.PodSpec{
		Resources: &corev1.ResourceRequirements{
			Requests: list("hugepages-1Gi", "1Gi"), Limits: list("cpu", "3", "memory", "6Gi", "hugepages-2Mi", "8Mi", "hugepages-1Gi", "1Gi"),
		},
		Containers: []corev1.Container{
			{Name: "a", Resources: corev1.ResourceRequirements{Requests: list("cpu", "200m")}},
			{Name: "b", Resources: corev1.ResourceRequirements{Limits: list("hugepages-2Mi", "4Mi")}},
		},
	}
	convert.SetPodDefaults(&spec)
	want := list("memory", "6Gi", "hugepages-2Mi", "8Mi", "hugepages-1Gi", "1Gi")
	if diff := cmp.Diff(want, spec.Resources.Requests); diff != "" {
		t.Errorf("requests of the pod (-want +got):\n%s", diff)
	}
}
