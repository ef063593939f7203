package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

// overlays are the folders of deploy/overlays.
func overlays(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root(t), "deploy/overlays/*"))
	if err != nil || len(dirs) < 5 {
		t.Fatalf("overlays %v, error %v", dirs, err)
	}
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		names[i] = filepath.Base(dir)
	}
	return names
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func overlayDir(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "deploy/overlays", name)
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	path, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kubectl runs kubectl as the admin, and returns its output, warnings apart.
func kubectl(t *testing.T, c *harness.Cluster, args ...string) (out, warnings string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Kubectl(), append([]string{"--kubeconfig", c.Kubeconfig(harness.Admin)}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// overlay is what kustomize makes of one.
type overlay struct {
	name    string
	objects []unstructured.Unstructured
}

func render(t *testing.T, c *harness.Cluster, name string) overlay {
	t.Helper()
	text, _ := kubectl(t, c, "kustomize", overlayDir(t, name))
	o := overlay{name: name}
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var u unstructured.Unstructured
		err := docs.Decode(&u)
		if errors.Is(err, io.EOF) {
			return o
		}
		if err != nil {
			t.Fatal(err)
		}
		o.objects = append(o.objects, u)
	}
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	kind, name string
	replicas   int
	template   corev1.PodTemplateSpec
	claims     []corev1.PersistentVolumeClaim
}

func (o overlay) workloads(t *testing.T) []workload {
	t.Helper()
	var out []workload
	for _, u := range o.objects {
		w := workload{kind: u.GetKind(), name: u.GetName()}
		switch u.GetKind() {
		case "Deployment":
			var d appsv1.Deployment
			typed(t, u, &d)
			w.replicas, w.template = int(*d.Spec.Replicas), d.Spec.Template
		case "StatefulSet":
			var s appsv1.StatefulSet
			typed(t, u, &s)
			w.replicas, w.template, w.claims = int(*s.Spec.Replicas), s.Spec.Template, s.Spec.VolumeClaimTemplates
		default:
			continue
		}
		out = append(out, w)
	}
	return out
}

// typed converts strictly: a field that the type does not have is an error.
func typed(t *testing.T, u unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
	}
}

// configMap is the data of the ConfigMap of that name.
func (o overlay) configMap(t *testing.T, name string) map[string]string {
	t.Helper()
	i := slices.IndexFunc(o.objects, func(u unstructured.Unstructured) bool { return u.GetKind() == "ConfigMap" && u.GetName() == name })
	if i < 0 {
		t.Fatalf("%s: no ConfigMap %s", o.name, name)
	}
	var m corev1.ConfigMap
	typed(t, o.objects[i], &m)
	return m.Data
}

// kinds are the kinds of the objects, each once.
func (o overlay) kinds() []string {
	var out []string
	for _, u := range o.objects {
		if !slices.Contains(out, u.GetKind()) {
			out = append(out, u.GetKind())
		}
	}
	return out
}

// run runs kubectl where its failure need not end the test.
func run(ctx context.Context, t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(ctx, c.Kubectl(), append([]string{"--kubeconfig", c.Kubeconfig(harness.Admin)}, args...)...).CombinedOutput()
	if err != nil {
		t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
