package etcd

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/kerf-dev/kerf/services/actuator/embedded"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/model"
)

// start starts an etcd and returns its endpoint.
func start(t *testing.T) string {
	t.Helper()
	e, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e.Endpoint
}

func connect(t *testing.T, endpoint, cluster string) *Store {
	t.Helper()
	s, err := Open(Config{Endpoints: []string{endpoint}, Cluster: cluster, LeaseTTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// client is the store's own.
func client(t *testing.T, s *Store) *clientv3.Client {
	t.Helper()
	c, err := s.etcd.client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStorePassesTheSuite(t *testing.T) {
	e := start(t)
	storetest.Suite(t, func(t *testing.T) (a, b storetest.Backend) {
		t.Helper()
		cluster := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
		return connect(t, e, cluster), connect(t, e, cluster)
	})
}

func TestCorruptValueIsAnErrorThatNamesItsKey(t *testing.T) {
	s := connect(t, start(t), "c")
	for key, value := range map[string]string{
		"/kerf/c/claims/x":      "\xff\xff\xff",
		"/kerf/c/disruptions/y": "", // no id
	} {
		if _, err := client(t, s).Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
		_, err := s.Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("value %q: error %v, want one that names %s", value, err, key)
		}
		if _, err := client(t, s).Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
}

// TestANoticeThatCanNotBeReadKeepsNoneFromLeading: nor does a shortage. What can be read is.
func TestANoticeThatCanNotBeReadKeepsNoneFromLeading(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(Config{Endpoints: []string{start(t)}, Cluster: "c", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	term, err := s.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), term.Fence, store.Batch{
		PutNotices:   []model.Notice{{ID: "z", Kind: model.NoticeSpotInterruption, InstanceID: "i-1", EventTime: time.Unix(1e9, 0)}},
		PutShortages: []model.Shortage{{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot, Until: time.Unix(1e9, 0)}},
	}); err != nil {
		t.Fatal(err)
	}
	unreadable := map[string]string{"/kerf/c/notices/y": "", "/kerf/c/notices/w": "\xff\xff\xff", "/kerf/c/shortages/z": "\x0a\x01m"}
	for key, value := range unreadable {
		if _, err := client(t, s).Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Load(t.Context())
	if err != nil || len(c.Notices) != 1 || len(c.Shortages) != 1 {
		t.Errorf("%v, notices %+v, shortages %+v, want those that can be read", err, c.Notices, c.Shortages)
	}
	for key := range unreadable {
		if !strings.Contains(log.String(), key) {
			t.Errorf("nothing is said of %s:\n%s", key, log.String())
		}
	}
}

func TestLeaseThatEndsIsNoticed(t *testing.T) {
	e := start(t)
	s := connect(t, e, "c")
	term, err := s.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	leases, err := client(t, s).Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Leases {
		if _, err := client(t, s).Revoke(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-term.Lost:
	case <-time.After(30 * time.Second):
		t.Fatal("the leader was not told that its lease ended")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.Campaign(ctx, "a"); err != nil {
		t.Fatalf("campaign again: %v", err)
	}
}

func TestALeaderThatHasDiedIsNotWaitedFor(t *testing.T) {
	e := start(t)
	open := func(died func(context.Context, string) bool) *Store {
		s, err := Open(Config{Endpoints: []string{e}, Cluster: "c", LeaseTTL: 10 * time.Minute, Died: died})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first, err := open(nil).Campaign(t.Context(), "a:1")
	if err != nil {
		t.Fatal(err)
	}
	dead, asked := make(chan struct{}), make(chan string, 8)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	won := make(chan store.Term, 1)
	go func() {
		term, err := open(func(ctx context.Context, candidate string) bool {
			asked <- candidate
			select {
			case <-dead:
				return candidate == "a:1"
			case <-ctx.Done():
				return false
			}
		}).Campaign(ctx, "b:1")
		if err == nil {
			won <- term
		}
	}()
	if candidate := <-asked; candidate != "a:1" {
		t.Errorf("it was asked whether %s has died", candidate)
	}
	select {
	case <-won:
		t.Fatal("b leads while a lives")
	case <-time.After(100 * time.Millisecond):
	}
	close(dead)
	select {
	case term := <-won:
		if term.Fence.Revision <= first.Fence.Revision {
			t.Errorf("fence %d after %d does not grow", term.Fence.Revision, first.Fence.Revision)
		}
	case <-ctx.Done():
		t.Fatal("a's lease is waited for though a has died")
	}
}

func TestAProcessThatHasStartedAgainDoesNotWaitForItself(t *testing.T) {
	e := start(t)
	open := func() *Store {
		s, err := Open(Config{
			Endpoints: []string{e}, Cluster: "c", LeaseTTL: 10 * time.Minute,
			Died: func(ctx context.Context, _ string) bool { <-ctx.Done(); return false },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	former, again := open(), open()
	if _, err := former.Campaign(t.Context(), "a:1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := again.Campaign(ctx, "a:1"); err != nil {
		t.Fatalf("it waits for its own former lease: %v", err)
	}
	// Only the first time: two that have one name by mistake must not take the lead from each other for ever.
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := former.Campaign(short, "a:1"); err == nil {
		t.Error("two that have one name take the lead from each other")
	}
}

func TestWaitingCandidateSurvivesTheEndOfItsLease(t *testing.T) {
	e := start(t)
	a, b := connect(t, e, "c"), connect(t, e, "c")
	first, err := a.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	won := make(chan error, 1)
	go func() {
		_, err := b.Campaign(t.Context(), "b")
		won <- err
	}()
	revokeSecond(t, a, first.Fence.Key)
	if err := first.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-won:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("b waits for ever though its lease ended and the line is free")
	}
}

// A candidate of a release that campaigns without seeing the cluster does not say that it sees.
func TestALeaderIsFollowedByWhoIsNextAlone(t *testing.T) {
	e := start(t)
	s := connect(t, e, "c")
	term, err := s.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	becomes := func(want bool, when string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			is, err := term.Followed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if is == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: followed %v", when, is)
			}
		}
	}
	line := func(n int) {
		t.Helper()
		for {
			r, err := client(t, s).Get(t.Context(), s.prefix+electionPath+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			if r.Count == int64(n) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	session, err := concurrency.NewSession(client(t, s))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = concurrency.NewElection(session, s.prefix+electionPath).Campaign(t.Context(), "old") }()
	line(2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := connect(t, e, "c")
	go func() { _, _ = b.Campaign(ctx, "b") }()
	line(3)
	if is, err := term.Followed(t.Context()); is || err != nil {
		t.Errorf("followed by one that does not say that it sees: %v, %v", is, err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(true, "the old one has left the line")
	cancel()
	becomes(false, "b has left the line")
}

// revokeSecond revokes the lease of the candidate that stands in line behind the leader's key.
func revokeSecond(t *testing.T, s *Store, leader string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		r, err := client(t, s).Get(t.Context(), s.prefix+electionPath+"/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range r.Kvs {
			if string(kv.Key) == leader {
				continue
			}
			if _, err := client(t, s).Revoke(t.Context(), clientv3.LeaseID(kv.Lease)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no one stands in line")
}

// An etcd that comes later than the actuator is waited for, by one with a password too, which asks for a token first.
func TestAnEtcdThatIsNotThereYetIsWaitedFor(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{"without a password": {}, "with a password": {Username: "kerf", Password: "secret"}} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c.Endpoints, c.Cluster, c.Log, c.RequestTimeout = []string{at}, "c", slog.New(slog.NewTextHandler(&log, nil)), time.Second
			s, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if err := s.Prepare(t.Context()); err == nil {
				t.Error("it has answered")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			won := make(chan error, 1)
			go func() {
				_, err := s.Campaign(ctx, "a")
				won <- err
			}()
			time.Sleep(2 * time.Second)
			e, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Listen: at, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Stop()
			if err := <-won; err != nil {
				t.Errorf("it does not lead: %v", err)
			}
			if n := strings.Count(log.String(), "no leader can be elected"); n != 1 {
				t.Errorf("the log says %d times that no leader can be elected", n)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"no endpoints":                  {Cluster: "c"},
		"no cluster":                    {Endpoints: []string{"127.0.0.1:1"}},
		"a cluster name with a slash":   {Endpoints: []string{"127.0.0.1:1"}, Cluster: "a/b"},
		"a lease that is too short":     {Endpoints: []string{"127.0.0.1:1"}, Cluster: "c", LeaseTTL: time.Millisecond},
		"a certificate that is missing": {Endpoints: []string{"127.0.0.1:1"}, Cluster: "c", CertFile: "/nowhere.pem", KeyFile: "/nowhere.pem"},
		"a CA that is missing":          {Endpoints: []string{"127.0.0.1:1"}, Cluster: "c", CAFile: "/nowhere.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Open(c); err == nil {
				_ = s.Close()
				t.Fatal("accepted")
			}
		})
	}
}
