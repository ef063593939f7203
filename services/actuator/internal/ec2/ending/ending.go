// Package ending ends instances many at a time: what callers ask for within a moment goes into one call. EC2 refuses a
// call whole for one instance in it: without those that it says it does not know the call is made again, and else it is
// cut in half until the bad one is alone.
//
// It must never know whose instances they are. Start reading at Batch.End.
package ending

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
)

const (
	// moment is how long a call waits for others.
	moment = 50 * time.Millisecond
	// most is how many instances one call ends.
	most = 500
	// timeout bounds a call and what comes of cutting it.
	timeout = time.Minute
	// mostDenied is after how many denials a call is cut no further: where the role lost its right each instance would be
	// denied by itself, and EC2 lets an account end few times a second.
	mostDenied = 40
)

// Batch gathers what is to be ended. Safe for concurrent use.
type Batch struct {
	end func(ctx context.Context, ids []string) error

	mu   sync.Mutex
	next *call // that gathers; nil for none
}

// call is one call to EC2, and what came of each instance once done is closed.
type call struct {
	ids    []string
	failed map[string]error
	denied int // how often EC2 has said that a right is missing
	done   chan struct{}
}

// New makes a batch of nothing. end ends instances by one call to EC2.
func New(end func(ctx context.Context, ids []string) error) *Batch { return &Batch{end: end} }

// End ends the instances, and says what became of them; one that EC2 does not know has ended.
func (b *Batch) End(ctx context.Context, ids []string) error {
	var errs []error
	for part := range slices.Chunk(ids, most) {
		c := b.join(ctx, part)
		select {
		case <-c.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, id := range part {
			errs = append(errs, c.failed[id])
		}
	}
	return errors.Join(errs...)
}

// join adds the instances to the next call, which the first to join begins after a moment.
func (b *Batch) join(ctx context.Context, ids []string) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.next; c != nil && len(c.ids)+len(ids) <= most {
		c.ids = append(c.ids, ids...)
		return c
	}
	c := &call{ids: slices.Clone(ids), failed: map[string]error{}, done: make(chan struct{})}
	b.next = c
	ctx = context.WithoutCancel(ctx) // it is others' call, too
	go func() {
		<-time.After(moment)
		b.mu.Lock()
		if b.next == c {
			b.next = nil
		}
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		slices.Sort(c.ids)
		b.cut(ctx, slices.Compact(c.ids), c)
		close(c.done)
	}()
	return c
}

// cut ends the instances, in halves where EC2 refuses them together for what may concern one of them.
func (b *Batch) cut(ctx context.Context, ids []string, of *call) {
	err := b.end(ctx, ids)
	for unknown := named(ids, err); len(unknown) > 0; unknown = named(ids, err) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return unknown[id] })
		if len(ids) == 0 {
			return
		}
		err = b.end(ctx, ids)
	}
	if err == nil {
		return
	}
	if awserror.LacksRight(err) { // a protected instance says nothing of others
		of.denied++
	}
	switch {
	case len(ids) == 1 && awserror.Of(err) == awserror.NotFound:
	case len(ids) == 1, concernsAll(err), of.denied > mostDenied:
		for _, id := range ids {
			of.failed[id] = err
		}
	default:
		b.cut(ctx, ids[:len(ids)/2], of)
		b.cut(ctx, ids[len(ids)/2:], of)
	}
}

// named are those of the instances that EC2 says it does not know: it lists them in its words alone.
func named(ids []string, err error) map[string]bool {
	if awserror.Of(err) != awserror.NotFound {
		return nil
	}
	out := map[string]bool{}
	for word := range strings.FieldsFuncSeq(err.Error(), func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if _, is := slices.BinarySearch(ids, word); is { // whole ids: a short one is how a long one may begin
			out[word] = true
		}
	}
	return out
}

// concernsAll says that an error is none of a single instance: AWS has no time, is at fault itself, or does not take
// the credentials.
func concernsAll(err error) bool {
	switch awserror.Of(err) {
	case awserror.Throttled, awserror.Server, awserror.Unknown:
		return true
	case awserror.Unauthorized: // rights may be bound to tags, and the end of one instance may be forbidden
		return !awserror.LacksRight(err) && !awserror.Protected(err)
	default:
		return false
	}
}
