package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThePolicyAllowsWhatTheActuatorCalls holds the policy of the template against the table of docs/operations.md.
func TestThePolicyAllowsWhatTheActuatorCalls(t *testing.T) {
	page := read(t, "docs/operations.md")
	var want []string
	for _, row := range regexp.MustCompile(`(?m)^\| (EC2|SQS|SSM|IAM|EKS|Pricing) \| (.*) \|$`).FindAllStringSubmatch(page, -1) {
		for _, call := range regexp.MustCompile(`[A-Z][A-Za-z]+`).FindAllString(row[2], -1) {
			want = append(want, strings.ToLower(row[1])+":"+call)
		}
	}
	var policy struct{ Statement []struct{ Action any } }
	if err := json.Unmarshal([]byte(document(t, "ActuatorPolicy")), &policy); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range policy.Statement {
		switch action := s.Action.(type) {
		case string:
			got = append(got, action)
		case []any:
			for _, a := range action {
				got = append(got, a.(string))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
		t.Errorf("docs/operations.md against the policy (-docs +policy):\n%s", diff)
	}
	if !json.Valid([]byte(document(t, "ActuatorWebIdentityRole"))) {
		t.Error("the trust of IRSA is no JSON")
	}
}

// document is the JSON text within one of the template's resources.
func document(t *testing.T, resource string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, "deploy/aws/cloudformation.yaml"), "\n  "+resource+":\n")
	if !ok {
		t.Fatalf("no resource %s", resource)
	}
	_, text, _ = strings.Cut(text, "!Sub |\n")
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "        ") {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
