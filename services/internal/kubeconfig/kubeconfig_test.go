package kubeconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/kubeconfig"
)

// file is a kubeconfig with one cluster and one context of that name.
func file(name string) string {
	return strings.ReplaceAll("apiVersion: v1\nkind: Config\ncurrent-context: NAME\nclusters: [{name: NAME, cluster: {server: 'https://NAME:6443'}}]\n"+
		"users: [{name: NAME, user: {token: t}}]\ncontexts: [{name: NAME, context: {cluster: NAME, user: NAME}}]\n", "NAME", name)
}

func TestLoadAsKubectlDoes(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(file(name)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a"), write("b")
	both := a + string(filepath.ListSeparator) + b
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("HOME", dir)
	for name, tt := range map[string]struct{ env, path, context, want string }{
		"a file":                              {"", a, "", "https://a:6443"},
		"the environment's":                   {b, "", "", "https://b:6443"},
		"a file before the environment's":     {b, a, "", "https://a:6443"},
		"several of the environment's":        {both, "", "", "https://a:6443"},
		"a context of the second file":        {both, "", "b", "https://b:6443"},
		"several that are given":              {"", both, "b", "https://b:6443"},
		"a context that is none":              {"", a, "c", `"c" does not exist`},
		"a file that is none":                 {"", filepath.Join(dir, "none"), "", "no such file"},
		"nothing":                             {"", "", "", "no cluster is named"},
		"a file of the environment's is gone": {filepath.Join(dir, "none"), "", "", "no cluster is named"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tt.env)
			cfg, err := kubeconfig.Load(tt.path, tt.context)
			got := fmt.Sprint(err)
			if err == nil {
				got = cfg.Host
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if diff := cmp.Diff([]string{"a", "b"}, kubeconfig.Contexts(both)); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
}
