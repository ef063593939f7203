package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kerf-dev/kerf/services/actuator/store"
)

// facts is the part of the keys of what could be learned anew elsewhere.
const facts = "facts"

// Remember keeps a fact while the fence is the leader's.
func (s *Store) Remember(ctx context.Context, fence store.Fence, name string, data []byte) error {
	if len(data) > maxRequest {
		return fmt.Errorf("%w: %s has %d bytes, at most %d", store.ErrTooLarge, name, len(data), maxRequest)
	}
	r, err := s.fenced(ctx, fence, clientv3.OpPut(s.key(facts, name), string(data)))
	if errors.Is(err, rpctypes.ErrRequestTooLarge) {
		return fmt.Errorf("remember %s in %s: %w: %w", name, s.at, store.ErrTooLarge, err)
	}
	if err != nil {
		return fmt.Errorf("remember %s in %s: %w", name, s.at, err)
	}
	if !r.Succeeded {
		return fmt.Errorf("remember %s in %s: %w", name, s.at, store.ErrFenced)
	}
	return nil
}

// Recall returns what was kept.
func (s *Store) Recall(ctx context.Context, name string) ([]byte, error) {
	r, err := s.get(ctx, s.key(facts, name))
	if err != nil {
		return nil, fmt.Errorf("recall %s from %s: %w", name, s.at, err)
	}
	if len(r.Kvs) == 0 {
		return nil, nil
	}
	return r.Kvs[0].Value, nil
}
