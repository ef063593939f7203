package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/kerf-dev/kerf/services/actuator/store"
)

const (
	// retryPause is between two candidacies after the store was not there, and between two looks at who leads.
	retryPause   = time.Second
	resignTries  = 3
	electionPath = "election"
	// sightPath is of the keys of candidates that campaign only while they see the cluster, by their leases. The values in
	// the election are where leaders are reached, for releases too that know no others.
	sightPath = "sight"
)

// errLeaseLost says that a lease ended while its candidate waited or was about to lead.
var errLeaseLost = errors.New("the lease ended")

// Campaign waits until this candidate leads. Each try has a lease of its own, so nothing of a try that failed is left
// to be mistaken for a leader. Of several failures in a row those are logged that are not what the last one was.
func (s *Store) Campaign(ctx context.Context, candidate string) (store.Term, error) {
	for last := ""; ; {
		term, err := s.candidacy(ctx, candidate)
		if err == nil {
			return term, nil
		}
		if text := err.Error(); text != last && ctx.Err() == nil {
			last = text
			s.log.WarnContext(ctx, "no leader can be elected; trying again until it answers", "store", s.at, "error", err)
		}
		if s.pause(ctx); ctx.Err() != nil {
			return store.Term{}, ctx.Err()
		}
	}
}

func (s *Store) candidacy(ctx context.Context, candidate string) (store.Term, error) {
	session, err := s.session(ctx)
	if err != nil {
		return store.Term{}, err
	}
	term, err := s.lead(ctx, session, candidate)
	if err != nil {
		// A key that is left would stand in the line until its lease ends; the next try need not wait for that.
		return store.Term{}, errors.Join(err, s.giveUp(context.WithoutCancel(ctx), session))
	}
	return term, nil
}

func (s *Store) session(ctx context.Context) (*concurrency.Session, error) {
	client, err := s.etcd.client()
	if err != nil {
		return nil, err
	}
	granting, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	lease, err := client.Grant(granting, int64(s.ttl.Seconds()))
	if err != nil {
		return nil, fmt.Errorf("grant a lease: %w", err)
	}
	// The session lives on the client's own context: it must outlive this call, and ends when it is given up.
	session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID))
	if err != nil {
		return nil, fmt.Errorf("keep the lease: %w", err)
	}
	return session, nil
}

// lead waits in line. The client's Campaign does not end when its lease does, and may then even return as if it had
// won: so the lease is watched beside it, and the key is read again before anybody may act.
func (s *Store) lead(ctx context.Context, session *concurrency.Session, candidate string) (store.Term, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(doneContext{session.Done()}, cancel)
	defer stop()

	if err := s.sees(ctx, session); err != nil {
		return store.Term{}, err
	}
	e := concurrency.NewElection(session, s.prefix+electionPath)
	if s.died != nil {
		waiting, done := context.WithCancel(ctx)
		defer done()
		go s.succeed(waiting, candidate, session.Lease())
	}
	if err := e.Campaign(ctx, candidate); err != nil {
		return store.Term{}, fmt.Errorf("campaign: %w", err)
	}
	if err := s.confirm(ctx, session, e); err != nil {
		return store.Term{}, err
	}
	var once sync.Once
	var resigned error
	return store.Term{
		Fence: store.Fence{Key: e.Key(), Revision: e.Rev()},
		Lost:  session.Done(),
		Resign: func(ctx context.Context) error {
			once.Do(func() { resigned = s.giveUp(ctx, session) })
			return resigned
		},
		Followed: func(ctx context.Context) (bool, error) { return s.followed(ctx, e.Key()) },
	}, nil
}

func (s *Store) sightKey(lease int64) string { return s.key(sightPath, strconv.FormatInt(lease, 16)) }

// sees notes that the candidate of a session sees the cluster. It ends with the lease.
func (s *Store) sees(ctx context.Context, session *concurrency.Session) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	lease := session.Lease()
	if _, err := session.Client().Put(ctx, s.sightKey(int64(lease)), "", clientv3.WithLease(lease)); err != nil {
		return fmt.Errorf("tell that this candidate sees the cluster: %w", err)
	}
	return nil
}

// followed says that the next in line behind a leader sees the cluster. Others further behind do not count: who is next
// leads, and one of a release that does not make way would do so for ever.
func (s *Store) followed(ctx context.Context, leader string) (bool, error) {
	line, err := s.get(ctx, s.prefix+electionPath+"/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend), clientv3.WithLimit(2))
	if err != nil {
		return false, fmt.Errorf("read the line of candidates: %w", err)
	}
	if len(line.Kvs) < 2 || string(line.Kvs[0].Key) != leader {
		return false, nil
	}
	next, err := s.get(ctx, s.sightKey(line.Kvs[1].Lease), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("read whether the next in line sees the cluster: %w", err)
	}
	return next.Count > 0, nil
}

// confirm reads the leader's key: it must exist, hang on our lease, and be the one that we made.
func (s *Store) confirm(ctx context.Context, session *concurrency.Session, e *concurrency.Election) error {
	r, err := s.get(ctx, e.Key())
	if err != nil {
		return fmt.Errorf("confirm the election: %w", err)
	}
	if len(r.Kvs) != 1 || r.Kvs[0].Lease != int64(session.Lease()) || r.Kvs[0].CreateRevision != e.Rev() {
		return fmt.Errorf("confirm the election: %w", errLeaseLost)
	}
	select {
	case <-session.Done():
		return fmt.Errorf("confirm the election: %w", errLeaseLost)
	default:
		return nil
	}
}

// succeed ends the leases of leaders that have died, while a candidate with a lease of its own waits in line, until ctx
// ends. A leader of the candidate's own name has died, too, where the candidate is new: its process has started again.
func (s *Store) succeed(ctx context.Context, candidate string, own clientv3.LeaseID) {
	for isNew := !s.campaigned.Swap(true); ctx.Err() == nil; isNew = false {
		leader, revision, err := s.leader(ctx)
		switch {
		case err != nil || leader == nil || leader.Lease == int64(own):
		case string(leader.Value) != candidate:
			s.outlive(ctx, leader, revision)
		case isNew:
			s.end(ctx, leader)
		}
		s.pause(ctx)
	}
}

// outlive returns once a leader no longer leads.
func (s *Store) outlive(ctx context.Context, leader *mvccpb.KeyValue, revision int64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := s.etcd.client()
	if err != nil {
		return
	}
	changes := client.Watch(ctx, string(leader.Key), clientv3.WithRev(revision+1), clientv3.WithFilterPut())
	go func() {
		<-changes
		cancel()
	}()
	if s.died(ctx, string(leader.Value)) {
		s.end(ctx, leader)
	}
}

// end ends the lease of a leader that has died. The fence keeps what it does from then on out of the store, should it
// live after all.
func (s *Store) end(ctx context.Context, leader *mvccpb.KeyValue) {
	s.log.WarnContext(ctx, "the leader has died; its lease is ended", "leader", string(leader.Value))
	revoking, stop := context.WithTimeout(ctx, s.timeout)
	defer stop()
	client, err := s.etcd.client()
	if err == nil {
		_, err = client.Revoke(revoking, clientv3.LeaseID(leader.Lease))
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "the lease of a leader that has died ends by itself", "leader", string(leader.Value), "within", s.ttl, "error", err)
	}
}

func (s *Store) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryPause):
	}
}

// giveUp revokes the lease, and with it the key, whatever the client still remembers of it.
func (s *Store) giveUp(ctx context.Context, session *concurrency.Session) error {
	session.Orphan()
	var err error
	for range resignTries {
		revoking, cancel := context.WithTimeout(ctx, s.timeout)
		_, err = session.Client().Revoke(revoking, session.Lease())
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("revoke the leader's lease, which ends by itself within %s: %w", s.ttl, err)
	}
	return nil
}

// Leader returns what the present leader campaigned with.
func (s *Store) Leader(ctx context.Context) (string, error) {
	leader, _, err := s.leader(ctx)
	if err != nil || leader == nil {
		return "", err
	}
	return string(leader.Value), nil
}

// leader returns the leader's key, nil for none, and the revision at which it was read.
func (s *Store) leader(ctx context.Context) (*mvccpb.KeyValue, int64, error) {
	r, err := s.get(ctx, s.prefix+electionPath+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return nil, 0, fmt.Errorf("read the leader: %w", err)
	}
	if len(r.Kvs) == 0 {
		return nil, 0, nil
	}
	return r.Kvs[0], r.Header.Revision, nil
}

// doneContext makes a context of a channel that is closed.
type doneContext struct{ done <-chan struct{} }

func (doneContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c doneContext) Done() <-chan struct{}     { return c.done }
func (doneContext) Value(any) any               { return nil }

func (c doneContext) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}
