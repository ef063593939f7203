package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// TestGrpcurlCallsThePlanner uses the real grpcurl, of the version that tools/go.mod pins, which learns all that it knows
// of the contract by reflection: it lists the services, and sends the live cluster's snapshot for a plan.
func TestGrpcurlCallsThePlanner(t *testing.T) {
	s := start(t, seed(t))
	planner := s.Conn("planner").Target()
	grpcurl := func(stdin []byte, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "grpcurl", "-plaintext"}, args...)...)
		cmd.Dir = filepath.Join(s.Root(), "tools")
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		cmd.Stdin = strings.NewReader(string(stdin))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	t.Run("it lists the services of each", func(t *testing.T) {
		for service, want := range map[string]string{
			"planner": "kerf.planner.v1alpha1.PlannerService", "watcher": "kerf.watcher.v1alpha1.WatcherService",
			"actuator": "kerf.actuator.v1alpha1.ActuatorService",
		} {
			out, err := grpcurl(nil, s.Conn(service).Target(), "list")
			if err != nil || !strings.Contains(out, want) || !strings.Contains(out, "grpc.health.v1.Health") {
				t.Errorf("%s lists, with %v, no %s:\n%s", service, err, want, out)
			}
		}
	})
	t.Run("it takes what kerf snapshot saves as a question", func(t *testing.T) {
		snapshot, err := exec.CommandContext(t.Context(), s.Bin("kerf"), "snapshot", "--watcher", s.Conn("watcher").Target()).Output()
		if err != nil {
			t.Fatal(err)
		}
		out, err := grpcurl(snapshot, "-d", "@", planner, "kerf.planner.v1alpha1.PlannerService/Plan")
		if err != nil {
			t.Fatal(err, out)
		}
		var resp plannerpb.PlanResponse
		if err := protojson.Unmarshal([]byte(out), &resp); err != nil || !strings.HasPrefix(resp.GetPlan().GetId(), "p-") {
			t.Errorf("no plan (%v):\n%s", err, out)
		}
	})
	t.Run("a request that is wrong is refused by field", func(t *testing.T) {
		out, err := grpcurl([]byte(`{"snapshot": {"revision": 1}, "decide": {}}`), "-d", "@", planner, "kerf.planner.v1alpha1.PlannerService/Plan")
		if err == nil || !strings.Contains(out, "InvalidArgument") || !strings.Contains(out, "now") {
			t.Errorf("error %v does not name the field now:\n%s", err, out)
		}
	})
}
