package skew_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/skew"
)

func TestThePreviousReleaseIsFoundInTheHistory(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} { // a hook sets them, for another repository
		t.Setenv(name, "") // which restores it afterwards
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(file string) string {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(git("rev-list", "--count", "--all")), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "-m", file)
		return git("rev-parse", "HEAD")
	}
	check := func(what, want string) {
		t.Helper()
		if got, err := skew.Previous(t.Context(), root); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", what, got, err, want)
		}
	}
	if _, err := skew.Previous(t.Context(), root); !errors.Is(err, skew.ErrNoHistory) {
		t.Errorf("without a repository: %v", err)
	}
	git("init", "--quiet")
	first := commit("a")
	if _, err := skew.Previous(t.Context(), root); !errors.Is(err, skew.ErrNoHistory) {
		t.Errorf("with one commit: %v", err)
	}
	contract := commit("proto/released/kerf.binpb")
	check("the contract is of the newest commit", first)
	commit("b")
	check("the contract is older", contract)
	git("tag", "v1.0.0")
	check("a tag at the newest commit is no older release", contract)
	tagged := git("rev-parse", "HEAD")
	commit("c")
	check("an older tag", tagged)
}
