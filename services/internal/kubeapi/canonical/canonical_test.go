package canonical_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/canonical"
)

func TestSumTellsMeaningsApartNotWritings(t *testing.T) {
	tests := map[string]struct {
		a, b string
		same bool
	}{
		"order of keys":           {`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		"order of items":          {`[1,{"a":2}]`, `[{"a":2},1]`, true},
		"absent and null":         {`{"a":1}`, `{"a":1,"b":null}`, true},
		"absent and empty":        {`{"a":1}`, `{"a":1,"b":{"c":[]}}`, true},
		"absent and false":        {`{"a":1}`, `{"a":1,"b":false}`, false},
		"absent and no text":      {`{"a":1}`, `{"a":1,"b":""}`, false},
		"a number and a text":     {`{"a":1}`, `{"a":"1"}`, false},
		"an item once and twice":  {`[1]`, `[1,1]`, false},
		"numbers beyond a float":  {`[9007199254740993]`, `[9007199254740992]`, false},
		"a list and its own item": {`[[1]]`, `[1]`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := canonical.Sum(json.RawMessage(tc.a))
			if err != nil {
				t.Fatal(err)
			}
			b, err := canonical.Sum(json.RawMessage(tc.b))
			if err != nil {
				t.Fatal(err)
			}
			if (a == b) != tc.same || len(a) != 16 {
				t.Errorf("%s and %s, want the same: %v", a, b, tc.same)
			}
		})
	}
	if _, err := canonical.Sum(math.Inf(1)); err == nil {
		t.Error("infinity was hashed, want an error")
	}
}
