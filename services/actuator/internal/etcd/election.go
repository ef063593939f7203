package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/kerf-dev/kerf/services/actuator/store"
)

const (
	// retryPause is between two candidacies after the store was not there.
	retryPause   = time.Second
	resignTries  = 3
	electionPath = "election"
)

// errLeaseLost says that a lease ended while its candidate waited or was about to lead.
var errLeaseLost = errors.New("the lease ended")

// Campaign waits until this candidate leads. Each try has a lease of its own, so nothing of a try that failed is left
// to be mistaken for a leader. The first of several failures in a row is logged.
func (s *Store) Campaign(ctx context.Context, candidate string) (store.Term, error) {
	for failures := 0; ; failures++ {
		term, err := s.candidacy(ctx, candidate)
		if err == nil {
			return term, nil
		}
		if failures == 0 && ctx.Err() == nil {
			s.log.WarnContext(ctx, "no leader can be elected; trying again until it answers", "store", s.at, "error", err)
		}
		select {
		case <-ctx.Done():
			return store.Term{}, ctx.Err()
		case <-time.After(retryPause):
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
	granting, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	lease, err := s.client.Grant(granting, int64(s.ttl.Seconds()))
	if err != nil {
		return nil, fmt.Errorf("grant a lease: %w", err)
	}
	// The session lives on the client's own context: it must outlive this call, and ends when it is given up.
	session, err := concurrency.NewSession(s.client, concurrency.WithLease(lease.ID))
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

	e := concurrency.NewElection(session, s.prefix+electionPath)
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
	}, nil
}

// confirm reads the leader's key: it must exist, hang on our lease, and be the one that we made.
func (s *Store) confirm(ctx context.Context, session *concurrency.Session, e *concurrency.Election) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r, err := s.client.Get(ctx, e.Key())
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

// giveUp revokes the lease, and with it the key, whatever the client still remembers of it.
func (s *Store) giveUp(ctx context.Context, session *concurrency.Session) error {
	session.Orphan()
	var err error
	for range resignTries {
		revoking, cancel := context.WithTimeout(ctx, s.timeout)
		_, err = s.client.Revoke(revoking, session.Lease())
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
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r, err := s.client.Get(ctx, s.prefix+electionPath+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return "", fmt.Errorf("read the leader: %w", err)
	}
	if len(r.Kvs) == 0 {
		return "", nil
	}
	return string(r.Kvs[0].Value), nil
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
