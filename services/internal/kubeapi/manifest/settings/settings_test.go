package settings_test

import (
	"reflect"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/settings"
)

func TestSettingsByTheirFullNames(t *testing.T) {
	t.Parallel()
	got := settings.Flat(map[string]any{"a.b": 1, "c": map[string]any{"d": map[string]any{"e": "2"}, "f": "x"}})
	if want := map[string]any{"a.b": 1, "c.d.e": "2", "c.f": "x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if settings.Number(got["a.b"], 9) != 1 || settings.Number(got["c.d.e"], 9) != 2 || settings.Number(got["c.f"], 9) != 9 || settings.Number(nil, 9) != 9 {
		t.Error("a number is not what it says")
	}
	if !settings.Is("true", false) || settings.Is(false, true) || !settings.Is(nil, true) || settings.Is("x", false) {
		t.Error("what is true is not")
	}
}

func TestOneOverTheOther(t *testing.T) {
	t.Parallel()
	under := map[string]any{"a": 1, "b": []any{map[string]any{"c": 1}, 2}, "d": "x"}
	over := map[string]any{"b": []any{map[string]any{"e": 3}}, "d": map[string]any{"f": 4}, "g": []any{5}}
	want := map[string]any{"a": 1, "b": []any{map[string]any{"c": 1, "e": 3}, 2}, "d": map[string]any{"f": 4}, "g": []any{5}}
	if got := settings.Over(under, over); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := settings.Over(nil, over); !reflect.DeepEqual(got, any(over)) {
		t.Errorf("over nothing it is %v", got)
	}
	if got := settings.Over(under, nil); !reflect.DeepEqual(got, any(under)) {
		t.Errorf("under nothing it is %v", got)
	}
}
