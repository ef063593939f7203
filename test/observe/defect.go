package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The planner that a defect is put into: its package, the line after which a plan has been made, and what is called then.
const (
	server = "services/planner/internal/server"
	made   = "p, err := q.decide(in)\n"
	defect = "p = broken(in, p)\n"
)

// DefectivePlanner builds the planner with a defect in it: it makes plans that break a rule, of which its own check
// must let none out. Neither the working tree nor the planner that users run has the defect. It returns the folder of
// the program, in dir.
func DefectivePlanner(ctx context.Context, root, dir string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, server, "server.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), made); n != 1 {
		return "", fmt.Errorf("server.go has %q %d times: where is a plan made now?", strings.TrimSpace(made), n)
	}
	changed, overlay, out := filepath.Join(dir, "server.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "defective")
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, server, "server.go"): changed,
		filepath.Join(root, server, "defect.go"): filepath.Join(root, "test/observe/testdata/defect.go.txt"),
	}})
	if err != nil {
		return "", err
	}
	for file, content := range map[string][]byte{changed: []byte(strings.Replace(string(source), made, made+defect, 1)), overlay: files} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-overlay", overlay, "-o", out+string(filepath.Separator), "./services/planner/cmd/planner") //nolint:gosec // go, on files of this test
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a planner with a defect: %w\n%s", err, text)
	}
	return out, nil
}
