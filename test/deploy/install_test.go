package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/test/harness"
)

// elsewhere are the commands of docs/install.md that no test runs: they need a network, a cluster of kind's, or an
// account, or go on until they are interrupted. The harness's cluster has kwok, and the programs are built before.
var elsewhere = regexp.MustCompile(`https://|^(make|kind|aws|helm|for) |port-forward| -[fw]$`)

// TestInstallMd follows the page as its reader does, in a folder with deploy/ and bin/, and prints how long each step
// takes: from nothing to pods on nodes, an operator's question, and away again.
func TestInstallMd(t *testing.T) {
	c, client := cluster(t)
	k := &kubelet{cluster: c, client: client, dir: t.TempDir(), bin: build(t)}
	i := &installation{kubelet: k, certs: filepath.Join(k.dir, "kerf-certs")}
	r := reader{i: i, page: read(t, "docs/install.md")}
	r.unpack(t)
	t.Cleanup(func() { i.restore(t) })
	began := time.Now()
	for _, command := range r.commands(t, "In kind") {
		r.follow(t, command)
		if strings.Contains(command, "kerf certs") {
			i.scheduled(t, "kind")
			i.run(t, func(*pod) []string { return nil })
		}
	}
	harness.Eventually(t, "five pods on nodes", patience, i.alive(t, harness.Pods(client, "default", "app=inflate", 5, corev1.PodRunning)))
	t.Logf("%5.1fs from nothing to five pods on nodes", time.Since(began).Seconds())
	for _, command := range r.commands(t, "Certificates") { // the port is forwarded, so to say
		claims := r.follow(t, strings.ReplaceAll(command, "127.0.0.1:7500", i.named("actuator-0").at[actuatorPort]))
		if !strings.Contains(claims, "m5.large") {
			t.Errorf("$ %s\n%s", command, claims)
		}
	}
	for _, command := range r.commands(t, "Removing it") {
		if strings.Contains(command, "delete -k") {
			i.stop(t)
			release(t.Context(), t, client)
		}
		r.follow(t, command)
	}
}

// restore gives the next tests what was removed, or what was not because the test failed.
func (i *installation) restore(t *testing.T) {
	t.Helper()
	i.stop(t)
	ctx := context.WithoutCancel(t.Context())
	run(ctx, t, i.cluster, "delete", "deployment", "-n", "default", "--all")
	remove(t, i.cluster, i.client)
	run(ctx, t, i.cluster, "uncordon", "node-0", "node-1", "node-2")
	for _, dir := range []string{"rbac", "crds"} {
		if err := i.cluster.ApplyFile(ctx, filepath.Join("../../deploy", dir)); err != nil {
			t.Error(err)
		}
	}
}

// TestInstallMdElsewhere applies what the page has for clusters that are not here.
func TestInstallMdElsewhere(t *testing.T) {
	c, client := cluster(t)
	i := &installation{kubelet: &kubelet{cluster: c, client: client, dir: t.TempDir(), bin: build(t)}}
	r := reader{i: i, page: read(t, "docs/install.md")}
	r.unpack(t)
	for section, overlay := range map[string]string{"On EKS": "eks", "Beside Karpenter": "shadow"} {
		for _, command := range r.commands(t, section) {
			if strings.Contains(command, "rollout") { // its volumes come from a driver that is not here
				i.scheduled(t, overlay)
				continue
			}
			r.follow(t, command)
		}
		remove(t, c, client)
	}
}

// reader follows a page.
type reader struct {
	i    *installation
	page string
}

// unpack makes the reader's folder: links to the repository, and the files that the page has its reader write.
func (r reader) unpack(t *testing.T) {
	t.Helper()
	for name, dir := range map[string]string{"deploy": filepath.Join(root(t), "deploy"), "bin": r.i.bin} {
		if err := os.Symlink(dir, filepath.Join(r.i.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	own := regexp.MustCompile("(?s)`my-kerf/kustomization.yaml`.*?```yaml\n(.*?)```").FindStringSubmatch(r.page)
	if own == nil {
		t.Fatal("the page has no kustomization of the reader's own")
	}
	dir := filepath.Join(r.i.dir, "my-kerf")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// kustomize follows no links: what is beside my-kerf for a reader is elsewhere here.
	text := strings.ReplaceAll(own[1], "../deploy", relative(t, dir, filepath.Join(root(t), "deploy")))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// commands are those of a section's console blocks that can be run here.
func (r reader) commands(t *testing.T, section string) []string {
	t.Helper()
	_, text, ok := strings.Cut(r.page, "\n## "+section+"\n")
	if !ok {
		t.Fatalf("no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	for _, block := range regexp.MustCompile("(?s)```console[^\n]*\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if ok && !elsewhere.MatchString(command) {
				out = append(out, command)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("section %s has no command that can be run", section)
	}
	return out
}

// follow runs a command, and returns what it prints.
func (r reader) follow(t *testing.T, command string) string {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = r.i.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.i.cluster.Kubeconfig(harness.Admin), "PATH="+filepath.Dir(r.i.cluster.Kubectl())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("$ %s\n%s%v", command, out, err)
	}
	t.Logf("%5.1fs $ %s", time.Since(began).Seconds(), command)
	return string(out)
}
