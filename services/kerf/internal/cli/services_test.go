package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
	"github.com/kerf-dev/kerf/services/kerf/internal/goldentest"
)

// serve runs a server on loopback for the test, and returns its address.
func serve(t *testing.T, register func(grpc.ServiceRegistrar)) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	go s.Serve(lis) //nolint:errcheck // it ends with Stop
	t.Cleanup(s.Stop)
	return lis.Addr().String()
}

// actuator answers as the leader does, or says who leads.
type actuator struct {
	actuatorpb.UnimplementedActuatorServiceServer
	follows *string
	claims  []*clusterpb.Claim
}

func (a *actuator) ListClaims(_ context.Context, req *actuatorpb.ListClaimsRequest) (*actuatorpb.ListClaimsResponse, error) {
	if a.follows != nil {
		return nil, rpcerr.NotLeader(*a.follows)
	}
	out := &actuatorpb.ListClaimsResponse{InventoryRevision: 7}
	for _, c := range a.claims {
		ended := c.GetState() == clusterpb.ClaimState_CLAIM_STATE_GONE
		if (req.GetNodePool() == "" || req.GetNodePool() == c.GetNodePool()) && (req.GetIncludeEnded() || !ended) {
			out.Claims = append(out.Claims, c)
		}
	}
	return out, nil
}

func serveActuator(t *testing.T, a *actuator) string {
	t.Helper()
	return serve(t, func(r grpc.ServiceRegistrar) { actuatorpb.RegisterActuatorServiceServer(r, a) })
}

func leader() *actuator {
	return &actuator{claims: []*clusterpb.Claim{
		{
			Id: "default-1", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, InstanceType: "m5.large",
			Zone: "us-east-1a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, InstanceId: "i-1", Node: "ip-10-0-0-1",
			PriceMicroUsdPerHour: 96_000, Pods: []string{"default/inflate-0"}, CreateTime: timestamppb.New(present().Add(-90 * time.Second)),
		},
		{Id: "default-2", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_GONE},
		{Id: "spot-1", NodePool: "spot", State: clusterpb.ClaimState_CLAIM_STATE_PLANNED},
	}}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	addr := serveActuator(t, leader())
	r := run(t, "", "claims", "--actuator", addr)
	if r.code != cli.ExitOK || r.err != "" {
		t.Fatalf("exit code %d, said %q", r.code, r.err)
	}
	goldentest.Check(t, "claims.txt", r.out)

	tests := map[string]struct {
		args []string
		want []string
	}{
		"those that have not ended": {nil, []string{"default-1", "spot-1"}},
		"all":                       {[]string{"--all"}, []string{"default-1", "default-2", "spot-1"}},
		"of one pool":               {[]string{"--pool", "spot"}, []string{"spot-1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", append([]string{"claims", "--actuator", addr, "-o", "json"}, tt.args...)...)
			var resp actuatorpb.ListClaimsResponse
			if err := protojson.Unmarshal([]byte(r.out), &resp); err != nil {
				t.Fatalf("not a ListClaimsResponse: %v; said %q", err, r.err)
			}
			var got []string
			for _, c := range resp.GetClaims() {
				got = append(got, c.GetId())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsFindTheLeader(t *testing.T) {
	t.Parallel()
	leads := serveActuator(t, leader())
	follower := serveActuator(t, &actuator{follows: &leads})
	unknown := ""
	lost := serveActuator(t, &actuator{follows: &unknown})
	var turns [2]string
	turns[0] = serveActuator(t, &actuator{follows: &turns[1]})
	turns[1] = serveActuator(t, &actuator{follows: &turns[0]})
	closed := closedAddress(t)
	apart := serveActuator(t, &actuator{follows: &closed})
	tests := map[string]struct {
		addrs string
		code  int
		said  string
	}{
		"a follower names it":                     {follower, cli.ExitOK, ""},
		"one that is down is passed over":         {closed + "," + follower, cli.ExitOK, ""},
		"one that knows of none is passed over":   {lost + "," + leads, cli.ExitOK, ""},
		"there is none":                           {lost, cli.ExitError, "not the leader; there is none at the moment"},
		"two that name each other are no leaders": {turns[0], cli.ExitError, "not the leader"},
		"no one is there":                         {closed, cli.ExitError, closed + ": dial tcp " + closed},
		"the one that leads can't be reached":     {apart, cli.ExitError, apart + " stands by; the one that leads can't be reached from here, forward the port of the pod"},
		"its address is told":                     {apart, cli.ExitError, closed + ": dial tcp " + closed},
		"an address elsewhere needs TLS":          {"192.0.2.1:7402", cli.ExitError, "--tls-ca"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", "claims", "--actuator", tt.addrs)
			if r.code != tt.code || !strings.Contains(r.err, tt.said) || (tt.said == "") != (r.err == "") {
				t.Errorf("exit code %d, said %q; want %d and %q", r.code, r.err, tt.code, tt.said)
			}
		})
	}
}

// closedAddress is one that no one listens on.
func closedAddress(t *testing.T) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() //nolint:errcheck // no one uses it
	return lis.Addr().String()
}

// watcher serves a snapshot in parts; with torn set it never sends the last one.
type watcher struct {
	watcherpb.UnimplementedWatcherServiceServer
	parts  []*clusterpb.Snapshot
	policy *clusterpb.Policy
	torn   bool
	// trouble is what it says is in the way of its plans.
	trouble string
}

func (w *watcher) GetSnapshot(_ *watcherpb.GetSnapshotRequest, stream grpc.ServerStreamingServer[watcherpb.GetSnapshotResponse]) error {
	for i, p := range w.parts {
		last := i == len(w.parts)-1 && !w.torn
		m := &watcherpb.GetSnapshotResponse{Snapshot: &clusterpb.SnapshotPart{Snapshot: p, Last: last}}
		if i == 0 {
			m.Policy, m.Trouble = w.policy, w.trouble
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func serveWatcher(t *testing.T, w *watcher) string {
	t.Helper()
	return serve(t, func(r grpc.ServiceRegistrar) { watcherpb.RegisterWatcherServiceServer(r, w) })
}

func TestASnapshotIsSavedForPlan(t *testing.T) {
	t.Parallel()
	pod := &clusterpb.Pod{
		Id: "a/b", ClassId: "c-1", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE,
		CreateTime: timestamppb.New(present()), UnschedulableTime: timestamppb.New(present()),
	}
	addr := serveWatcher(t, &watcher{parts: []*clusterpb.Snapshot{
		{Revision: 3, Cluster: "kind", ObserveTime: timestamppb.New(present()), PodClasses: []*clusterpb.PodClass{{
			Id: "c-1", Namespace: "a", Requests: []*clusterpb.Amount{{Resource: "cpu", Value: 1000}, {Resource: "pods", Value: 1}},
		}}},
		{Pods: []*clusterpb.Pod{pod}},
	}})
	for _, name := range []string{"live.pb", "live.json", "live.pb.gz", "live.json.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), name)
			if r := run(t, "", "snapshot", "--watcher", addr, "-o", file); r.code != cli.ExitOK || r.out != "" {
				t.Fatalf("exit code %d, printed %q, said %q", r.code, r.out, r.err)
			}
			data, err := os.ReadFile(file)
			if err != nil || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) != strings.HasSuffix(name, ".gz") {
				t.Errorf("%v, begins with %q", err, data[:2])
			}
			r := run(t, "", "plan", "-f", file, "-o", "json", "--advice=0")
			p := plan(t, r)
			if r.code != cli.ExitPending || p.GetRevision() != 3 || len(p.GetPending()) != 1 || !p.GetNow().AsTime().Equal(present()) {
				t.Errorf("exit code %d, plan %v, said %q", r.code, p, r.err)
			}
			left, err := os.ReadDir(filepath.Dir(file))
			if err != nil || len(left) != 1 {
				t.Errorf("left behind %v, %v", left, err)
			}
		})
	}
	t.Run("nowhere", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "none", "live.pb")
		if r := run(t, "", "snapshot", "--watcher", addr, "-o", file); r.code != cli.ExitError || r.err != "kerf: "+file+": can't be made: no such file or directory\n" {
			t.Errorf("exit code %d, said %q", r.code, r.err)
		}
	})
	t.Run("standard output", func(t *testing.T) {
		t.Parallel()
		var got plannerpb.PlanRequest
		if err := protojson.Unmarshal([]byte(run(t, "", "snapshot", "--watcher", addr).out), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]*clusterpb.Pod{proto.CloneOf(pod)}, got.GetSnapshot().GetPods(), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAPlanThatNoOneCarriesOutSaysSo: what a watcher sees while no actuator leads is planned for as ever.
func TestAPlanThatNoOneCarriesOutSaysSo(t *testing.T) {
	t.Parallel()
	const want = "warning: the plans of the watcher are held up: no actuator leads\n"
	addr := serveWatcher(t, &watcher{trouble: "no actuator leads", parts: []*clusterpb.Snapshot{
		{Revision: 3, Cluster: "kind", ObserveTime: timestamppb.New(present())}, {},
	}})
	for name, args := range map[string][]string{"plan": {"plan"}, "plan as JSON": {"plan", "-o", "json"}, "snapshot": {"snapshot"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", append(args, "--watcher", addr)...)
			if r.code != cli.ExitOK || r.err != want {
				t.Errorf("exit code %d, said %q, want %q", r.code, r.err, want)
			}
			if asJSON := name == "plan as JSON"; strings.Contains(r.out, `"the plans of the watcher are held up`) != asJSON {
				t.Errorf("printed %s", r.out)
			}
		})
	}
}

func TestAnotherServicesPortIsSaid(t *testing.T) {
	t.Parallel()
	watches, acts := serveWatcher(t, &watcher{}), serveActuator(t, leader())
	for want, args := range map[string][]string{
		watches + ": another service than an actuator": {"claims", "--actuator", watches},
		acts + ": another service than a watcher":      {"plan", "--watcher", acts},
		acts + ": another service than a planner":      {"plan", "-f", inflate + "inflate-5.yaml", "--planner", acts},
	} {
		r := run(t, "", args...)
		if r.code != cli.ExitError || !strings.Contains(r.err, "kerf: "+want+" answers there; an actuator's port is 7500, a watcher's 7600, a planner's 7400\n") {
			t.Errorf("%v: exit code %d, said %q, want %q", args, r.code, r.err, want)
		}
	}
}

func TestATornSnapshotIsNotSaved(t *testing.T) {
	t.Parallel()
	addr := serveWatcher(t, &watcher{torn: true, parts: []*clusterpb.Snapshot{{Revision: 1}}})
	dir := t.TempDir()
	r := run(t, "", "snapshot", "--watcher", addr, "-o", filepath.Join(dir, "live.pb"))
	if r.code != cli.ExitError || !strings.Contains(r.err, "before the snapshot was whole") {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}
