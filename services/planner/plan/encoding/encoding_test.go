package encoding_test

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/plan/encoding"
)

func TestADigestIsOfAllThatWasWrittenSinceTheLastOne(t *testing.T) {
	e := encoding.New(0)
	for _, n := range []int{1, 100_000, 3, 0, 70_000} {
		var want []byte
		for range 3 {
			e.Text(strings.Repeat("x", n))
			want = append(binary.AppendUvarint(want, uint64(n)), strings.Repeat("x", n)...)
		}
		if got := e.Sum(); got != sha256.Sum256(want) {
			t.Errorf("the digest of three texts of %d letters is another one's", n)
		}
	}
}
