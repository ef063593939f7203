package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/cli"
	"github.com/kerf-dev/kerf/services/kerf/internal/goldentest"
)

const (
	inflate = "../../../../deploy/examples/inflate/"
	v1beta1 = "../../../../deploy/examples/v1beta1/"
)

func present() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), args, cli.IO{
		In: strings.NewReader(stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" },
		Now: present,
	})
	return result{code, out.String(), errs.String()}
}

// story is the command line for some of the story's manifests.
func story(app string, more ...string) []string {
	return append([]string{"plan", "-f", inflate + "nodepool.yaml", "-f", inflate + "nodeclass.yaml", "-f", app}, more...)
}

// reviewable takes out what changes with every new catalogue: names that derive from the hash of the input.
func reviewable(s string) string {
	for _, r := range []struct{ from, to string }{
		{`"[0-9a-f]{64}"`, `"HASH"`},
		{`p-[0-9a-f]{16}`, `p-PLAN`},
		{`default-[0-9a-f]{10}`, `default-0123456789`},
		{`(?s),\s*"timings": \[.*?\]`, ``},
	} {
		s = regexp.MustCompile(r.from).ReplaceAllString(s, r.to)
	}
	return s
}

func TestPlanOfTheStory(t *testing.T) {
	t.Parallel()
	for _, app := range []string{"inflate-5", "inflate-12"} {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			table := run(t, "", story(inflate+app+".yaml", "--per-node-overhead", "0")...)
			asJSON := run(t, "", story(inflate+app+".yaml", "-o", "json", "--per-node-overhead", "0")...)
			for _, r := range []result{table, asJSON} {
				if r.code != cli.ExitOK || r.err != "" {
					t.Fatalf("exit code %d, said %q", r.code, r.err)
				}
			}
			goldentest.Check(t, app+".txt", reviewable(table.out))
			goldentest.Check(t, app+".json", reviewable(asJSON.out))
		})
	}
}

func TestPlanBuysWhatTheStoryTells(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		app  string
		want []int64 // prices of m5.large nodes
	}{
		"five pods run on one m5.large":   {"inflate-5.yaml", []int64{96_000}},
		"twelve pods run on two m5.large": {"inflate-12.yaml", []int64{96_000, 96_000}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, run(t, "", story(inflate+tt.app, "-o", "json", "--advice=0", "--per-node-overhead", "0")...))
			var got []int64
			for _, c := range p.GetNodeClaims() {
				if best := c.GetOfferings()[0]; best.GetInstanceType() != "m5.large" {
					t.Errorf("buys a %s", best.GetInstanceType())
				}
				if c.GetReason().GetMessage() == "" || len(c.GetRunnersUp()) == 0 {
					t.Errorf("%s has no reason or no runner-up", c.GetId())
				}
				got = append(got, c.GetPriceMicroUsdPerHour())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("prices %v, want %v", got, tt.want)
			}
		})
	}
}

// plan reads -o json as the contract has it.
func plan(t *testing.T, r result) *plannerpb.Plan {
	t.Helper()
	var resp plannerpb.PlanResponse
	if err := protojson.Unmarshal([]byte(r.out), &resp); err != nil {
		t.Fatalf("not a PlanResponse: %v; said %q", err, r.err)
	}
	return resp.GetPlan()
}

func TestOldFormsGiveTheSamePlan(t *testing.T) {
	t.Parallel()
	old := run(t, "", "plan", "-f", v1beta1, "--advice=0")
	today := run(t, "", story(inflate+"inflate-5.yaml", "--advice=0")...)
	if old.code != cli.ExitOK || reviewable(old.out) != reviewable(today.out) {
		t.Errorf("exit code %d, got\n%s\nwant\n%s", old.code, old.out, today.out)
	}
	for _, want := range []string{"warning: ", "nodepool.yaml", "NodePool default", "karpenter.sh/v1beta1"} {
		if !strings.Contains(old.err, want) {
			t.Errorf("warnings %q, without %q", old.err, want)
		}
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	args := story(inflate+"inflate-12.yaml", "-o", "json", "--advice=5")
	first, second := run(t, "", args...), run(t, "", args...)
	timings := regexp.MustCompile(`(?s),\s*"timings": \[.*?\]`)
	if timings.ReplaceAllString(first.out, "") != timings.ReplaceAllString(second.out, "") {
		t.Errorf("got\n%s\nand\n%s", first.out, second.out)
	}
}

// TestDefaultsAreTheSameInAFile compares a command line without flags with a policy that leaves all out.
func TestDefaultsAreTheSameInAFile(t *testing.T) {
	t.Parallel()
	args := story(inflate+"inflate-12.yaml", "-o", "json", "--advice=0")
	bare, file := run(t, "", args...), run(t, "{\"work\": null}", append(args, "--policy=-")...)
	hash := regexp.MustCompile(`"inputHash": *"[0-9a-f]{64}"`)
	if a, b := hash.FindString(bare.out), hash.FindString(file.out); a == "" || a != b {
		t.Errorf("%q and %q, said %q", a, b, file.err)
	}
}

const huge = `
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  nodeSelector: {type: karpenter}
  containers: [{name: a, image: a, resources: {requests: {cpu: "64"}}}]
`

func TestPlanSaysWhatStaysPending(t *testing.T) {
	t.Parallel()
	r := run(t, huge, story(inflate+"inflate-5.yaml", "-f", "-")...)
	if r.code != cli.ExitPending || r.err != "" {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
	goldentest.Check(t, "pending.txt", reviewable(r.out))

	r = run(t, huge, story(inflate+"inflate-5.yaml", "-f", "-", "--explain", "pod/huge")...)
	if r.code != cli.ExitPending || strings.Contains(r.out, "inflate") || !strings.Contains(r.out, "pod/default/huge") {
		t.Errorf("exit code %d, explained %q", r.code, r.out)
	}
}

func TestPlanTakesZonesAndTime(t *testing.T) {
	t.Parallel()
	p := plan(t, run(t, "", story(inflate+"inflate-5.yaml", "-o", "json", "--advice=0", "--zones", "us-east-1c", "--now", "2027-01-01T00:00:00Z")...))
	for _, o := range p.GetNodeClaims()[0].GetOfferings() {
		if o.GetZone() != "us-east-1c" {
			t.Errorf("offers %v", o)
		}
	}
	if got := p.GetNow().AsTime().Format(time.RFC3339); got != "2027-01-01T00:00:00Z" {
		t.Errorf("planned for %s", got)
	}
}

// TestReservedInterfacesHaveNoPods: an m5.large has three interfaces for nine pods each, of this region and of another.
func TestReservedInterfacesHaveNoPods(t *testing.T) {
	t.Parallel()
	for zone, args := range map[string][]string{"us-east-1a": nil, "eu-west-1a": nil, "us-east-1b": {"--reserved-enis", "1"}, "eu-west-1b": {"--reserved-enis", "1"}} {
		pods := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: small}\nspec:\n  replicas: 25\n  selector: {matchLabels: {a: b}}\n  template:\n" +
			"    metadata: {labels: {a: b}}\n    spec:\n      nodeSelector: {node.kubernetes.io/instance-type: m5.large, topology.kubernetes.io/zone: " + zone +
			"}\n      containers: [{name: c, image: x, resources: {requests: {cpu: 10m, memory: 10Mi}}}]\n"
		p := plan(t, run(t, pods, story("-", append(args, "-o", "json", "--advice=0")...)...))
		if got, want := len(p.GetNodeClaims()), 1+len(args)/2; got != want {
			t.Errorf("%s, %v: %d nodes, want %d", zone, args, got, want)
		}
	}
}

// TestPolicyWordsReachThePlanner looks at what each word changes: the hash of the input where nothing else shows.
func TestPolicyWordsReachThePlanner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spread := filepath.Join(dir, "scheduler.yaml")
	if err := os.WriteFile(spread, []byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(more ...string) *plannerpb.Plan {
		more = append([]string{"-o", "json", "--advice=0"}, more...)
		return plan(t, run(t, "", story(inflate+"inflate-5.yaml", more...)...))
	}
	usual := ask()
	for _, words := range []string{
		"--preferences=ignored", "--preferences=enforced", "--min-values=best-effort", "--work=0", "--work=1000", "--gap-target=0.5",
		"--default-spread=system", "--default-spread=" + spread, "--min-saving=0.01",
	} {
		if ask(words).GetInputHash() == usual.GetInputHash() {
			t.Errorf("%s changes nothing", words)
		}
	}
	if n := len(ask("--max-pods-of-workload-per-node=2").GetNodeClaims()); n != 3 {
		t.Errorf("five pods, two a node at most, on %d nodes", n)
	}
	if ask("--advice=0").GetInputHash() != usual.GetInputHash() {
		t.Error("the usual words change something")
	}
}

func TestAdviceComesBesideThePlan(t *testing.T) {
	t.Parallel()
	r := run(t, "", story(inflate+"inflate-5.yaml", "-o", "json", "--advice=1")...)
	var got struct {
		Plan   json.RawMessage
		Advice []struct{ Change, Subject, SavingMicroUsdPerHour string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Plan) == 0 || len(got.Advice) != 1 {
		t.Fatalf("advised %v, said %q: %v", got.Advice, r.err, err)
	}
	if a := got.Advice[0]; a.Change == "" || a.Subject != "nodepool/default" || strings.HasPrefix(a.SavingMicroUsdPerHour, "-") {
		t.Errorf("advised %v", a)
	}
	if none := run(t, "", story(inflate+"inflate-5.yaml", "--advice=0")...); strings.Contains(none.out, "ADVICE") {
		t.Errorf("advised although no one asked: %s", none.out)
	}
}

func TestFilesMayFollowOneAnother(t *testing.T) {
	t.Parallel()
	r := run(t, "", "plan", "--advice=0", "-f", inflate+"nodepool.yaml", inflate+"nodeclass.yaml", inflate+"inflate-5.yaml")
	if r.code != cli.ExitOK {
		t.Errorf("exit code %d, said %q", r.code, r.err)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool, err := os.ReadFile(inflate + "nodepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	class := inflate + "nodeclass.yaml"
	torn := write("torn.yaml", "kind: [Pod\n")
	unknown := write("unknown.yaml", strings.Replace(string(pool), "limits:", "limit:", 1))
	impossible := write("impossible.yaml", strings.Replace(string(pool), `values: ["on-demand"]`, `values: ["on-credit"]`, 1))
	empty := write("empty.yaml", "\n")
	selected := write("selected.yaml", "- {topologyKey: a, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}")
	skewed := write("skewed.yaml", `
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{topologyKey: a}]}}]}]
`)
	stale := write("stale.json", `{"revision": "1", "nodes": [{"name": ""}], "podClasses": [{"id": ""}]}`)
	tests := map[string]struct {
		args []string
		want []string
	}{
		"no file at all":                {[]string{"plan"}, []string{"-f"}},
		"an argument without -f":        {[]string{"plan", class}, []string{"nodeclass.yaml", "-f"}},
		"a file that is not there":      {[]string{"plan", "-f", "none.yaml"}, []string{"none.yaml"}},
		"an unparsable manifest":        {[]string{"plan", "-f", torn}, []string{"torn.yaml"}},
		"an unknown field":              {[]string{"plan", "--strict", "-f", unknown, "-f", class}, []string{"unknown.yaml", "NodePool default", "spec.limit", "did you mean limits?"}},
		"an impossible requirement":     {[]string{"plan", "-f", impossible, "-f", class}, []string{"impossible.yaml", "NodePool default", "spec.template.spec.requirements[0].values"}},
		"an empty file":                 {[]string{"plan", "-f", empty}, []string{"empty.yaml", "empty"}},
		"a directory without manifests": {[]string{"plan", "-f", sub}, []string{"sub", "no manifests"}},
		"a snapshot that contradicts":   {[]string{"plan", "-f", stale}, []string{"stale.json", "node", "without an id"}},
		"a time that is none":           {story(inflate+"inflate-5.yaml", "--now", "tomorrow"), []string{"--now", "tomorrow"}},
		"a zone of nowhere":             {story(inflate+"inflate-5.yaml", "--zones", "mars-1a"), []string{"--zones", "mars-1a", "us-east-1a"}},
		"a catalogue that is none":      {story(inflate+"inflate-5.yaml", "--catalog", torn), []string{"--catalog", "torn.yaml"}},
		"preferences that are none":     {story(inflate+"inflate-5.yaml", "--preferences", "some"), []string{"--preferences", "some", "priced, ignored, enforced"}},
		"minValues that are none":       {story(inflate+"inflate-5.yaml", "--min-values", "lax"), []string{"--min-values", "lax", "strict, best-effort"}},
		"negative work":                 {story(inflate+"inflate-5.yaml", "--work", "-2"), []string{"--work -2", "negative"}},
		"a gap above all":               {story(inflate+"inflate-5.yaml", "--gap-target", "3"), []string{"--gap-target 3", "0 to 1"}},
		"a negative cap":                {story(inflate+"inflate-5.yaml", "--max-pods-of-workload-per-node", "-1"), []string{"--max-pods-of-workload-per-node -1"}},
		"an overhead that is no money":  {story(inflate+"inflate-5.yaml", "--per-node-overhead", "much"), []string{"--per-node-overhead", "much", "0.005"}},
		"a saving that is negative":     {story(inflate+"inflate-5.yaml", "--min-saving", "-1"), []string{"--min-saving", "-1"}},
		"a spread of something else":    {story(inflate+"inflate-5.yaml", "--default-spread", class), []string{"--default-spread", "EC2NodeClass", "KubeSchedulerConfiguration"}},
		"a spread with a selector":      {story(inflate+"inflate-5.yaml", "--default-spread", selected), []string{"selected.yaml", "[0].labelSelector"}},
		"a spread without a skew":       {story(inflate+"inflate-5.yaml", "--default-spread", skewed), []string{"skewed.yaml", "args.defaultConstraints[0].maxSkew"}},
		"a policy that is a manifest":   {story(inflate+"inflate-5.yaml", "--policy", class), []string{"--policy", "nodeclass.yaml", "not manifests"}},
		"a policy with a wrong word":    {story(inflate+"inflate-5.yaml", "--policy", stale), []string{"--policy", "stale.json"}},
		"negative advice":               {story(inflate+"inflate-5.yaml", "--advice", "-1"), []string{"--advice -1"}},
		"a format that is none":         {story(inflate+"inflate-5.yaml", "-o", "toml"), []string{"toml", "table or json or yaml"}},
		"an explanation of nothing":     {story(inflate+"inflate-5.yaml", "--explain", "pod/other"), []string{"pod/other"}},
		"a flag that is none":           {[]string{"plan", "--fast"}, []string{"--fast", "kerf plan --help"}},
		"a flag that is nearly one":     {[]string{"plan", "--zone", "a"}, []string{"--zone (did you mean --zones?)"}},
		"a flag that wants a number":    {[]string{"plan", "--advice", "many"}, []string{`--advice "many": want a number`}},
		"a flag that wants a duration":  {[]string{"shadow", "--for", "1d"}, []string{`--for "1d": want a duration such as`}},
		"a command that is none":        {[]string{"pln"}, []string{"pln", "did you mean plan?"}},
		"a command unlike any":          {[]string{"get"}, []string{"get", "kerf --help"}},
		"a shadow without a cluster":    {[]string{"shadow", "--kubeconfig", "/no/such/file"}, []string{"/no/such/file", "--kubeconfig"}},
		"a shadow without a pause":      {[]string{"shadow", "--interval", "0s"}, []string{"--interval 0s", "1s"}},
		"a namespace that is none":      {[]string{"certs", "--dir", "/no/such/folder", "-n", "Bad_NS"}, []string{`--namespace "Bad_NS": want a namespace's name`}},
		"a shadow backwards":            {[]string{"shadow", "--for", "-1h"}, []string{"--for -1h", "24h"}},
		"a shadow once and for long":    {[]string{"shadow", "--once", "--for", "1h"}, []string{"--once and --for"}},
		"a shadow that acts":            {[]string{"shadow", "--actuator", "127.0.0.1:7402"}, []string{"unknown flag", "--actuator"}},
		"a shadow of files":             {[]string{"shadow", "pool.yaml"}, []string{"pool.yaml"}},
		"converting nothing":            {[]string{"convert"}, []string{"-f"}},
		"converting what is wrong":      {[]string{"convert", "--strict", "-f", unknown}, []string{"unknown.yaml", "spec.limit"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", tt.args...)
			if r.code != cli.ExitError || r.out != "" {
				t.Errorf("exit code %d, printed %q", r.code, r.out)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("said %q, without %q", r.err, want)
				}
			}
		})
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	r := run(t, "", "convert", "-f", v1beta1)
	if r.code != cli.ExitOK {
		t.Fatalf("exit code %d, said %q", r.code, r.err)
	}
	goldentest.Check(t, "convert.yaml", r.out)
	goldentest.Check(t, "convert-warnings.txt", strings.ReplaceAll(r.err, v1beta1, ""))

	again := run(t, r.out, "convert", "-f", "-")
	if again.code != cli.ExitOK || again.err != "" || again.out != r.out {
		t.Errorf("what convert prints is not in its present form: %q\n%s", again.err, again.out)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if r := run(t, "", "version"); r.code != cli.ExitOK || !strings.HasPrefix(r.out, "kerf ") {
		t.Errorf("exit code %d, printed %q", r.code, r.out)
	}
	r := run(t, "", "version", "-o", "json")
	var v struct{ Version, Go string }
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v.Version == "" || v.Go == "" {
		t.Errorf("printed %q: %v", r.out, err)
	}
}

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	t.Parallel()
	two := run(t, "", story(inflate+"inflate-5.yaml", "--zones", "us-east-1a", "--output", "json")...)
	one := run(t, "", story(inflate+"inflate-5.yaml", "-zones=us-east-1a", "-output", "json")...)
	if one.code != cli.ExitOK || reviewable(one.out) != reviewable(two.out) {
		t.Errorf("with one dash: exit code %d, said %q, printed %d bytes; with two %d", one.code, one.err, len(one.out), len(two.out))
	}
	if got := run(t, "", "plan", "-f", "-", "--", "-zones"); got.code != cli.ExitError || !strings.Contains(got.err, "-zones") {
		t.Errorf("what follows -- was taken for a flag: %q", got.err)
	}
}

// TestFilesMayStandInAList as with kubectl, and as with --with.
func TestFilesMayStandInAList(t *testing.T) {
	t.Parallel()
	each := run(t, "", story(inflate+"inflate-5.yaml", "--advice=0")...)
	list := run(t, "", "plan", "-f", inflate+"nodepool.yaml,"+inflate+"nodeclass.yaml,"+inflate+"inflate-5.yaml", "--advice=0")
	if list.code != cli.ExitOK || list.out != each.out {
		t.Errorf("exit code %d, said %q", list.code, list.err)
	}
}

func TestYAMLSaysWhatJSONDoes(t *testing.T) {
	t.Parallel()
	args := story(inflate+"inflate-5.yaml", "--advice=1", "-o")
	asJSON, asYAML := run(t, "", append(args, "json")...), run(t, "", append(args, "yaml")...)
	back, err := yaml.YAMLToJSON([]byte(asYAML.out))
	if err != nil {
		t.Fatal(err)
	}
	var one, other any
	if json.Unmarshal([]byte(asJSON.out), &one) != nil || json.Unmarshal(back, &other) != nil {
		t.Fatalf("neither is JSON: %s", asJSON.err+asYAML.err)
	}
	timeless := func(v any) any { delete(v.(map[string]any)["plan"].(map[string]any), "timings"); return v }
	if diff := cmp.Diff(timeless(one), timeless(other)); diff != "" {
		t.Errorf("(-json +yaml):\n%s", diff)
	}
	if r := run(t, "", "version", "-o", "yaml"); !strings.HasPrefix(r.out, "---\ngo: ") {
		t.Errorf("version: %q", r.out)
	}
}

// TestTheSameFilesGiveTheSamePlan at whatever time, claim names included.
func TestTheSameFilesGiveTheSamePlan(t *testing.T) {
	t.Parallel()
	at := func(now time.Time) string {
		var out, errs bytes.Buffer
		args := story(inflate+"inflate-12.yaml", "--advice=0")
		if code := cli.Main(t.Context(), args, cli.IO{Out: &out, Err: &errs, Now: func() time.Time { return now }}); code != cli.ExitOK {
			t.Fatalf("exit code %d, said %q", code, errs.String())
		}
		return out.String()
	}
	if diff := cmp.Diff(at(present()), at(present().Add(1000*time.Hour))); diff != "" {
		t.Errorf("(-now +later):\n%s", diff)
	}
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"the version as a flag": {[]string{"--version"}, "kerf "},
		"a shell's script":      {[]string{"completion", "bash"}, "bash completion"},
		"the shells":            {[]string{"completion"}, "zsh"},
		"formats":               {[]string{"__complete", "plan", "-o", ""}, "table\njson\nyaml\n"},
		"zones":                 {[]string{"__complete", "plan", "--zones", ""}, "us-east-1a\n"},
		"preferences":           {[]string{"__complete", "plan", "--preferences", ""}, "priced\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := run(t, "", tt.args...); r.code != cli.ExitOK || !strings.Contains(r.out, tt.want) {
				t.Errorf("exit code %d, printed %q, said %q", r.code, r.out, r.err)
			}
		})
	}
}

func TestAShellThatIsNotKnownIsAnError(t *testing.T) {
	t.Parallel()
	if r := run(t, "", "completion", "tcsh"); r.code != cli.ExitError || r.out != "" || !strings.Contains(r.err, `unknown command "tcsh" for "kerf completion"`) {
		t.Errorf("exit code %d, printed %q, said %q", r.code, r.out, r.err)
	}
}

func TestWhatIsNoCommandOrArgumentIsAnError(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`unknown command "plna" for "kerf"; did you mean plan?`:      {"help", "plna"},
		`unknown command "nope" for "kerf catalog"; see kerf --help`: {"help", "catalog", "nope"},
		`unexpected argument "extra"; see kerf certs --help`:         {"certs", "--dir", "x", "extra"},
		`unexpected argument "default"; see kerf claims --help`:      {"claims", "default"},
		`unexpected argument "live.pb"; see kerf snapshot --help`:    {"snapshot", "live.pb"},
		`unexpected argument "json"; see kerf version --help`:        {"version", "json"},
	} {
		if r := run(t, "", args...); r.code != cli.ExitError || r.out != "" || r.err != "kerf: "+want+"\n" {
			t.Errorf("%v: exit code %d, printed %q, said %q", args, r.code, r.out, r.err)
		}
	}
	if r := run(t, "", "help", "plan"); r.code != cli.ExitOK || !strings.HasPrefix(r.out, "Plan reads Kubernetes manifests") {
		t.Errorf("help plan: exit code %d, printed %q", r.code, r.out)
	}
}

// TestAdviceTakesNoLongerThanItMay: the clock goes on by a second whenever it is looked at, also in the middle of a plan.
func TestAdviceTakesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	for within, want := range map[string]string{"5s": "advice was looked for until 5s had passed, with 1 change tried", "1s": "until 1s had passed", "0s": ""} {
		t.Run(within, func(t *testing.T) {
			t.Parallel()
			now := present()
			var out, errs bytes.Buffer
			cli.Main(t.Context(), story(inflate+"inflate-5.yaml", "-o", "json", "--advice-time", within), cli.IO{Out: &out, Err: &errs, Now: func() time.Time {
				now = now.Add(time.Second)
				return now
			}})
			if said := errs.String(); (want == "") != (said == "") || !strings.Contains(said, want) || strings.Contains(out.String(), "warnings") != (want != "") {
				t.Errorf("said %q, want %q", said, want)
			}
		})
	}
}

func TestAnInterruptEndsCleanly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	looks := 0
	code := cli.Main(ctx, story(inflate+"inflate-12.yaml"), cli.IO{Out: &out, Err: &errs, Now: func() time.Time {
		if looks++; looks == 4 { // while advice is looked for
			cancel()
		}
		return present()
	}})
	if code != cli.ExitInterrupted || !strings.Contains(out.String(), "SUMMARY") || strings.Contains(out.String(), "ADVICE") ||
		errs.String() != "kerf: interrupted while looking for advice: the plan itself is whole\n" {
		t.Errorf("exit code %d, printed %q, said %q", code, out.String(), errs.String())
	}
}

// silent never has anything to read, as a terminal at which no one types.
type silent struct{ asked func() }

func (s silent) Read([]byte) (int, error) {
	s.asked()
	select {}
}

func TestAnInterruptEndsTheWaitForInput(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"manifests":       {"plan", "-f", "-"},
		"a preview":       story(inflate+"inflate-5.yaml", "--with", "-"),
		"a policy":        story(inflate+"inflate-5.yaml", "--policy", "-"),
		"a spread":        story(inflate+"inflate-5.yaml", "--default-spread", "-"),
		"old manifests":   {"convert", "-f", "-"},
		"of a shadow's":   {"shadow", "--once", "--policy", "-"},
		"beside a folder": {"plan", "-f", inflate, "-f", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var out, errs bytes.Buffer
			code := cli.Main(ctx, args, cli.IO{In: silent{cancel}, Out: &out, Err: &errs, Now: present})
			if code != cli.ExitInterrupted || out.Len() > 0 || !strings.HasSuffix(errs.String(), "kerf: interrupted\n") {
				t.Errorf("exit code %d, printed %q, said %q", code, out.String(), errs.String())
			}
		})
	}
}
