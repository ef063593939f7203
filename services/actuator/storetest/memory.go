// Package storetest is a store in memory for tests, and the suite that it and every real store pass.
//
// The memory store behaves as etcd does: one revision that grows with every write, elections in line, and writes that
// hold only under the leader's fence. Start at New, and at Suite for what every implementation must do.
package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Memory implements the store port in memory. Safe for concurrent use. What it stores it does not copy deeply: values
// must not be changed once they are stored.
type Memory struct {
	mu          sync.Mutex
	revision    store.Revision
	claims      map[model.ClaimID]model.Claim
	created     map[model.ClaimID]store.Revision
	disruptions map[model.DisruptionID]model.DisruptionRecord
	notices     map[string]model.Notice
	shortages   map[string]model.Shortage
	facts       map[string][]byte
	born        time.Time
	line        []*candidate
}

// maxBytes is where etcd refuses a request.
const maxBytes = 3 << 19

type candidate struct {
	name  string
	fence store.Fence
	first chan struct{} // closed when it leads
	lost  chan struct{} // closed when it has left the line
}

var (
	_ store.Store    = (*Memory)(nil)
	_ store.Election = (*Memory)(nil)
)

// New makes an empty store.
func New() *Memory {
	return &Memory{
		claims: map[model.ClaimID]model.Claim{}, created: map[model.ClaimID]store.Revision{},
		disruptions: map[model.DisruptionID]model.DisruptionRecord{}, notices: map[string]model.Notice{}, shortages: map[string]model.Shortage{},
		facts: map[string][]byte{},
	}
}

// Prepare implements store.Store.
func (m *Memory) Prepare(context.Context) error { return nil }

// Remember implements store.Store.
func (m *Memory) Remember(_ context.Context, fence store.Fence, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(data) > maxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, len(data), maxBytes)
	}
	if len(m.line) == 0 || m.line[0].fence != fence {
		return fmt.Errorf("remember: %w", store.ErrFenced)
	}
	m.revision++
	m.facts[name] = slices.Clone(data)
	return nil
}

// Recall implements store.Store.
func (m *Memory) Recall(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.facts[name]), nil
}

// Load implements store.Store.
func (m *Memory) Load(context.Context) (store.Contents, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.Contents{
		Revision: m.revision, Created: maps.Clone(m.created), Born: m.born,
		Claims:      sorted(m.claims, func(a, b model.Claim) int { return cmp.Compare(a.ID, b.ID) }),
		Disruptions: sorted(m.disruptions, func(a, b model.DisruptionRecord) int { return cmp.Compare(a.ID, b.ID) }),
		Notices:     sorted(m.notices, func(a, b model.Notice) int { return cmp.Compare(a.ID, b.ID) }),
		Shortages:   sorted(m.shortages, func(a, b model.Shortage) int { return cmp.Compare(shortageID(a), shortageID(b)) }),
	}, nil
}

func sorted[K comparable, V any](m map[K]V, order func(V, V) int) []V {
	return slices.SortedFunc(maps.Values(m), order)
}

func shortageID(x model.Shortage) string {
	return string(x.InstanceType) + ":" + x.Zone + ":" + x.CapacityType.String()
}

// Commit implements store.Store.
func (m *Memory) Commit(_ context.Context, fence store.Fence, b store.Batch) (store.Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := b.Writes(); n > store.MaxWrites {
		return 0, fmt.Errorf("%w: %d, at most %d", store.ErrTooLarge, n, store.MaxWrites)
	}
	bytes := 0
	for _, c := range b.PutClaims {
		bytes += store.ClaimBytes(c)
	}
	if bytes > maxBytes {
		return 0, fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, bytes, maxBytes)
	}
	if len(m.line) == 0 || m.line[0].fence != fence {
		return 0, fmt.Errorf("commit: %w", store.ErrFenced)
	}
	if b.Writes() > 0 {
		m.revision++
	}
	for _, c := range b.PutClaims {
		if _, known := m.claims[c.ID]; !known {
			m.created[c.ID] = m.revision
		}
		m.claims[c.ID] = c
	}
	for _, id := range b.DeleteClaims {
		delete(m.claims, id)
		delete(m.created, id)
	}
	m.rest(b)
	return m.revision, nil
}

func (m *Memory) rest(b store.Batch) {
	for _, d := range b.PutDisruptions {
		m.disruptions[d.ID] = d
	}
	for _, id := range b.DeleteDisruptions {
		delete(m.disruptions, id)
	}
	for _, n := range b.PutNotices {
		m.notices[n.ID] = n
	}
	for _, id := range b.DeleteNotices {
		delete(m.notices, id)
	}
	for _, s := range b.PutShortages {
		m.shortages[shortageID(s)] = s
	}
	for _, s := range b.DeleteShortages {
		delete(m.shortages, shortageID(s))
	}
	if !b.Born.IsZero() {
		m.born = b.Born
	}
}

// Campaign implements store.Election.
func (m *Memory) Campaign(ctx context.Context, name string) (store.Term, error) {
	m.mu.Lock()
	m.revision++
	c := &candidate{name: name, first: make(chan struct{}), lost: make(chan struct{})}
	c.fence = store.Fence{Key: fmt.Sprintf("election/%d", m.revision), Revision: int64(m.revision)}
	m.line = append(m.line, c)
	if len(m.line) == 1 {
		close(c.first)
	}
	m.mu.Unlock()
	select {
	case <-c.first:
	case <-ctx.Done():
		m.leave(c)
		return store.Term{}, ctx.Err()
	}
	return store.Term{
		Fence: c.fence, Lost: c.lost,
		Resign: func(context.Context) error {
			m.leave(c)
			return nil
		},
		Followed: func(context.Context) (bool, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.line) > 1 && m.line[0] == c, nil
		},
	}, nil
}

// leave takes a candidate out of the line; the next one leads.
func (m *Memory) leave(c *candidate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.line, c)
	if i < 0 {
		return
	}
	m.line = slices.Delete(m.line, i, i+1)
	close(c.lost)
	if i == 0 && len(m.line) > 0 {
		close(m.line[0].first)
	}
}

// Depose takes the leadership from the leader, as the end of a lease does.
func (m *Memory) Depose() {
	m.mu.Lock()
	if len(m.line) == 0 {
		m.mu.Unlock()
		return
	}
	c := m.line[0]
	m.mu.Unlock()
	m.leave(c)
}

// Usurp lets another candidate lead in the place of the leader, and does not tell that: a process that was paused for
// longer than its lease does not know yet.
func (m *Memory) Usurp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revision++
	m.line[0] = &candidate{
		name: "successor", first: make(chan struct{}), lost: make(chan struct{}),
		fence: store.Fence{Key: fmt.Sprintf("election/%d", m.revision), Revision: int64(m.revision)},
	}
}

// Leader implements store.Election.
func (m *Memory) Leader(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.line) == 0 {
		return "", nil
	}
	return m.line[0].name, nil
}
