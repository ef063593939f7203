package fields

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Names []struct {
		First string `json:"first"`
	} `json:"names"`
	Own map[string]string `json:"own"`
}

// ObjectMeta stands for that of all kinds.
type ObjectMeta struct {
	Own string `json:"own"`
}

type inlined struct {
	Beside string `json:"beside"`
}

type outer struct {
	inlined    `json:",inline"`
	ObjectMeta `json:"metadata"`

	Inner  *inner `json:"inner"`
	Status inner  `json:"status"`
	Hidden string `json:"-"`
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"iner.names":           "iner",
		"inner.named[0].first": "named",
		"inner.names[0].last":  "last",
		"inner.own.any":        "",
	} {
		place, name := Unknown(reflect.TypeFor[*outer](), path)
		if name != want || (place == nil) != (want == "") {
			t.Errorf("%s: %q of %v, want %q", path, name, place, want)
		}
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"inner.own"}, Elsewhere(reflect.TypeFor[outer](), "own", 3)); diff != "" {
		t.Error("-want +got", diff)
	}
	if diff := cmp.Diff([]string{"beside", "metadata", "inner", "status"}, Names(reflect.TypeFor[outer]())); diff != "" {
		t.Error("-want +got", diff)
	}
}
