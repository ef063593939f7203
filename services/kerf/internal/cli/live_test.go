package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/goldentest"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
	"github.com/kerf-dev/kerf/services/kerf/internal/preview"
	"github.com/kerf-dev/kerf/services/planner"
)

// running is the story's cluster with twelve pods on two nodes, as a watcher sees it, and a disruption budget for one
// node at a time.
func running(t *testing.T) *clusterpb.Snapshot {
	t.Helper()
	in, err := offline.Load(storyFiles(t), offline.Options{Present: present(), World: func() (convert.World, error) {
		all, err := catalog.Bundled()
		if err != nil {
			return convert.World{}, err
		}
		few := *all
		few.Types = nil
		for _, ty := range all.Types {
			if strings.HasPrefix(ty.Name, "m5.") || strings.HasPrefix(ty.Name, "c5.") {
				few.Types = append(few.Types, ty)
			}
		}
		return convert.World{Catalog: &few}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	req := &plannerpb.PlanRequest{Snapshot: in.Snapshot, Decide: &plannerpb.Decide{
		Now:    timestamppb.New(present().Add(-3 * time.Hour)),
		Policy: &clusterpb.Policy{PerNodeOverheadMicroUsdPerHour: new(int64(0))}, // two nodes, where one larger one would do
	}}
	played, err := preview.Play(t.Context(), planner.Decide, req, 5)
	if err != nil || !played.Settled || len(played.Pending) > 0 {
		t.Fatal(err, played.Pending)
	}
	s := proto.CloneOf(played.End)
	s.ObserveTime, s.Cluster = timestamppb.New(present()), "story"
	for i, c := range s.GetClaims() { // ids that do not change with every catalogue
		name := []string{"one", "two", "three"}[i]
		for _, n := range s.GetNodes() {
			if n.GetClaim() == c.GetId() {
				n.Claim = "default-" + name
			}
		}
		c.Id = "default-" + name
	}
	for i, n := range s.GetNodes() {
		name := "ip-10-0-0-" + string(rune('1'+i)) + ".ec2.internal"
		for _, p := range s.GetPods() {
			if p.GetNode() == n.GetName() {
				p.Node = name
			}
		}
		for _, c := range s.GetClaims() {
			if c.GetId() == n.GetClaim() {
				c.Node = name
			}
		}
		n.Name = name
	}
	return s
}

func storyFiles(t *testing.T) []offline.File {
	t.Helper()
	files, err := offline.Read([]string{inflate + "nodepool.yaml", inflate + "nodeclass.yaml", inflate + "inflate-12.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parts cuts a snapshot in two, as a watcher may.
func parts(s *clusterpb.Snapshot) []*clusterpb.Snapshot {
	head := proto.CloneOf(s)
	tail := &clusterpb.Snapshot{Pods: head.GetPods(), Claims: head.GetClaims()}
	head.Pods, head.Claims = nil, nil
	return []*clusterpb.Snapshot{head, tail}
}

func livePolicy() *clusterpb.Policy {
	return &clusterpb.Policy{PerNodeOverheadMicroUsdPerHour: new(int64(1000)), Payback: durationpb.New(2 * time.Hour)}
}

// servePlanner runs the planner's own service.
func servePlanner(t *testing.T) string {
	t.Helper()
	return servePlannerWith(t, rpc.ServerConfig{})
}

func servePlannerWith(t *testing.T, cfg rpc.ServerConfig) string {
	t.Helper()
	bound := make(chan net.Addr, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- planner.Run(ctx, planner.Config{ServiceConfig: boot.ServiceConfig{ServerConfig: cfg, OnListen: func(a net.Addr) { bound <- a }}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-bound:
		return a.String()
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return ""
	}
}

// TestAFolderOfCertificatesIsEnough, where a port is forwarded: the certificate names the service, and not this machine.
func TestAFolderOfCertificatesIsEnough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r := run(t, "", "certs", "--dir", dir); r.code != cli.ExitOK {
		t.Fatal(r.err)
	}
	longest := run(t, "", "certs", "--dir", dir, "--life", "175200h") // twenty years, of authorities that last ten
	if want := "warning: kerf-planner-tls ends with its authority on "; longest.code != cli.ExitOK || !strings.Contains(longest.err, want) {
		t.Errorf("exit code %d, said %q, want %q", longest.code, longest.err, want)
	}
	of := func(secret, file string) string { return filepath.Join(dir, secret, file) }
	addr := servePlannerWith(t, rpc.ServerConfig{
		TLS: rpc.ServerTLS{
			CertFile: of("kerf-planner-tls", "tls.crt"), KeyFile: of("kerf-planner-tls", "tls.key"), ClientCAFile: of("kerf-planner-tls", "ca.crt"),
		},
		Authz: rpc.Authz{"*": {"spiffe://kerf/operator"}},
	})
	args := story(inflate+"inflate-5.yaml", "--advice=0", "--planner", addr)
	if r := run(t, "", append(args, "--tls-dir", filepath.Join(dir, "kerf-operator-tls"))...); r.code != cli.ExitOK {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
	if r := run(t, "", args...); r.code != cli.ExitError {
		t.Errorf("without certificates: exit code %d", r.code)
	}
}

func TestTheLiveClusterIsPlannedFor(t *testing.T) {
	t.Parallel()
	s := running(t)
	addr := serveWatcher(t, &watcher{parts: parts(s), policy: livePolicy()})
	here := plan(t, run(t, "", "plan", "--watcher", addr, "-o", "json"))
	there := plan(t, run(t, "", "plan", "--watcher", addr, "--planner", servePlanner(t), "-o", "json"))
	if len(here.GetNodes()) != 2 || here.GetInputHash() == "" || here.GetInputHash() != there.GetInputHash() {
		t.Errorf("plans of %d and %d nodes, of inputs %s and %s", len(here.GetNodes()), len(there.GetNodes()), here.GetInputHash(), there.GetInputHash())
	}
	// The cluster's own policy counts, and a flag over it; a saved snapshot has both with it.
	if other := plan(t, run(t, "", "plan", "--watcher", serveWatcher(t, &watcher{parts: parts(s)}), "-o", "json")); other.GetInputHash() == here.GetInputHash() {
		t.Error("the cluster's policy changes nothing")
	}
	if other := plan(t, run(t, "", "plan", "--watcher", addr, "--min-saving", "0.01", "-o", "json")); other.GetInputHash() == here.GetInputHash() {
		t.Error("a flag changes nothing")
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("payback: 2h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// It says what the cluster's policy says.
	if other := plan(t, run(t, "", "plan", "--watcher", addr, "--policy", policy, "-o", "json")); other.GetInputHash() != here.GetInputHash() {
		t.Error("a policy of a file is not what the same policy of the cluster is")
	}
	for _, name := range []string{"live.pb", "live.json"} {
		file := filepath.Join(t.TempDir(), name)
		if r := run(t, "", "snapshot", "--watcher", addr, "-o", file); r.code != cli.ExitOK {
			t.Fatal(r.err)
		}
		if saved := plan(t, run(t, "", "plan", "-f", file, "-o", "json", "--advice=0")); saved.GetInputHash() != here.GetInputHash() {
			t.Errorf("%s: planned for another input", name)
		}
	}
	r := run(t, "", "plan", "--watcher", addr, "--explain", "node/ip-10-0-0-1.ec2.internal")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "m5.large") || !strings.Contains(r.out, "default/inflate") {
		t.Errorf("exit code %d, explained %q, said %q", r.code, r.out, r.err)
	}
}

// newer is the planner of a newer release, whose plans have reasons that this one does not know: those that only
// explain, and those of disruptions.
type newer struct {
	plannerpb.UnimplementedPlannerServiceServer
}

func (newer) Session(stream plannerpb.PlannerService_SessionServer) error {
	req := &plannerpb.PlanRequest{Snapshot: &clusterpb.Snapshot{}}
	for req.Decide == nil {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		proto.Merge(req.GetSnapshot(), m.GetSnapshot().GetSnapshot())
		req.Decide = m.GetDecide()
	}
	resp, err := planner.Decide(stream.Context(), req)
	if err != nil {
		return err
	}
	news := &clusterpb.Reason{Code: 9998, Message: "news"}
	resp.GetPlan().GetNodes()[0].Reason = news
	resp.GetPlan().Disruptions = append(resp.GetPlan().GetDisruptions(), &plannerpb.Disruption{Id: "d-1", DisruptionReason: 9999, Reason: news})
	part := &plannerpb.PlanPart{Plan: resp.GetPlan(), Last: true}
	return stream.Send(&plannerpb.SessionResponse{Message: &plannerpb.SessionResponse_Plan{Plan: part}})
}

func TestThePlanOfANewerReleaseIsShown(t *testing.T) {
	t.Parallel()
	from := serveWatcher(t, &watcher{parts: parts(running(t)), policy: livePolicy()})
	of := serve(t, func(r grpc.ServiceRegistrar) { plannerpb.RegisterPlannerServiceServer(r, newer{}) })
	r := run(t, "", "plan", "--watcher", from, "--planner", of, "-o", "json", "--advice=1")
	if r.code != cli.ExitOK || !strings.Contains(r.out, `"news"`) {
		t.Errorf("exit code %d, printed %.200q; want the plan", r.code, r.out)
	}
	if want := "9999 is not known"; !strings.Contains(r.err, want) || strings.Contains(r.err, "9998") || !strings.Contains(r.err, "take the kerf of the planner's release") {
		t.Errorf("said %q, want a warning with %q, and what to do", r.err, want)
	}
}

// TestLargeSnapshotsGoInParts asks the planner's service about more pods than one message may hold.
func TestLargeSnapshotsGoInParts(t *testing.T) {
	t.Parallel()
	s := running(t)
	for i := range 30_000 {
		p := proto.CloneOf(s.GetPods()[0])
		p.Id, p.Uid = "x/"+strings.Repeat("p", 40)+string(rune('a'+i%26))+time.Duration(i).String(), ""
		p.Node, p.Phase, p.UnschedulableTime = "", clusterpb.PodPhase_POD_PHASE_WAITING, nil
		s.Pods = append(s.Pods, p)
	}
	if n := proto.Size(s); n < 2<<20 {
		t.Fatalf("only %d bytes", n)
	}
	data, err := proto.Marshal(&plannerpb.PlanRequest{Snapshot: s})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "large.pb")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := plan(t, run(t, "", "plan", "-f", file, "--planner", servePlanner(t), "-o", "json", "--advice=0"))
	if p.GetRevision() != s.GetRevision() || len(p.GetNodes()) != 2 {
		t.Errorf("got a plan for revision %d with %d nodes", p.GetRevision(), len(p.GetNodes()))
	}
}

func TestAPreviewOfTheLiveCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool, err := os.ReadFile(inflate + "nodepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	labelled := write("labelled.yaml", strings.Replace(string(pool), "type: karpenter", "type: karpenter\n        tier: gold", 1))
	policy := write("policy.yaml", "payback: 30m\n")
	if !bytes.Contains(pool, []byte("type: karpenter")) {
		t.Fatal("the story's pool has no label any more")
	}
	addr := serveWatcher(t, &watcher{parts: parts(running(t)), policy: livePolicy()})
	r := run(t, "", "plan", "--watcher", addr, "--with", labelled+","+policy)
	if r.code != cli.ExitOK || r.err != "" {
		t.Fatalf("exit code %d, said %q", r.code, r.err)
	}
	goldentest.Check(t, "preview.txt", reviewable(r.out))

	r = run(t, "", "plan", "--watcher", addr, "--with", labelled, "--with", policy, "-o", "json")
	var got struct {
		Changes []struct{ Object, Effect string }
		Policy  bool
		Drifts  []struct{ Node, Why string }
		Without struct{ Rounds int }
		With    struct {
			Rounds, NodesRemovedForDrift int
			Settled                      bool
			FirstPlan                    json.RawMessage
		}
		Nodes []struct{ With string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err, r.out, r.err)
	}
	var first plannerpb.Plan
	if err := protojson.Unmarshal(got.With.FirstPlan, &first); err != nil || len(first.GetDisruptions()) == 0 {
		t.Errorf("the first plan is none: %v, %v", &first, err)
	}
	if len(got.Changes) != 1 || !got.Policy || len(got.Drifts) != 2 || got.With.NodesRemovedForDrift != 2 || !got.With.Settled || len(got.Nodes) != 2 {
		t.Errorf("got %+v", got)
	}

	r = run(t, "", "plan", "--watcher", addr, "--with", labelled, "--explain", "node/ip-10-0-0-1.ec2.internal")
	if r.code != cli.ExitOK || !strings.Contains(strings.ToLower(r.out), "drift") {
		t.Errorf("exit code %d, explained %q, said %q", r.code, r.out, r.err)
	}
}

func TestLivePlansRefuse(t *testing.T) {
	t.Parallel()
	s := running(t)
	addr := serveWatcher(t, &watcher{parts: parts(s)})
	closed := closedAddress(t)
	tests := map[string]struct {
		args []string
		want []string
	}{
		"files and a cluster":          {[]string{"--watcher", addr, "-f", inflate}, []string{"--watcher and -f", "--with"}},
		"a watcher that is not there":  {[]string{"--watcher", closed}, []string{closed}},
		"a planner that is not there":  {[]string{"--watcher", addr, "--planner", closed}, []string{closed}},
		"a planner that is far":        {[]string{"--watcher", addr, "--planner", "192.0.2.1:7400"}, []string{"--tls-ca"}},
		"a torn snapshot":              {[]string{"--watcher", serveWatcher(t, &watcher{torn: true, parts: parts(s)})}, []string{"before the snapshot was whole"}},
		"a preview of a workload":      {[]string{"--watcher", addr, "--with", inflate + "inflate-5.yaml"}, []string{"inflate-5.yaml", "can't be previewed"}},
		"a preview of nothing":         {[]string{"--watcher", addr, "--with", "none.yaml"}, []string{"--with", "none.yaml"}},
		"no rounds":                    {[]string{"--watcher", addr, "--rounds", "0"}, []string{"--rounds 0", "1 to 1000"}},
		"a node that is nearly there":  {[]string{"--watcher", addr, "--explain", "node/ip-10-0-0-1"}, []string{"did you mean node/ip-10-0-0-1.ec2.internal"}},
		"a planner asked what is none": {[]string{"-f", stale(t), "--planner", servePlanner(t)}, []string{"node", "without an id"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", append([]string{"plan"}, tt.args...)...)
			if r.code != cli.ExitError || r.out != "" {
				t.Errorf("exit code %d, printed %q", r.code, r.out)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("said %q, without %q", r.err, want)
				}
			}
		})
	}
}

// stale is a file with a snapshot that contradicts itself.
func stale(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stale.json")
	if err := os.WriteFile(file, []byte(`{"revision": "1", "nodes": [{"name": ""}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
