package snapshot_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// object makes an object whose hash follows from its payload, and whose class is the named one.
func object(k snapshot.Kind, id, payload, class string) snapshot.Object {
	o := snapshot.Object{Kind: k, ID: id, Payload: payload}
	sum := sha256.Sum256([]byte(payload))
	copy(o.Hash[:], sum[:])
	if class != "" {
		c := object(snapshot.PodClass, class, class, "")
		o.Class = &c
	}
	return o
}

// content is everything that a snapshot holds apart from its revision and times, as text that can be compared.
func content(s snapshot.Snapshot) []string {
	out := []string{fmt.Sprintf("inventory %d", s.InventoryRevision)}
	for _, k := range snapshot.Kinds() {
		objects := s.Objects(k)
		if len(objects) != s.Len(k) {
			out = append(out, fmt.Sprintf("kind %d says %d, has %d", k, s.Len(k), len(objects)))
		}
		for _, o := range objects {
			line := fmt.Sprintf("%d %s %v", k, o.ID, o.Payload)
			if o.Class != nil {
				line += " class " + o.Class.ID
			}
			if k == snapshot.PodClass {
				line += fmt.Sprintf(" refs %d", s.Refs(o.ID))
			}
			out = append(out, line)
		}
	}
	return out
}

func TestFold(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := func(id, payload, class string) snapshot.Event {
		return snapshot.Put(start, object(snapshot.Pod, id, payload, class))
	}
	gone := func(k snapshot.Kind, id string) snapshot.Event { return snapshot.Delete(start, k, id) }

	for name, tc := range map[string]struct {
		steps    [][]snapshot.Event
		revision uint64
		want     []string
	}{
		"a class lives while a pod refers to it": {
			steps:    [][]snapshot.Event{{pod("a", "1", "x"), pod("b", "1", "x")}, {gone(snapshot.Pod, "a")}},
			revision: 2,
			want:     []string{"inventory 0", "1 x x refs 1", "2 b 1 class x"},
		},
		"a class dies with its last pod": {
			steps:    [][]snapshot.Event{{pod("a", "1", "x")}, {gone(snapshot.Pod, "a")}},
			revision: 2,
			want:     []string{"inventory 0"},
		},
		"a DaemonSet holds a class as a pod does": {
			steps: [][]snapshot.Event{
				{pod("a", "1", "x"), snapshot.Put(start, object(snapshot.DaemonSet, "d", "1", "x"))},
				{gone(snapshot.Pod, "a")},
			},
			revision: 2,
			want:     []string{"inventory 0", "1 x x refs 1", "3 d 1 class x"},
		},
		"a pod that changes its class moves its reference": {
			steps:    [][]snapshot.Event{{pod("a", "1", "x")}, {pod("a", "1", "y")}},
			revision: 2,
			want:     []string{"inventory 0", "1 y y refs 1", "2 a 1 class y"},
		},
		"an unchanged object makes no new revision": {
			steps:    [][]snapshot.Event{{pod("a", "1", "x")}, {pod("a", "1", "x")}, {gone(snapshot.Pod, "z")}},
			revision: 1,
			want:     []string{"inventory 0", "1 x x refs 1", "2 a 1 class x"},
		},
		"the inventory's revision is a change": {
			steps:    [][]snapshot.Event{{snapshot.Inventory(start, 7)}, {snapshot.Inventory(start, 7)}},
			revision: 1,
			want:     []string{"inventory 7"},
		},
		"a class can't be put or deleted by itself": {
			steps: [][]snapshot.Event{
				{pod("a", "1", "x")},
				{gone(snapshot.PodClass, "x"), snapshot.Put(start, object(snapshot.PodClass, "y", "y", ""))},
			},
			revision: 1,
			want:     []string{"inventory 0", "1 x x refs 1", "2 a 1 class x"},
		},
		"the zero kind and unknown kinds are ignored": {
			steps:    [][]snapshot.Event{{snapshot.Put(start, object(0, "a", "1", "")), gone(200, "b")}},
			revision: 0,
			want:     []string{"inventory 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot.Snapshot
			for _, events := range tc.steps {
				s = snapshot.Fold(s, events)
			}
			if diff := cmp.Diff(tc.want, content(s)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if s.Revision != tc.revision {
				t.Errorf("revision %d, want %d", s.Revision, tc.revision)
			}
		})
	}
}

func TestFoldObserveTimeIsThatOfTheLatestChange(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := snapshot.Fold(snapshot.Snapshot{}, []snapshot.Event{
		snapshot.Put(start.Add(2*time.Second), object(snapshot.Node, "a", "1", "")),
		snapshot.Put(start.Add(time.Second), object(snapshot.Node, "b", "1", "")),
	})
	if want := start.Add(2 * time.Second); !s.ObserveTime.Equal(want) {
		t.Errorf("observed %s, want %s", s.ObserveTime, want)
	}
	same := snapshot.Fold(s, []snapshot.Event{snapshot.Put(start.Add(time.Hour), object(snapshot.Node, "a", "1", ""))})
	if !same.ObserveTime.Equal(s.ObserveTime) {
		t.Errorf("an event without effect moved the time to %s", same.ObserveTime)
	}
}

func TestWholeBatchLeavesExactlyTheObjectsThatItNames(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := snapshot.Fold(snapshot.Snapshot{}, []snapshot.Event{
		snapshot.Put(at, object(snapshot.Claim, "old", "1", "")),
		snapshot.Put(at, object(snapshot.Claim, "kept", "1", "")),
		snapshot.Put(at, object(snapshot.Node, "other", "1", "")),
	})
	batch := snapshot.Batch{Time: at, Whole: []snapshot.Kind{snapshot.Claim}, Events: []snapshot.Event{
		snapshot.Put(at, object(snapshot.Claim, "kept", "2", "")),
		snapshot.Inventory(at, 3),
	}}
	want := []string{"inventory 3", fmt.Sprintf("%d other 1", snapshot.Node), fmt.Sprintf("%d kept 2", snapshot.Claim)}
	if diff := cmp.Diff(want, content(batch.Fold(s))); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// genEvents draws events over few ids, so that they meet each other often.
func genEvents(t *rapid.T, label string) []snapshot.Event {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kinds := snapshot.Kinds()
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) snapshot.Event {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		id := rapid.StringMatching(`[a-h]`).Draw(t, "id")
		switch rapid.IntRange(0, 9).Draw(t, "op") {
		case 0:
			return snapshot.Inventory(at, rapid.Int64Range(0, 5).Draw(t, "inventory"))
		case 1, 2, 3:
			return snapshot.Delete(at, k, id)
		}
		class := ""
		if k == snapshot.Pod || k == snapshot.DaemonSet {
			class = rapid.StringMatching(`[x-z]`).Draw(t, "class")
		}
		return snapshot.Put(at, object(k, id, rapid.StringMatching(`[0-3]`).Draw(t, "payload"), class))
	}), 0, 40).Draw(t, label)
}

func TestFoldOfDiffIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := snapshot.Fold(snapshot.Snapshot{}, genEvents(t, "first"))
		before := content(a)
		b := snapshot.Fold(a, genEvents(t, "second"))
		for name, base := range map[string]snapshot.Snapshot{"neighbour": a, "stranger": snapshot.Fold(snapshot.Snapshot{}, genEvents(t, "other"))} {
			d := snapshot.Diff(base, b)
			if diff := cmp.Diff(content(b), content(snapshot.Fold(base, d.Events()))); diff != "" {
				t.Fatalf("%s: fold of diff (-want +got):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(before, content(a)); diff != "" {
			t.Fatalf("folding changed the older snapshot:\n%s", diff)
		}
		if a.Revision == b.Revision && !snapshot.Diff(a, b).Empty() {
			t.Fatalf("revision %d stands for two contents", a.Revision)
		}
	})
}

func TestDiffListsClassesForTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := snapshot.Fold(snapshot.Snapshot{}, genEvents(t, "first"))
		b := snapshot.Fold(a, genEvents(t, "second"))
		known := map[string]bool{}
		for _, o := range a.Objects(snapshot.PodClass) {
			known[o.ID] = true
		}
		d := snapshot.Diff(a, b)
		for _, o := range d.Upserted {
			if o.Kind == snapshot.PodClass {
				known[o.ID] = true
			}
		}
		for _, k := range d.Removed {
			if k.Kind == snapshot.PodClass {
				delete(known, k.ID)
			}
		}
		if len(known) != b.Len(snapshot.PodClass) {
			t.Fatalf("a receiver ends with %d classes, want %d", len(known), b.Len(snapshot.PodClass))
		}
		for _, o := range b.Objects(snapshot.Pod) {
			if !known[o.Class.ID] {
				t.Fatalf("a receiver lacks class %s of pod %s", o.Class.ID, o.ID)
			}
		}
	})
}

func TestDisjointEventsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := snapshot.Fold(snapshot.Snapshot{}, genEvents(t, "base"))
		seen := map[snapshot.Key]bool{}
		var events []snapshot.Event
		for _, e := range genEvents(t, "events") {
			if !seen[e.Key()] {
				seen[e.Key()] = true
				events = append(events, e)
			}
		}
		want := content(snapshot.Fold(base, events))
		shuffled := rapid.Permutation(events).Draw(t, "order")
		if diff := cmp.Diff(want, content(snapshot.Fold(base, shuffled))); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
		cut := rapid.IntRange(0, len(shuffled)).Draw(t, "cut")
		halves := snapshot.Fold(snapshot.Fold(base, shuffled[:cut]), shuffled[cut:])
		if diff := cmp.Diff(want, content(halves)); diff != "" {
			t.Fatalf("in two steps (-want +got):\n%s", diff)
		}
	})
}

func TestRefsCountPodsAndDaemonSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot.Fold(snapshot.Snapshot{}, genEvents(t, "events"))
		want := map[string]int{}
		for _, k := range []snapshot.Kind{snapshot.Pod, snapshot.DaemonSet} {
			for _, o := range s.Objects(k) {
				want[o.Class.ID]++
			}
		}
		got := map[string]int{}
		for _, o := range s.Objects(snapshot.PodClass) {
			got[o.ID] = s.Refs(o.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("references (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkFoldOneOf100k is what one pod's change costs in a large cluster; the bytes per operation are the point.
func BenchmarkFoldOneOf100k(b *testing.B) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events := make([]snapshot.Event, 100_000)
	for i := range events {
		events[i] = snapshot.Put(at, object(snapshot.Pod, fmt.Sprintf("shop/web-%d", i), "0", "x"))
	}
	s := snapshot.Fold(snapshot.Snapshot{}, events)
	one := [2][]snapshot.Event{
		{snapshot.Put(at, object(snapshot.Pod, "shop/web-4711", "1", "x"))},
		{snapshot.Put(at, object(snapshot.Pod, "shop/web-4711", "2", "x"))},
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		next := snapshot.Fold(s, one[i%2])
		if d := snapshot.Diff(s, next); len(d.Upserted) != 1 {
			b.Fatalf("delta of %d objects", len(d.Upserted))
		}
		s = next
		i++
	}
}
