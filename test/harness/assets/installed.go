package assets

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// userAssets is the environment variable that names the folder of a user's own programs, as in other projects' tests.
const userAssets = "KUBEBUILDER_ASSETS"

// installed links programs that are on this machine into dir: those of $KUBEBUILDER_ASSETS and of PATH. Unless all of
// them are there and fit it links none, and says why.
func installed(ctx context.Context, dir string, programs []string) (unfit string, err error) {
	found := map[string]string{}
	for _, name := range programs {
		p := filepath.Join(os.Getenv(userAssets), name)
		if os.Getenv(userAssets) == "" || !exists(p) {
			if p, err = exec.LookPath(name); err != nil {
				return "there is no " + name, nil //nolint:nilerr // not there is no error
			}
		}
		if p, err = filepath.Abs(p); err != nil {
			return "", err
		}
		if unfit := misfit(ctx, name, p); unfit != "" {
			return unfit, nil
		}
		found[name] = p
	}
	for name, p := range found {
		if err := os.Symlink(p, filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("link %s: %w", name, err)
		}
	}
	return "", nil
}

// misfit says what is wrong with a program: it does not tell its version, or that is of another minor version than what
// is built here.
func misfit(ctx context.Context, name, path string) string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args, want := []string{"--version"}, version
	switch name {
	case Kubectl:
		args = []string{"version", "--client"}
	case Etcd:
		want = etcdVersion
	}
	said, err := exec.CommandContext(ctx, path, args...).Output() //nolint:gosec // it is what the user has installed
	if err != nil {
		return fmt.Sprintf("%s %s: %v", path, strings.Join(args, " "), err)
	}
	if got := minor(string(said)); got != minor(want) {
		return fmt.Sprintf("%s is of version %q, and %s is wanted", path, got, minor(want))
	}
	return ""
}

// minor is the first version in a text, less its patch; "" if it has none.
func minor(text string) string {
	m := regexp.MustCompile(`\bv?(\d+\.\d+)\.\d+`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}
