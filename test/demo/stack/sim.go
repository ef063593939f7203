package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kerf-dev/kerf/test/awssim"
)

// simTimeout is for one call of the simulator's own API: far more than it needs, for machines that are busy.
const simTimeout = 30 * time.Second

// Sim asks and steers the simulated AWS through its admin API. Safe for concurrent use.
type Sim struct {
	// URL is where AWS is for SDK clients too.
	URL string
}

// State is the truth about what AWS runs.
func (s Sim) State(ctx context.Context) (awssim.State, error) {
	var out awssim.State
	return out, s.call(ctx, http.MethodGet, "state", nil, &out)
}

// Interrupt announces that AWS takes the spot instance back, and takes it when the warning time is over.
func (s Sim) Interrupt(ctx context.Context, instanceID string) error {
	return s.call(ctx, http.MethodPost, "interrupt", map[string]string{"instanceId": instanceID}, nil)
}

// PublishImages publishes a newer release of all EKS images, and returns their names by id.
func (s Sim) PublishImages(ctx context.Context) (map[string]string, error) {
	var out map[string]string
	return out, s.call(ctx, http.MethodPost, "images", map[string]string{}, &out)
}

// Fail has AWS answer the next calls of an action, such as ec2:CreateFleet, with an error.
func (s Sim) Fail(ctx context.Context, action, code string, times int) error {
	return s.call(ctx, http.MethodPost, "fail", map[string]any{"action": action, "code": code, "times": times}, nil)
}

// SendRaw puts a message of any content on the queue of events.
func (s Sim) SendRaw(ctx context.Context, body string) error {
	return s.call(ctx, http.MethodPost, "message", map[string]string{"body": body}, nil)
}

// Post makes any other call of the simulator's admin API: its path below /_sim/, and what is sent as JSON.
func (s Sim) Post(ctx context.Context, path string, in any) error {
	return s.call(ctx, http.MethodPost, path, in, nil)
}

// ready says whether the simulator answers.
func (s Sim) ready(ctx context.Context) (string, bool) {
	if err := s.call(ctx, http.MethodGet, "ready", nil, nil); err != nil {
		return err.Error(), false
	}
	return "ready", true
}

func (s Sim) call(ctx context.Context, method, path string, in, out any) error {
	if err := s.do(ctx, method, path, in, out); err != nil {
		return fmt.Errorf("simulated AWS, %s: %w", path, err)
	}
	return nil
}

func (s Sim) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, simTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/_sim/"+path, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(data))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}
