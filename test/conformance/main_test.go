package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/conformance/botocore"
)

func TestASuitePassesButForWhatIsKnownToFail(t *testing.T) {
	tests := map[string]struct {
		ran    map[string]string
		failed int
		says   string
	}{
		"as known":                      {map[string]string{"Test": "fail", "Test/it_works": "pass", "Test/no_stock": "fail"}, 0, "1 of 2 cases pass"},
		"another fails":                 {map[string]string{"Test/it_works": "fail", "Test/no_stock": "fail"}, 1, "FAILED: it works"},
		"what is known to fail passes":  {map[string]string{"Test/it_works": "pass", "Test/no_stock": "pass"}, 1, "it passes, and known.go has it fail"},
		"what is known is no case":      {map[string]string{"Test/it_works": "pass"}, 1, "no stock: known.go names it"},
		"a case that was skipped fails": {map[string]string{"Test/it_works": "skip", "Test/no_stock": "fail"}, 1, "FAILED: it works"},
		"no case ran":                   {map[string]string{"Test": "fail"}, 2, "Test did not run"},
	}
	for name, tt := range tests {
		var out bytes.Buffer
		r := &report{out: &out}
		r.suite("suite", tt.ran, "Test", map[string]string{"no stock": "it never ends"})
		if r.failed != tt.failed || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: %d failures, want %d and %q:\n%s", name, r.failed, tt.failed, tt.says, &out)
		}
	}
}

// TestWhatIsRecordedIsChecked has a request that no model is for, then a difference that is not named; those that are
// named are missing each time.
func TestWhatIsRecordedIsChecked(t *testing.T) {
	service := &botocore.Service{Name: "sqs", Operations: map[string]botocore.Operation{}}
	service.Metadata.TargetPrefix = "AmazonSQS"
	models := botocore.Models{"sqs": service}
	for target, want := range map[string]int{"Other.Call": -1, "AmazonSQS.Call": 1 + len(wireDiffers())} {
		dir := t.TempDir()
		text, err := json.Marshal(botocore.Exchange{Target: target, Request: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "1.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &report{out: &bytes.Buffer{}}
		calls, err := r.wire(models, dir)
		if want < 0 && err == nil || want >= 0 && (err != nil || r.failed != want || calls["sqs Call"] != 1) {
			t.Errorf("%s: %d failures, calls %v, %v; want %d failures", target, r.failed, calls, err, want)
		}
	}
}
