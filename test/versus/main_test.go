package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/versus/side"
)

func TestArgumentsSayWhatIsPlayed(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-loads", "ramp,spot", "-seeds", "4,5", "-sides", "kerf"})
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	for _, l := range o.loads {
		loads = append(loads, l.Name)
	}
	if diff := cmp.Diff([]string{"ramp", "spot"}, loads); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{4, 5}, o.seeds); diff != "" {
		t.Errorf("seeds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{side.Kerf}, o.sides); diff != "" {
		t.Errorf("sides (-want +got):\n%s", diff)
	}
}

func TestWrongArgumentsAreToldBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ arg, value, want string }{
		{"-loads", "ramp,flood", `no load is called "flood"; there are bursts`},
		{"-seeds", "1,x", "-seeds"},
		{"-sides", "kerf,other", `no side is called "other"`},
		{"-o", "xml", `"xml" is not table, json or markdown`},
	} {
		if _, err := parse([]string{tt.arg, tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: error %v, want one with %q", tt.arg, tt.value, err, tt.want)
		}
	}
}
