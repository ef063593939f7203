package stack

import (
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the documents into deploy/aws/cloudformation.yaml")

var root = filepath.Join("..", "..")

// TestThePoliciesAllowWhatTheCodeCalls reads the calls off the code: each has an input of its own.
func TestThePoliciesAllowWhatTheCodeCalls(t *testing.T) {
	calls := calls(t, "services/actuator")
	if len(calls) < 20 {
		t.Fatalf("found only %v", calls)
	}
	otherwise := map[string]string{"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
	implied := map[string][]string{
		"iam:CreateInstanceProfile": {"iam:TagInstanceProfile"}, "iam:AddRoleToInstanceProfile": {"iam:PassRole"},
	}
	// What kerf catalog fetch alone asks for, it asks with the rights of the user who calls it.
	const ofUsers = "ec2:DescribeAvailabilityZones"
	if !slices.Contains(calls, ofUsers) {
		t.Errorf("nothing calls %s any more: it need not be left out here", ofUsers)
	}
	var want []string
	for _, call := range calls {
		if call == ofUsers {
			continue
		}
		if name, ok := otherwise[call]; ok {
			call = name
		}
		want = append(append(want, call), implied[call]...)
	}
	slices.Sort(want)
	if diff := gocmp.Diff(slices.Compact(want), actions(t, "actuator")); diff != "" {
		t.Errorf("what the code calls against policies/actuator.json (-calls +policy):\n%s", diff)
	}
}

// TestTheDocsNameTheRights compares the table of docs/operations.md with the policies.
func TestTheDocsNameTheRights(t *testing.T) {
	page := read(t, "docs/operations.md")
	var told []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][\w ]+) \| (.*) \|$`).FindAllStringSubmatch(section(page, "## Rights"), -1) {
		for _, call := range regexp.MustCompile(`[A-Z]\w+`).FindAllString(row[2], -1) {
			told = append(told, strings.ReplaceAll(strings.ToLower(row[1]), " ", "-")+":"+call)
		}
	}
	want := slices.Concat(actions(t, "actuator"), actions(t, "volumes"))
	slices.Sort(told)
	slices.Sort(want)
	if diff := gocmp.Diff(want, told); diff != "" {
		t.Errorf("the policies against docs/operations.md (-policies +docs):\n%s", diff)
	}
}

// TestChangesAreScoped holds that what changes something is bound to what is the cluster's own, or has no tags to tell by.
func TestChangesAreScoped(t *testing.T) {
	without := []string{"LaunchWithWhatIsThere", "Queue", "NodesRole"} // what has no tags, the one queue, the one role
	for _, s := range statements(t, "actuator") {
		for _, action := range s.Action {
			service, verb, _ := strings.Cut(action, ":")
			if !regexp.MustCompile(`^(Describe|Get|List)`).MatchString(verb) && !slices.Contains(without, s.Sid) && !s.own() {
				t.Errorf("%s allows %s on what is not the cluster's", s.Sid, action)
			}
			if service == "ec2" && !s.regional() {
				t.Errorf("%s allows %s in all regions", s.Sid, action)
			}
		}
	}
}

// TestThePoliciesFitIntoIAM holds that a managed policy has at most 6,144 characters, blanks aside, whatever the
// cluster is called: the longest name that the stack and the module take, and where partitions and regions have long
// names.
func TestThePoliciesFitIntoIAM(t *testing.T) {
	const most, longest, longestQueue = 6144, 40, 80
	for partition, region := range map[string]string{"aws": "ap-southeast-2", "aws-cn": "cn-northwest-1", "aws-us-gov": "us-gov-west-1", "aws-iso-b": "us-isob-east-1"} {
		cluster := strings.Repeat("c", longest)
		names := map[string]string{
			"partition": partition, "region": region, "account": account, "cluster": cluster, "suffix": "amazonaws.com.cn",
			"queue":     "arn:" + partition + ":sqs:" + region + ":" + account + ":" + strings.Repeat("q", longestQueue),
			"noderole":  "arn:" + partition + ":iam::" + account + ":role/KerfNodeRole-" + cluster,
			"volumekey": "arn:" + partition + ":kms:" + region + ":" + account + ":key/" + strings.Repeat("k", 36),
		}
		for _, policy := range []string{"actuator", "volumes"} {
			text := os.Expand(read(t, "deploy/aws/policies/"+policy+".json"), func(name string) string { return names[name] })
			if n := len(strings.Join(strings.Fields(text), "")); n > most {
				t.Errorf("%s.json has %d characters in partition %s, and IAM takes %d", policy, n, partition, most)
			}
		}
	}
}

// TestNoTagsAreWrittenOnWhatIsAnotherClusters holds that a tag, which is what the other rights go by, can't be put on
// what another cluster has made: what a request says of its own tags does not tell whose the thing is. Names do not
// tell either: those of "prod-eu" begin like those of "prod".
func TestNoTagsAreWrittenOnWhatIsAnotherClusters(t *testing.T) {
	found := 0
	for _, s := range statements(t, "actuator") {
		for _, action := range s.Action {
			if _, verb, _ := strings.Cut(action, ":"); !regexp.MustCompile(`^(Create)?Tag`).MatchString(verb) {
				continue
			}
			found++
			onlyNew := len(s.Condition["StringEquals"]["ec2:CreateAction"]) > 0
			onlyOwn := slices.Equal(s.Condition["StringEquals"]["aws:ResourceTag/kubernetes.io/cluster/${cluster}"], list{"owned"})
			// What is made with its tags may have none when IAM looks.
			notOthers := slices.Equal(s.Condition["StringEqualsIfExists"]["aws:ResourceTag/eks:eks-cluster-name"], list{"${cluster}"})
			if !onlyNew && !onlyOwn && !notOthers {
				t.Errorf("%s allows %s on what another cluster has made", s.Sid, action)
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d statements that allow tags", found)
	}
}

// TestTheRulesSendWhatIsRead compares the events' types with those that the actuator knows.
func TestTheRulesSendWhatIsRead(t *testing.T) {
	var known, sent []string
	code := read(t, "services/actuator/interrupt/interrupt.go")
	for _, m := range regexp.MustCompile(`"((?:EC2|AWS) [A-Z][^"]+)"`).FindAllStringSubmatch(code, -1) {
		known = append(known, m[1])
	}
	for _, name := range []string{"interruptions", "maintenance"} {
		var pattern struct {
			Types []string `json:"detail-type"`
		}
		if err := json.Unmarshal([]byte(read(t, "deploy/aws/events/"+name+".json")), &pattern); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, pattern.Types...)
	}
	slices.Sort(known)
	slices.Sort(sent)
	if diff := gocmp.Diff(slices.Compact(known), sent); diff != "" {
		t.Errorf("(-known +sent):\n%s", diff)
	}
}

func TestBothFormsMakeTheSame(t *testing.T) {
	text := []byte(read(t, "deploy/aws/cloudformation.yaml"))
	for name, c := range map[string]Cluster{
		"plain": {Name: "c"},
		"all":   {Name: "c", Issuer: "oidc.example/id/1", Queue: "q", Key: "arn:aws:kms:eu-west-1:111122223333:key/k", SpotRole: true},
		"IRSA":  {Name: "c", Issuer: "oidc.example/id/1"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := CloudFormation(text, c)
			if err != nil {
				t.Fatal(err)
			}
			other, err := Terraform(filepath.Join(root, "deploy", "aws", "terraform"), c)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(one, other, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-CloudFormation +Terraform):\n%s", diff)
			}
			b, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "${") {
				t.Errorf("a name is left: %s", b)
			}
			if len(one.Roles) < 2 || len(one.Policies) < 1 || len(one.Queues) != 1 || len(one.Events) != 2 {
				t.Errorf("made only %s", b)
			}
			if got := len(one.Association) == 1; got != (c.Issuer == "") {
				t.Errorf("pods are associated with a role: %v; want that without IRSA, which gives way to it", got)
			}
		})
	}
}

// values are what the documents speak of, in CloudFormation's words.
var values = map[string]string{
	"partition": "!Ref AWS::Partition", "suffix": "!Ref AWS::URLSuffix", "region": "!Ref AWS::Region", "account": "!Ref AWS::AccountId",
	"cluster": "!Ref ClusterName", "issuer": "!Ref OIDCProvider", "volumekey": "!Ref VolumeKey",
	"queue": "!GetAtt Queue.Arn", "noderole": "!GetAtt NodeRole.Arn",
}

// TestCloudFormationHasTheDocuments compares them, and writes them with -update.
func TestCloudFormationHasTheDocuments(t *testing.T) {
	file := filepath.Join(root, "deploy", "aws", "cloudformation.yaml")
	var b strings.Builder
	inside := false
	var named []string
	document := ""
	for line := range strings.Lines(read(t, "deploy/aws/cloudformation.yaml")) {
		if inside && strings.HasPrefix(line, "        ") {
			continue
		}
		inside = false
		b.WriteString(line)
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "# from "); ok {
			document = name
		} else if document != "" {
			named = append(named, document)
			b.WriteString(embedded(t, read(t, "deploy/aws/"+document)))
			document, inside = "", true
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(read(t, "deploy/aws/cloudformation.yaml"), b.String()); diff != "" {
		t.Errorf("deploy/aws/cloudformation.yaml is stale: go test ./test/stack -update\n%s", diff)
	}
	var there []string
	for _, pattern := range []string{"policies/*.json", "events/*.json"} {
		files, err := fs.Glob(os.DirFS(filepath.Join(root, "deploy", "aws")), pattern)
		if err != nil {
			t.Fatal(err)
		}
		there = append(there, files...)
	}
	slices.Sort(named)
	slices.Sort(there)
	if diff := gocmp.Diff(there, named); diff != "" {
		t.Errorf("documents (-files +template):\n%s", diff)
	}
}

// embedded is a document as a property's value: text where it speaks of what differs, since CloudFormation takes no
// expression as a key.
func embedded(t *testing.T, document string) string {
	t.Helper()
	names := regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(document, -1)
	const indent = "        "
	if len(names) == 0 {
		return indented(document, indent)
	}
	out := indent + "Fn::Sub:\n" + indent + "  - |\n" + indented(document, indent+"    ")
	var lines []string
	for _, n := range names {
		if values[n[1]] == "" {
			t.Fatalf("${%s} has no value", n[1])
		}
		lines = append(lines, n[1]+": "+values[n[1]]+"\n")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	return out + indent + "  - " + strings.Join(lines, indent+"    ")
}

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}

// calls are what the code below the folder asks of AWS, as IAM names it: all names of inputs of the SDK's packages.
func calls(t *testing.T, under string) []string {
	t.Helper()
	const sdk = "github.com/aws/aws-sdk-go-v2/service/"
	var out []string
	dir := filepath.Join(root, under)
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		services := map[string]string{}
		for _, i := range f.Imports {
			service, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), sdk)
			name := path.Base(service)
			if i.Name != nil {
				name = i.Name.Name
			}
			if ok && !strings.Contains(service, "/") {
				services[name] = cmp.Or(map[string]string{"arczonalshift": "arc-zonal-shift"}[service], service)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				x, _ := s.X.(*ast.Ident)
				call, input := strings.CutSuffix(s.Sel.Name, "Input")
				if input && x != nil && services[x.Name] != "" {
					out = append(out, services[x.Name]+":"+call)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type statement struct {
	Sid       string
	Action    list
	Resource  list
	Condition map[string]map[string]list
}

// own says that the statement is about what has the cluster's tag, or gets it.
func (s statement) own() bool {
	tags := s.Condition["StringEquals"]
	for _, of := range []string{"aws:RequestTag/", "aws:ResourceTag/"} {
		if slices.Equal(tags[of+"kubernetes.io/cluster/${cluster}"], list{"owned"}) {
			return true
		}
	}
	return false
}

func (s statement) regional() bool {
	if slices.Equal(s.Condition["StringEquals"]["aws:RequestedRegion"], list{"${region}"}) {
		return true
	}
	return !slices.ContainsFunc(s.Resource, func(r string) bool { return !strings.HasPrefix(r, "arn:${partition}:ec2:${region}:") })
}

// list is one, or several.
type list []string

func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

func statements(t *testing.T, policy string) []statement {
	t.Helper()
	var out struct{ Statement []statement }
	if err := json.Unmarshal([]byte(read(t, "deploy/aws/policies/"+policy+".json")), &out); err != nil {
		t.Fatal(err)
	}
	return out.Statement
}

// actions are what a policy allows.
func actions(t *testing.T, policy string) []string {
	t.Helper()
	var out []string
	for _, s := range statements(t, policy) {
		out = append(out, s.Action...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func section(page, title string) string {
	_, rest, _ := strings.Cut(page, "\n"+title+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
