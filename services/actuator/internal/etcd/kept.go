package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	storagepb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/storage/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

// kept are claims as they were read at a revision: what has not changed since need not be read again.
type kept struct {
	revision int64
	keys     []string // in order
	claims   map[string]keptClaim
}

type keptClaim struct {
	claim             model.Claim
	created, modified int64
}

// errKept says that what was kept is not what etcd had: it was restored from a backup, say.
var errKept = errors.New("what was read before is of another store")

// Prepare reads claims, so that the next Load reads what has changed since.
func (s *Store) Prepare(ctx context.Context) error {
	r, err := s.get(ctx, s.prefix+born)
	if err != nil {
		return fmt.Errorf("read from %s: %w", s.at, err)
	}
	before := s.kept.Load()
	next, err := s.readClaims(ctx, before, r.Header.GetRevision())
	if err != nil {
		s.kept.Store(nil)
		return fmt.Errorf("read from %s: %w", s.at, err)
	}
	s.kept.CompareAndSwap(before, next) // unless it was loaded meanwhile
	return nil
}

// readClaims reads the claims at a revision. Of what was kept, nil for nothing, it takes over those that are the same.
func (s *Store) readClaims(ctx context.Context, k *kept, revision int64) (*kept, error) {
	if k != nil {
		next, err := s.readAgain(ctx, k, revision)
		if !errors.Is(err, errKept) {
			return next, err
		}
	}
	next := &kept{revision: revision, claims: map[string]keptClaim{}}
	err := load(ctx, s, claimsAt(revision, 0), func(c model.Claim, kv *mvccpb.KeyValue) {
		next.keys = append(next.keys, string(kv.Key))
		next.claims[string(kv.Key)] = keptClaim{c, kv.CreateRevision, kv.ModRevision}
	})
	return next, err
}

func (s *Store) readAgain(ctx context.Context, k *kept, revision int64) (*kept, error) {
	switch {
	case revision < k.revision:
		return nil, errKept
	case revision == k.revision: // etcd goes through all claims to say which have changed, and again to name them
		return k, nil
	}
	next := &kept{revision: revision, keys: make([]string, 0, len(k.keys)), claims: make(map[string]keptClaim, len(k.keys))}
	err := load(ctx, s, claimsAt(revision, k.revision+1), func(c model.Claim, kv *mvccpb.KeyValue) {
		next.claims[string(kv.Key)] = keptClaim{c, kv.CreateRevision, kv.ModRevision}
	})
	if err != nil {
		return nil, err
	}
	from := s.prefix + claims + "/"
	return next, s.pages(ctx, from, func(kv *mvccpb.KeyValue) error {
		key := string(kv.Key)
		next.keys = append(next.keys, key)
		if next.claims[key].modified == kv.ModRevision {
			return nil
		}
		old, is := k.claims[key]
		if !is || old.modified != kv.ModRevision || old.created != kv.CreateRevision {
			return errKept
		}
		next.claims[key] = old
		return nil
	}, clientv3.WithRev(revision), clientv3.WithLimit(pageKeys), clientv3.WithKeysOnly())
}

func claimsAt(revision, since int64) source[*storagepb.StoredClaim, model.Claim] {
	return source[*storagepb.StoredClaim, model.Claim]{
		claims, revision, since, func() *storagepb.StoredClaim { return &storagepb.StoredClaim{} }, convert.ReadClaim, false,
	}
}
