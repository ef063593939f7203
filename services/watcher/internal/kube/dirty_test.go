package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirtyKeysComeOnceAndSorted(t *testing.T) {
	d := newDirty(10)
	d.add(key{aPod, "shop", "b"}, key{aNode, "", "n"}, key{aPod, "shop", "a"})
	d.add(key{aPod, "shop", "b"})
	keys, all, ok := d.take(t.Context())
	want := []key{{aPod, "shop", "a"}, {aPod, "shop", "b"}, {aNode, "", "n"}}
	if diff := cmp.Diff(want, keys, cmp.AllowUnexported(key{})); diff != "" || all || !ok {
		t.Errorf("all %t, ok %t, keys (-want +got):\n%s", all, ok, diff)
	}
}

func TestTooManyDirtyKeysMeanEverything(t *testing.T) {
	d := newDirty(2)
	for _, name := range []string{"a", "b", "c", "d"} {
		d.add(key{aPod, "shop", name})
	}
	keys, all, ok := d.take(t.Context())
	if len(keys) != 0 || !all || !ok {
		t.Errorf("all %t, ok %t, keys %v", all, ok, keys)
	}
	d.add(key{aPod, "shop", "e"})
	if keys, all, _ := d.take(t.Context()); len(keys) != 1 || all {
		t.Errorf("afterwards: all %t, keys %v", all, keys)
	}
}

func TestTakeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, ok := newDirty(1).take(ctx); ok {
		t.Error("take returned something")
	}
}
