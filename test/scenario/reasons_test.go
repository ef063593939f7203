package scenario

import (
	"os"
	"regexp"
	"strings"
	"testing"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
)

// TestEveryReasonIsDocumented compares docs/reasons.md with the contract: each code has one row with a meaning and an
// example, and no other code has any.
func TestEveryReasonIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| ([^|]+) \\| ([^|]+) \\|$")
	rows := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		rows[m[1]]++
	}
	for number, name := range clusterv1.ReasonCode_name {
		short := strings.TrimPrefix(name, "REASON_CODE_")
		if number == 0 {
			continue
		}
		if rows[short] != 1 {
			t.Errorf("%s has %d rows in docs/reasons.md, want one with a meaning and an example", short, rows[short])
		}
		delete(rows, short)
	}
	for short := range rows {
		t.Errorf("docs/reasons.md has %s, which is not in the contract", short)
	}
}
