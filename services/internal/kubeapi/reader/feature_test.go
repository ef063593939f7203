package reader_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestWhatAPodNeedsOfKubelets(t *testing.T) {
	rules := []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	mounts := []corev1.VolumeMount{{Name: "plain"}, {Name: "bound", BindMountOptions: []string{"noexec"}}}
	tests := map[string]struct {
		spec corev1.PodSpec
		want []string
	}{
		"nothing":             {corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, nil},
		"a rule of exits":     {corev1.PodSpec{Containers: []corev1.Container{{RestartPolicyRules: rules}}}, []string{"RestartAllContainersOnContainerExits"}},
		"options of mounts":   {corev1.PodSpec{InitContainers: []corev1.Container{{VolumeMounts: mounts}}}, []string{"VolumeBindMountOptions"}},
		"users of their own":  {corev1.PodSpec{HostUsers: new(false)}, nil},
		"and the host's net":  {corev1.PodSpec{HostUsers: new(false), HostNetwork: true}, []string{"UserNamespacesHostNetworkSupport"}},
		"several, all sorted": {corev1.PodSpec{HostUsers: new(false), HostNetwork: true, Containers: []corev1.Container{{RestartPolicyRules: rules}}}, []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reader.NeededFeatures(&tc.spec); !slices.Equal(got, tc.want) {
				t.Errorf("needed are %q, want %q", got, tc.want)
			}
			for i, c := range tc.spec.Containers {
				tc.spec.Containers[i] = corev1.Container{RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: reader.BindMounts(&c)}
			}
			for i, c := range tc.spec.InitContainers {
				tc.spec.InitContainers[i] = corev1.Container{RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: reader.BindMounts(&c)}
			}
			if got := reader.NeededFeatures(&tc.spec); !slices.Equal(got, tc.want) {
				t.Errorf("of a trimmed pod they are %q, want %q", got, tc.want)
			}
		})
	}
}

// A new release of Kubernetes may know more features, whose fields must not be trimmed away, or have one that is too old to
// be asked for.
func TestTheSchedulersFeaturesAreThoseThatAreRead(t *testing.T) {
	var got []string
	for _, f := range features.AllFeatures {
		got = append(got, f.Name())
		if f.MaxVersion() != nil {
			t.Errorf("of %s the scheduler asks no more after %s: NeededFeatures must look at its version", f.Name(), f.MaxVersion())
		}
	}
	slices.Sort(got)
	want := []string{
		"DRANodeAllocatableResources", "DRAOptionalNodeOperations", "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling",
		"InPlacePodVerticalScalingInitContainers", "InPlacePodVerticalScalingMemoryBackedVolumes", "RestartAllContainersOnContainerExits",
		"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions",
	}
	if !slices.Equal(got, want) {
		t.Errorf("features are %q, want %q: look at which fields of a pod the new ones read, and at what trimmers keep", got, want)
	}
}
