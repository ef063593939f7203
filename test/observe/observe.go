// Package observe runs the programs that users look at Kerf with, a real Prometheus and a real Jaeger, beside the services,
// and asks them what they have got: whether each metric and span of the references is there, and whether each query of the
// dashboard and of the alerts has an answer.
//
// It knows what users know: the HTTP APIs of the two, and the files of deploy/monitoring. Start reading at observe_test.go.
package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// program starts a program of package assets.
func program(ctx context.Context, name, log string, env []string, args ...string) (*proc.Process, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	path, err := assets.Tool(ctx, root, name, os.Stderr)
	if err != nil {
		return nil, err
	}
	return proc.Start(proc.Spec{Name: name, Path: path, Args: args, Env: env, Log: log})
}

// address is a free one on the loopback.
func address() (string, error) {
	ports, err := proc.Ports(1)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), nil
}

// await waits until a program answers at a URL; where it does not, the program is stopped, and the error has its last
// words.
func await(ctx context.Context, p *proc.Process, url string) error {
	err := harness.Until(ctx, p.Name()+" to answer", startTimeout, harness.Answers(url))
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%w\n%v", err, p.Tail(10)), p.Stop())
}

// get reads the JSON of a URL.
func get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: %s: %w", url, resp.Status, err)
	}
	return nil
}
