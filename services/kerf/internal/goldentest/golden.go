// Package goldentest compares what a test got with a file that a person has reviewed. It is for tests only, and knows
// nothing of what is compared. It is the same as test/golden: the product imports nothing of test, nor test what is
// internal to it. Start reading at Check, which is all there is.
package goldentest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check fails the test unless testdata/NAME holds got. With KERF_GOLDEN=update in the environment it writes the file
// instead; review the diff as a change of behaviour.
func Check(t *testing.T, name string, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KERF_GOLDEN") == "update" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; KERF_GOLDEN=update writes it):\n%s", path, diff)
	}
}
