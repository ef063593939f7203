package up_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/kerf/internal/up"
	"github.com/kerf-dev/kerf/services/planner"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kerf.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheLeastConfigIsFilledIn(t *testing.T) {
	t.Parallel()
	path := write(t, `{"actuator": {"cluster": "demo", "kubeconfig": "k"}}`)
	cfg, err := up.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Watcher.Cluster != "demo" || cfg.Watcher.Kubeconfig != "k" || cfg.Watcher.Listen != address.Watcher {
		t.Errorf("watcher %+v", cfg.Watcher)
	}
	if cfg.Watcher.Planner.Target != planner.DefaultListen || cfg.Watcher.Actuator.Addresses[0] != actuator.DefaultListen {
		t.Errorf("the watcher finds the others at %s and %s", cfg.Watcher.Planner.Target, cfg.Watcher.Actuator.Addresses)
	}
	if e := cfg.Actuator.Etcd.Embedded; e == nil || e.Start == nil || e.Dir != filepath.Join(filepath.Dir(path), "kerf-data") {
		t.Errorf("etcd %+v", e)
	}
}

func TestWhatTheConfigSaysStays(t *testing.T) {
	t.Parallel()
	cfg, err := up.Load(write(t, `{
		"planner": {"listen": "127.0.0.1:1"},
		"actuator": {"listen": "127.0.0.1:2", "etcd": {"endpoints": ["127.0.0.1:2379"]}},
		"watcher": {"cluster": "demo", "listen": "127.0.0.1:3", "kubeconfig": "k", "policy": {"per_node_overhead": "0"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Actuator.Cluster != "demo" || cfg.Actuator.Kubeconfig != "k" || cfg.Actuator.Etcd.Embedded != nil || cfg.Watcher.Listen != "127.0.0.1:3" {
		t.Errorf("actuator %+v, watcher at %s", cfg.Actuator, cfg.Watcher.Listen)
	}
	if o := cfg.Watcher.Policy.PerNodeOverhead; o == nil || *o != 0 {
		t.Errorf("one more node counts for %v, want 0", o)
	}
	if cfg.Watcher.Planner.Target != "127.0.0.1:1" || cfg.Watcher.Actuator.Addresses[0] != "127.0.0.1:2" {
		t.Errorf("the watcher finds the others at %s and %s", cfg.Watcher.Planner.Target, cfg.Watcher.Actuator.Addresses)
	}
}

func TestNodesAreUnhealthyToTheActuatorWhenTheyAreToTheWatcher(t *testing.T) {
	t.Parallel()
	const repair = `{"conditions": [{"type": "Ready", "status": "False", "after": "10m"}]}`
	for name, content := range map[string]string{
		"the watcher says":  `{"actuator": {"cluster": "demo"}, "watcher": {"policy": {"repair": ` + repair + `}}}`,
		"the actuator says": `{"actuator": {"cluster": "demo", "repair": ` + repair + `}}`,
		"each for itself": `{"actuator": {"cluster": "demo", "repair": ` + repair + `},
			"watcher": {"policy": {"repair": {"off": true}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := up.Load(write(t, content))
			if err != nil {
				t.Fatal(err)
			}
			a, w := cfg.Actuator.Repair, cfg.Watcher.Policy.Repair
			if a == nil || len(a.Conditions) != 1 {
				t.Fatalf("the actuator has %+v", a)
			}
			if own := name == "each for itself"; own != (w == nil || w.Off) || !own && len(w.Conditions) != 1 {
				t.Errorf("the watcher has %+v", w)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, want string }{
		"text that is not JSON":          {`{"planner": `, "line 1"},
		"an unknown section":             {`{"scheduler": {}, "actuator": {"cluster": "a"}}`, "scheduler: unknown field"},
		"an unknown field of a section":  {`{"actuator": {"cluster": "a", "clusters": 1}}`, "actuator.clusters: unknown field"},
		"a value of the wrong kind":      {`{"actuator": {"cluster": 7}}`, "actuator.cluster"},
		"no cluster":                     {`{}`, "actuator.cluster"},
		"a policy that is not known":     {`{"actuator": {"cluster": "a"}, "watcher": {"policy": {"preferences": "Respect"}}}`, "watcher.policy.preferences"},
		"two names for one cluster":      {`{"actuator": {"cluster": "a"}, "watcher": {"cluster": "b"}}`, "watcher.cluster"},
		"an address that is not at home": {`{"actuator": {"cluster": "a"}, "planner": {"listen": "0.0.0.0:7400"}}`, "planner.tls"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.content)
			_, err := up.Load(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want the file and %q", err, tt.want)
			}
		})
	}
	if _, err := up.Load(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Kubernetes and AWS are not there in this test; the services wait for them, and answer each other meanwhile.
func TestTheThreeServicesRunInOneProcess(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	const nowhere = "http://127.0.0.1:1"
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "`+nowhere+`"}}], "users": [{"name": "u", "user": {}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path := write(t, `{
		"planner": {"listen": "127.0.0.1:0"},
		"actuator": {"listen": "127.0.0.1:0", "cluster": "demo", "kubeconfig": "`+kubeconfig+`", "aws": {
			"region": "us-east-1", "endpoint": "`+nowhere+`",
			"api": {"endpoint": "`+nowhere+`", "ca": "Y2E=", "service_cidr": "10.0.0.0/16", "kubernetes_version": "1.37"}}},
		"watcher": {"listen": "127.0.0.1:0"}
	}`)
	cfg, err := up.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	bound := map[string]chan net.Addr{"planner": make(chan net.Addr, 1), "actuator": make(chan net.Addr, 1), "watcher": make(chan net.Addr, 1)}
	cfg.Planner.OnListen = func(a net.Addr) { bound["planner"] <- a }
	cfg.Actuator.OnListen = func(a net.Addr) { bound["actuator"] <- a }
	cfg.Watcher.OnListen = func(a net.Addr) { bound["watcher"] <- a }
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- up.Run(ctx, cfg) }()

	conns := map[string]*grpc.ClientConn{}
	for name, at := range bound {
		select {
		case addr := <-at:
			if conns[name], err = grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
				t.Fatal(err)
			}
			defer conns[name].Close() //nolint:errcheck // the test ends
		case err := <-ended:
			t.Fatalf("%s did not come up: %v", name, err)
		case <-ctx.Done():
			t.Fatalf("%s did not come up", name)
		}
	}
	wait := grpc.WaitForReady(true)
	if _, err := plannerpb.NewPlannerServiceClient(conns["planner"]).Plan(ctx, &plannerpb.PlanRequest{}, wait); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the planner answered an empty request with %v", err)
	}
	_, err = actuatorpb.NewActuatorServiceClient(conns["actuator"]).ListClaims(ctx, &actuatorpb.ListClaimsRequest{}, wait)
	if code := status.Code(err); code != codes.OK && code != codes.FailedPrecondition && code != codes.Unavailable {
		t.Errorf("the actuator answered with %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "kerf-data")); err != nil {
		t.Errorf("etcd's data: %v", err)
	}
}
