package inventory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/watcher/internal/inventory"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// actuator plays one script per stream, in turn, and the last one for all streams after that.
type actuator struct {
	actuatorpb.UnimplementedActuatorServiceServer
	mu      sync.Mutex
	scripts []func(grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error
	opened  int
	applied int
}

func (a *actuator) Drive(r *actuatorpb.DriveRequest, s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
	if r.GetWatcher() != "w1" {
		return status.Errorf(codes.InvalidArgument, "request %v", r)
	}
	a.mu.Lock()
	script := a.scripts[min(a.opened, len(a.scripts)-1)]
	a.opened++
	a.mu.Unlock()
	return script(s)
}

func (a *actuator) Apply(context.Context, *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.applied++
	return &actuatorpb.ApplyResponse{InventoryRevision: 42}, nil
}

// whole is a part of a whole inventory.
func whole(driver, last bool, s *clusterpb.Snapshot) *actuatorpb.DriveResponse {
	part := &clusterpb.SnapshotPart{Snapshot: s, Last: last}
	return &actuatorpb.DriveResponse{Driver: driver, Inventory: &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Whole{Whole: part}}}
}

// change is a part of a change.
func change(driver, last bool, s *clusterpb.Snapshot, gone *clusterpb.Removed) *actuatorpb.DriveResponse {
	part := &clusterpb.DeltaPart{Delta: &clusterpb.Delta{Upserted: s, Removed: gone}, Last: last}
	return &actuatorpb.DriveResponse{Driver: driver, Inventory: &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Change{Change: part}}}
}

type script = func(grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error

// says sends the messages and then waits for the client to go, or ends with err.
func says(err error, messages ...*actuatorpb.DriveResponse) script {
	return func(s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
		for _, m := range messages {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		if err == nil {
			<-s.Context().Done()
		}
		return err
	}
}

func refuses(err error) script { return says(err) }

func claims(revision int64, ids ...string) *clusterpb.Snapshot {
	out := &clusterpb.Snapshot{InventoryRevision: revision}
	for _, id := range ids {
		out.Claims = append(out.Claims, &clusterpb.Claim{Id: id})
	}
	return out
}

// world is a client of some actuators, by address.
type world struct {
	mu     sync.Mutex
	client *inventory.Client
	out    chan inventory.Update
	log    *bytes.Buffer
	dialed []string
	closes func() // is called whenever a connection is closed; nil: nothing is
}

// conn tells when it is closed.
type conn struct {
	*grpc.ClientConn

	w *world
}

func (c conn) Close() error {
	if c.w.closes != nil {
		c.w.closes()
	}
	return c.ClientConn.Close()
}

func start(t *testing.T, addresses []string, actuators map[string]*actuator) *world {
	t.Helper()
	w := &world{out: make(chan inventory.Update), log: &bytes.Buffer{}}
	listeners := map[string]*bufconn.Listener{}
	for address, a := range actuators {
		lis, srv := bufconn.Listen(1<<20), grpc.NewServer()
		actuatorpb.RegisterActuatorServiceServer(srv, a)
		go srv.Serve(lis) //nolint:errcheck // ends with Stop
		t.Cleanup(srv.Stop)
		listeners[address] = lis
	}
	w.client = inventory.New(inventory.Config{
		Addresses: addresses, Watcher: "w1", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Dial: func(address string) (inventory.Conn, error) {
			w.mu.Lock()
			w.dialed = append(w.dialed, address)
			w.mu.Unlock()
			lis, ok := listeners[address]
			if !ok {
				return nil, fmt.Errorf("no such address %s", address)
			}
			client, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
			return conn{client, w}, err
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.client.Run(ctx, w.out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	return w
}

// hold is what the updates make of a snapshot, and what they said beside it.
func (w *world) hold(n int) (ids []string, inventoryRevision int64, last inventory.Update) {
	var s snapshot.Snapshot
	for range n {
		last = <-w.out
		s = last.Batch.Fold(s)
	}
	for _, o := range s.Objects(snapshot.Claim) {
		ids = append(ids, o.ID)
	}
	return ids, s.InventoryRevision, last
}

func TestFollowerPointsToTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		follower := &actuator{scripts: []script{refuses(rpcerr.NotLeader("b"))}}
		leader := &actuator{scripts: []script{says(nil,
			whole(false, false, claims(5, "c1", "c2")),
			whole(true, true, claims(0, "c3")),
			change(true, true, claims(6, "c4"), &clusterpb.Removed{Claims: []string{"c1"}}),
		)}}
		w := start(t, []string{"a"}, map[string]*actuator{"a": follower, "b": leader})
		if _, err := w.client.Apply(t.Context(), &actuatorpb.ApplyRequest{}); !errors.Is(err, inventory.ErrNoLeader) {
			t.Errorf("before a leader is known Apply says %v", err)
		}
		ids, revision, last := w.hold(2)
		if diff := cmp.Diff([]string{"c2", "c3", "c4"}, ids); diff != "" || revision != 6 {
			t.Errorf("inventory %d (-want +got):\n%s", revision, diff)
		}
		if !last.Driver || last.Whole {
			t.Errorf("the change says driver %t, whole %t", last.Driver, last.Whole)
		}
		r, err := w.client.Apply(t.Context(), &actuatorpb.ApplyRequest{})
		if err != nil || r.GetInventoryRevision() != 42 || leader.applied != 1 {
			t.Errorf("Apply reached the leader %d times: %v %v", leader.applied, r, err)
		}
		if strings.Contains(w.log.String(), "WARN") {
			t.Errorf("finding the leader was warned of:\n%s", w.log)
		}
	})
}

func TestNewLeadersInventoryReplacesTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := func(revision int64, ids ...string) *actuatorpb.DriveResponse {
			return whole(true, true, claims(revision, ids...))
		}
		a := &actuator{scripts: []script{says(rpcerr.NotLeader("b"), held(5, "c1", "c2")), refuses(rpcerr.NotLeader("b"))}}
		b := &actuator{scripts: []script{says(nil, held(2, "c2"))}}
		w := start(t, []string{"a", "b"}, map[string]*actuator{"a": a, "b": b})
		if first := <-w.out; !first.Whole || !first.Driver {
			t.Errorf("first update %+v", first)
		}
		lost := time.Now()
		if gone := <-w.out; gone.Driver || len(gone.Batch.Events) != 0 {
			t.Errorf("when the leader goes the update is %+v, want one that ends the driving", gone)
		}
		ids, revision, last := w.hold(1)
		if diff := cmp.Diff([]string{"c2"}, ids); diff != "" || revision != 2 {
			t.Errorf("inventory %d (-want +got):\n%s", revision, diff)
		}
		if !last.Whole || last.Asked.Before(lost) {
			t.Errorf("whole %t, asked at %s, the old stream ended at %s", last.Whole, last.Asked, lost)
		}
	})
}

func TestSearchGoesOnAndWarnsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := refuses(rpcerr.NotLeader(""))
		scripts := make([]script, 0, 121)
		for range 120 {
			scripts = append(scripts, none)
		}
		scripts = append(scripts, says(nil, whole(false, true, claims(1, "c1"))))
		a := &actuator{scripts: scripts}
		w := start(t, []string{"a"}, map[string]*actuator{"a": a})
		begin := time.Now()
		if ids, _, last := w.hold(1); len(ids) != 1 || last.Driver {
			t.Errorf("claims %v, driver %t", ids, last.Driver)
		}
		if took := time.Since(begin); took < time.Minute || took > 3*time.Minute {
			t.Errorf("120 attempts took %s, want pauses that grow to 5 s in the end", took)
		}
		if n := strings.Count(w.log.String(), "WARN"); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, w.log)
		}
		if !strings.Contains(w.log.String(), "address=a") {
			t.Errorf("the warning does not name the address:\n%s", w.log)
		}
	})
}

// A standby takes over once the lease of a leader that died has ended. It is followed soon after, however long that took.
func TestANewLeaderIsFollowedSoon(t *testing.T) {
	for _, lease := range []time.Duration{time.Second, 4 * time.Second, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			died := time.Now()
			a := &actuator{scripts: []script{says(rpcerr.NotLeader(""), whole(true, true, claims(1, "c1"))), refuses(rpcerr.NotLeader("gone"))}}
			b := &actuator{scripts: []script{func(s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
				if time.Since(died) < lease {
					return rpcerr.NotLeader("a")
				}
				return says(nil, whole(true, true, claims(2, "c2")))(s)
			}}}
			w := start(t, []string{"a", "b"}, map[string]*actuator{"a": a, "b": b})
			<-w.out // the first leader's inventory
			<-w.out // its end
			w.hold(1)
			if took := time.Since(died); took > lease+500*time.Millisecond {
				t.Errorf("followed after %s, and the lease had ended after %s", took, lease)
			}
		})
	}
}

func TestStreamThatBeginsWithAChangeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actuator{scripts: []script{
			says(nil, change(false, true, claims(1, "c1"), nil)),
			says(nil, whole(false, true, claims(2, "c2"))),
		}}
		w := start(t, []string{"a"}, map[string]*actuator{"a": a})
		if ids, _, _ := w.hold(1); len(ids) != 1 || ids[0] != "c2" {
			t.Errorf("claims %v, want those of the second stream", ids)
		}
		if !strings.Contains(w.log.String(), "the stream began with a change") {
			t.Errorf("the log does not say what was wrong:\n%s", w.log)
		}
	})
}

func TestFollowersThatPointToEachOtherAreNotChasedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := says(nil, whole(false, true, claims(2, "c2")))
		a := &actuator{scripts: []script{refuses(rpcerr.NotLeader("b"))}}
		b := &actuator{scripts: []script{refuses(rpcerr.NotLeader("a"))}}
		w := start(t, []string{"a", "b"}, map[string]*actuator{"a": a, "b": b})
		time.Sleep(10 * time.Second) // of the bubble's time
		synctest.Wait()
		w.mu.Lock()
		n := len(w.dialed)
		w.mu.Unlock()
		if n > 110 {
			t.Errorf("%d attempts in ten seconds", n)
		}
		b.mu.Lock()
		b.scripts = []script{ready}
		b.mu.Unlock()
		if ids, _, _ := w.hold(1); len(ids) != 1 {
			t.Errorf("claims %v", ids)
		}
	})
}

// Who does not see the cluster any more must leave its place to another watcher, and not come back before it does.
func TestAPausedWatcherLeavesTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Time
		a := &actuator{scripts: []script{func(s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
			err := says(nil, whole(true, true, claims(1, "c1")))(s)
			left = time.Now()
			return err
		}, says(nil, whole(true, true, claims(2, "c2")))}}
		w := start(t, []string{"a"}, map[string]*actuator{"a": a})
		if first := <-w.out; !first.Driver {
			t.Errorf("first update %+v", first)
		}
		begin := time.Now()
		w.client.Pause("it can't read pods")
		if u := <-w.out; u.Driver || len(u.Batch.Events) != 0 || u.Paused != "it can't read pods" {
			t.Errorf("update %+v, want the end of the driving, and why", u)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		a.mu.Lock()
		opened := a.opened
		a.mu.Unlock()
		if opened != 1 || left.Sub(begin) > time.Second {
			t.Errorf("%d streams, the first one ended after %s", opened, left.Sub(begin))
		}
		if _, err := w.client.Apply(t.Context(), &actuatorpb.ApplyRequest{}); !errors.Is(err, inventory.ErrNoLeader) {
			t.Errorf("Apply says %v", err)
		}
		w.client.Pause("")
		if u := <-w.out; u.Driver || len(u.Batch.Events) != 0 || u.Paused != "" {
			t.Errorf("update %+v, want the end of the pause", u)
		}
		if ids, _, last := w.hold(1); !last.Driver || len(ids) != 1 || last.Paused != "" {
			t.Errorf("update %+v with claims %v", last, ids)
		}
		if n := strings.Count(w.log.String(), "WARN"); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, w.log)
		}
	})
}

// A pause may be over before the client has come to rest. It has left the leader all the same.
func TestAPauseThatIsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actuator{scripts: []script{says(nil, whole(true, true, claims(1, "c1"))), says(nil, whole(true, true, claims(2, "c2")))}}
		w := start(t, []string{"a"}, map[string]*actuator{"a": a})
		<-w.out
		synctest.Wait()
		w.closes = func() { w.client.Pause("") }
		w.client.Pause("it can't read pods")
		if u := <-w.out; u.Driver || len(u.Batch.Events) != 0 || u.Paused != "" {
			t.Errorf("update %+v, want the end of the driving", u)
		}
		if ids, _, last := w.hold(1); !last.Driver || len(ids) != 1 || ids[0] != "c2" {
			t.Errorf("update %+v with claims %v", last, ids)
		}
	})
}
