package side

import (
	"strings"
	"testing"
)

func TestPlansAreRead(t *testing.T) {
	t.Parallel()
	b, err := parsePlan([]byte(`{"plan": {"nodeClaims": [{"id": "a"}, {"id": "b"}], "costAfterMicroUsdPerHour": "306000",
		"lowerBound": {"microUsdPerHour": "300000", "kind": "x"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Bound{Lower: 0.3, Plan: 0.306, Nodes: 2}); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
	for _, bad := range []string{`{`, `{"plan": {}}`, `{"plan": {"pending": [{}], "costAfterMicroUsdPerHour": "1", "lowerBound": {"microUsdPerHour": "1"}}}`} {
		if b, err := parsePlan([]byte(bad)); err == nil {
			t.Errorf("no error for %s, but %+v", bad, b)
		}
	}
}

func TestBothPoolsDifferInTheirTypesAlone(t *testing.T) {
	t.Parallel()
	kerf, err := kerfObjects(false)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := pool{Group: "g", Kind: "k", Capacity: []string{"on-demand"}}.yaml()
	if err != nil {
		t.Fatal(err)
	}
	_, mine, _ := strings.Cut(string(kerf), "---\n")
	var common []string
	for line := range strings.SplitSeq(string(theirs), "\n") {
		if !strings.Contains(line, "group:") && !strings.Contains(line, "kind: k") {
			common = append(common, line)
		}
	}
	for _, line := range common {
		if !strings.Contains(mine, line) {
			t.Errorf("Kerf's pool lacks %q", line)
		}
	}
	spot, err := kerfObjects(true)
	if err != nil || !strings.Contains(string(spot), `["on-demand", "spot"]`) {
		t.Errorf("the spot pool does not buy spot capacity: %v\n%s", err, spot)
	}
}
