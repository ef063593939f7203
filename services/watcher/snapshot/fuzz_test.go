package snapshot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// choices reads a fuzzer's bytes as a row of small numbers; when they are used up, all further ones are 0.
type choices []byte

func (c *choices) pick(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// step is one event of a fuzzer's making, beside what it means for the naive model.
type step struct {
	event snapshot.Event
	apply func(*naive)
}

// naive is a snapshot as plainly as can be: a line per object.
type naive struct {
	objects   map[snapshot.Key]snapshot.Object
	inventory int64
}

// content is what content says of a snapshot.
func (n *naive) content() []string {
	out := []string{fmt.Sprintf("inventory %d", n.inventory)}
	refs := map[string]int{}
	for _, o := range n.objects {
		if o.Class != nil {
			refs[o.Class.ID]++
		}
	}
	for id, count := range refs {
		out = append(out, fmt.Sprintf("%d %s %s refs %d", snapshot.PodClass, id, id, count))
	}
	for key, o := range n.objects {
		line := fmt.Sprintf("%d %s %v", key.Kind, key.ID, o.Payload)
		if o.Class != nil {
			line += " class " + o.Class.ID
		}
		out = append(out, line)
	}
	slices.SortFunc(out[1:], strings.Compare)
	return out
}

func sortedContent(s snapshot.Snapshot) []string {
	out := content(s)
	slices.SortFunc(out[1:], strings.Compare)
	return out
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// step draws an event about few ids of few kinds, so that events meet.
func (c *choices) step() step {
	kinds := []snapshot.Kind{snapshot.Pod, snapshot.DaemonSet, snapshot.Node, snapshot.Claim, snapshot.CapacityBuffer, snapshot.PodClass, 0, 77}
	at := start.Add(time.Duration(c.pick(4)) * time.Second)
	what, kind, id := c.pick(8), kinds[c.pick(len(kinds))], fmt.Sprintf("o%d", c.pick(6))
	key := snapshot.Key{Kind: kind, ID: id}
	ignored := kind == snapshot.PodClass || kind == 0 || kind == 77
	switch {
	case what == 0:
		n := int64(c.pick(4))
		return step{snapshot.Inventory(at, n), func(m *naive) { m.inventory = n }}
	case what <= 2:
		return step{snapshot.Delete(at, kind, id), func(m *naive) { delete(m.objects, key) }}
	}
	var class string
	if kind == snapshot.Pod || kind == snapshot.DaemonSet || kind == snapshot.CapacityBuffer {
		class = []string{"", "c1", "c2", "c3"}[c.pick(4)]
	}
	o := object(kind, id, fmt.Sprintf("v%d", c.pick(3)), class)
	return step{snapshot.Put(at, o), func(m *naive) {
		if !ignored {
			m.objects[key] = o
		}
	}}
}

func events(steps []step) []snapshot.Event {
	out := make([]snapshot.Event, len(steps))
	for i, s := range steps {
		out[i] = s.event
	}
	return out
}

// FuzzFold folds events in batches of any size into snapshots and holds each of them against a naive model; then it goes
// from the first to the last by their difference, in pieces and in any order.
func FuzzFold(f *testing.F) {
	f.Add([]byte{3, 1, 3, 0, 1, 2, 1, 1, 0, 0, 1, 4, 0, 3, 5, 0, 1, 2, 1})
	f.Add([]byte("kerf kerf kerf kerf kerf kerf kerf kerf kerf kerf kerf kerf"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		model := &naive{objects: map[snapshot.Key]snapshot.Object{}}
		history := []snapshot.Snapshot{{}}
		var contents [][]string
		contents = append(contents, content(history[0]))
		for len(c) > 0 && len(history) < 40 {
			batch := make([]step, 0, 6)
			for range 1 + c.pick(6) {
				batch = append(batch, c.step())
			}
			for _, s := range batch {
				s.apply(model)
			}
			before := history[len(history)-1]
			next := snapshot.Fold(before, events(batch))
			if diff := cmp.Diff(model.content(), sortedContent(next)); diff != "" {
				t.Fatalf("after %d batches (-naive +fold):\n%s", len(history), diff)
			}
			if next.Revision != before.Revision && next.Revision != before.Revision+1 {
				t.Fatalf("revision %d after %d", next.Revision, before.Revision)
			}
			if next.Revision == before.Revision && !cmp.Equal(content(before), content(next)) {
				t.Fatal("another content under the same revision")
			}
			history, contents = append(history, next), append(contents, content(next))
		}
		for i, s := range history {
			if diff := cmp.Diff(contents[i], content(s)); diff != "" {
				t.Fatalf("snapshot %d changed after it was made:\n%s", i, diff)
			}
		}
		i := len(data) % len(history)
		there(t, data, history[i], history[len(history)-1])
		there(t, data, history[len(history)-1], history[i])
	})
}

// there goes from a to b by their difference.
func there(t *testing.T, data []byte, a, b snapshot.Snapshot) {
	t.Helper()
	d := snapshot.Diff(a, b)
	if d.Base != a.Revision || d.Revision != b.Revision {
		t.Fatalf("the difference leads from %d to %d, want %d to %d", d.Base, d.Revision, a.Revision, b.Revision)
	}
	if again := snapshot.Diff(b, b); !again.Empty() {
		t.Fatalf("a snapshot differs from itself: %v", again)
	}
	parts := d.Events()
	at := snapshot.Fold(a, parts)
	if diff := cmp.Diff(content(b), content(at)); diff != "" {
		t.Fatalf("folded difference (-want +got):\n%s", diff)
	}
	if rest := snapshot.Diff(at, b); !rest.Empty() {
		t.Fatalf("after the difference there still is one: %v", rest)
	}
	// In pieces and in an order of the fuzzer's making.
	c := choices(data)
	for i := len(parts) - 1; i > 0; i-- {
		j := c.pick(i + 1)
		parts[i], parts[j] = parts[j], parts[i]
	}
	at = a
	for len(parts) > 0 {
		n := 1 + c.pick(len(parts))
		at, parts = snapshot.Fold(at, parts[:n]), parts[n:]
	}
	if diff := cmp.Diff(content(b), content(at)); diff != "" {
		t.Fatalf("folded in pieces (-want +got):\n%s", diff)
	}
}
