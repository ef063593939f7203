package shadow

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

// elsewhere are words of commands that need more than a control plane: AWS, images, charts, or a day.
func elsewhere() []string {
	return []string{"aws ", "helm ", "kerf-system", "my-kerf", "deploy/overlays", "--for 24h"}
}

// karpenter stands for the controller, which is scaled down and up.
const karpenter = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system}
spec:
  replicas: 0
  selector: {matchLabels: {app: karpenter}}
  template: {metadata: {labels: {app: karpenter}}, spec: {containers: [{name: karpenter, image: none}]}}
`

// migrate carries out what docs/migrate.md says to type on the way from Karpenter, in its order, as far as the control
// plane goes.
func migrate(t *testing.T, c *harness.Cluster, kerf string) {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## From Karpenter\n")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("docs/migrate.md has no way from Karpenter")
	}
	if err := c.Apply(t.Context(), []byte(karpenter)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for link, to := range map[string]string{"bin/kerf": kerf, "bin/kubectl": c.Kubectl(), "deploy": filepath.Join(root, "deploy")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	done := 0
lines:
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		for _, word := range elsewhere() {
			if strings.Contains(command, word) {
				continue lines
			}
		}
		done++
		shell := exec.CommandContext(t.Context(), "bash", "-c", command)
		shell.Dir = dir
		shell.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(harness.Admin), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("$ %s\n%v\n%s", command, err, out)
		}
	}
	const least = 12
	if done < least {
		t.Errorf("%d commands, want %d or more", done, least)
	}
}

// gone says what is left of Karpenter's nodes; "" for nothing.
func gone(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool"})
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := c.Dynamic(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	left, err := dyn.Resource(claims()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items)+len(left.Items) == 0 {
		return ""
	}
	return fmt.Sprintf("%d nodes and %d claims", len(nodes.Items), len(left.Items))
}
