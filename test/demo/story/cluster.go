package story

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

//go:embed manifests
var manifests embed.FS

// example is the path of a file or folder in deploy/examples.
func (s *Stage) example(elem ...string) string {
	return filepath.Join(append([]string{s.Root(), "deploy", "examples"}, elem...)...)
}

// apply applies files of the manifests folder, as the user does with kubectl.
func (s *Stage) apply(ctx context.Context, names ...string) error {
	for _, name := range names {
		data, err := manifests.ReadFile("manifests/" + name)
		if err != nil {
			return err
		}
		if err := s.Cluster.Apply(ctx, data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// createInflate creates the example's Deployment, with no replicas yet.
func (s *Stage) createInflate(ctx context.Context) error {
	data, err := os.ReadFile(s.example("inflate", "inflate-5.yaml"))
	if err != nil {
		return err
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return err
	}
	*d.Spec.Replicas = 0
	_, err = s.Kubernetes.AppsV1().Deployments(namespace).Create(ctx, &d, metav1.CreateOptions{})
	return err
}

// scale changes the size of a Deployment.
func (s *Stage) scale(ctx context.Context, name string, replicas int) error {
	s.did("%s is scaled to %d", name, replicas)
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := s.Kubernetes.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	return err
}

// remove deletes a bare pod.
func (s *Stage) remove(ctx context.Context, pod string) error {
	s.did("pod %s is deleted", pod)
	return s.Kubernetes.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{})
}

// dropWorkload deletes a Deployment and the PodDisruptionBudget of its name.
func (s *Stage) dropWorkload(ctx context.Context, name string) error {
	s.did("%s is deleted", name)
	err := s.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.Kubernetes.AppsV1().Deployments(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// events are Kerf's events on a pod.
func (s *Stage) events(ctx context.Context, pod string) ([]corev1.Event, error) {
	list, err := s.Kubernetes.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	if err != nil {
		return nil, err
	}
	var out []corev1.Event
	for i := range list.Items {
		if list.Items[i].Source.Component == "kerf" {
			out = append(out, list.Items[i])
		}
	}
	return out, nil
}

// readiness is the condition Ready of a NodePool or EC2NodeClass: its status and its words.
func (s *Stage) readiness(ctx context.Context, resource schema.GroupVersionResource, name string) (status, message string, err error) {
	o, err := s.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return "", "", err
	}
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			return fmt.Sprint(m["status"]), fmt.Sprint(m["message"]), nil
		}
	}
	return "", "no condition Ready yet", nil
}

func nodePools() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
}

func nodeClasses() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
}
