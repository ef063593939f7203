package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
)

// inWest wants a zone, which names its region.
const inWest = `
apiVersion: v1
kind: Pod
metadata: {name: west}
spec:
  nodeSelector: {type: karpenter, topology.kubernetes.io/zone: us-west-2a}
  containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]
`

// TestTheRegionIsTheFlagsOrTheFilesOrTheEnvironments looks at which region is planned for, and what is said to have named
// it.
func TestTheRegionIsTheFlagsOrTheFilesOrTheEnvironments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		environment, stdin string
		args               []string
		want               string
	}{
		"nothing names one":                        {"", "", nil, "list prices of us-east-1 (default; --region or AWS_REGION names another), and a subnet in each of its zones"},
		"the environment":                          {"eu-central-1", "", nil, "list prices of eu-central-1 (AWS_REGION), and a subnet in each of its zones"},
		"a flag comes before the environment":      {"eu-central-1", "", []string{"--region", "eu-west-1"}, "list prices of eu-west-1 (--region), and a subnet in each of its zones"},
		"zones name theirs":                        {"eu-central-1", "", []string{"--zones", "eu-west-1a"}, "list prices of eu-west-1 (--zones)"},
		"so do files":                              {"eu-central-1", inWest, nil, "list prices of us-west-2 (named by the files), and a subnet in each of its zones"},
		"zones do where the environment's is none": {"local", "", []string{"--zones", "eu-west-1a"}, "list prices of eu-west-1 (--zones)"},
		"so do files then":                         {"local", inWest, nil, "list prices of us-west-2 (named by the files), and a subnet in each of its zones"},
		"so does a flag then":                      {"local", "", []string{"--region", "eu-west-1"}, "list prices of eu-west-1 (--region), and a subnet in each of its zones"},
		"a flag comes before the files":            {"", inWest, []string{"--region", "eu-west-1"}, "list prices of eu-west-1 (--region), and a subnet in each of its zones"},
		"a region of China":                        {"", "", []string{"--region", "cn-north-1"}, "list prices of cn-north-1 (--region), in yuan (CNY), and a subnet in each of its zones"},
		"a region without a catalogue":             {"", "", []string{"--region", "ap-east-2"}, "instance types and list prices of us-east-1 stand for those of ap-east-2, in each of ap-east-2a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := story(inflate+"inflate-5.yaml", append(tt.args, "--advice=0")...)
			if tt.stdin != "" {
				args = append(args, "-f", "-")
			}
			r := runIn(t, tt.environment, tt.stdin, args...)
			if !strings.Contains(r.out, "  assumed      "+tt.want) {
				t.Errorf("said %q, printed\n%s\nwant %q assumed", r.err, r.out, tt.want)
			}
		})
	}
}

// TestChinaIsBilledInYuan looks at all that has a price: totals, tables, and what the planner words.
func TestChinaIsBilledInYuan(t *testing.T) {
	t.Parallel()
	args := story(inflate+"inflate-5.yaml", "--region", "cn-north-1")
	for _, more := range [][]string{nil, {"--with", inflate + "nodepool.yaml"}} {
		r := run(t, "", append(args, more...)...)
		if r.code != cli.ExitOK || strings.Contains(r.out, "$") || !strings.Contains(r.out, "¥") {
			t.Errorf("%v: exit code %d, said %q, printed\n%s", more, r.code, r.err, r.out)
		}
	}
	if r := run(t, "", story(inflate+"inflate-5.yaml", "--region", "us-gov-west-1", "--advice=0")...); strings.Contains(r.out, "¥") {
		t.Errorf("printed\n%s", r.out)
	}
}

func TestRegionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		environment string
		args        []string
		want        string
	}{
		"a slip":                  {"", []string{"--region", "eu-wst-1"}, "--region eu-wst-1: no region of AWS; did you mean eu-west-1"},
		"one of the environment":  {"local", nil, "AWS_REGION local: no region of AWS"},
		"it, and no zone either":  {"local", []string{"--zones", "a"}, "--zones: AWS_REGION local: no region of AWS"},
		"zones of another region": {"", []string{"--region", "eu-west-1", "--zones", "us-east-1a"}, "--region eu-west-1 and --zones: zone us-east-1a: the catalogue of eu-west-1 has eu-west-1a"},
		"a region as a zone":      {"", []string{"--zones", "eu-west-1"}, "--region eu-west-1 means all of its zones"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runIn(t, tt.environment, "", story(inflate+"inflate-5.yaml", tt.args...)...)
			if r.code != cli.ExitError || r.out != "" || !strings.Contains(r.err, tt.want) {
				t.Errorf("exit code %d, printed %q, said %q, want %q", r.code, r.out, r.err, tt.want)
			}
		})
	}
}

// TestARegionDoesNothingWherePricesAreThere: a live cluster and a saved one have the prices of their own.
func TestARegionDoesNothingWherePricesAreThere(t *testing.T) {
	t.Parallel()
	r := run(t, `{"cluster": "kind"}`, "plan", "-f", "-", "--region", "eu-west-1")
	if r.code != cli.ExitOK || !strings.Contains(r.err, "--region eu-west-1 has no effect") {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
	if r = run(t, "", "plan", "--watcher", "127.0.0.1:7600", "--region", "eu-west-1"); r.code != cli.ExitError || !strings.Contains(r.err, "--watcher and --region") {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
}

// runIn is run where AWS_REGION is set.
func runIn(t *testing.T, region, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), args, cli.IO{
		In: strings.NewReader(stdin), Out: &out, Err: &errs, Now: present,
		Getenv: func(name string) string { return map[string]string{"AWS_REGION": region}[name] },
	})
	return result{code, out.String(), errs.String()}
}
