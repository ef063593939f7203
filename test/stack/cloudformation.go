package stack

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is CloudFormation's form.
type template struct {
	Parameters map[string]yaml.Node `yaml:"Parameters"`
	Conditions map[string]yaml.Node `yaml:"Conditions"`
	Resources  map[string]resource  `yaml:"Resources"`

	values map[string]string // of parameters
}

type resource struct {
	Type       string    `yaml:"Type"`
	Condition  string    `yaml:"Condition"`
	Properties yaml.Node `yaml:"Properties"`
}

// CloudFormation works the template out for a cluster.
func CloudFormation(text []byte, c Cluster) (*Stack, error) {
	t := template{values: map[string]string{
		"ClusterName": c.Name, "OIDCProvider": c.Issuer, "QueueName": c.Queue, "VolumeKey": c.Key, "SpotRole": strconv.FormatBool(c.SpotRole),
		"AWS::Partition": partition, "AWS::URLSuffix": suffix, "AWS::Region": region, "AWS::AccountId": account,
	}}
	if err := yaml.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	for name := range t.Parameters {
		if _, ok := t.values[name]; !ok {
			return nil, fmt.Errorf("parameter %s is unknown to Terraform's form", name)
		}
	}
	out := newStack()
	for name, r := range t.Resources {
		if r.Condition != "" && !t.holds(r.Condition) {
			continue
		}
		p, ok := t.eval(&r.Properties).(map[string]any)
		if !ok {
			return nil, fmt.Errorf("resource %s has no properties", name)
		}
		if err := out.addCloudFormation(r.Type, p); err != nil {
			return nil, fmt.Errorf("resource %s: %w", name, err)
		}
	}
	return out.sorted(), nil
}

func (s *Stack) addCloudFormation(kind string, p map[string]any) (err error) {
	text := func(key string) string { return fmt.Sprint(p[key]) }
	switch kind {
	case "AWS::IAM::Role":
		name := text("RoleName")
		r := s.Roles[name]
		r.Trust, err = parsed(p["AssumeRolePolicyDocument"])
		s.Roles[name] = r
		for _, x := range p["ManagedPolicyArns"].([]any) {
			s.attach(name, fmt.Sprint(x))
		}
	case "AWS::IAM::ManagedPolicy":
		s.Policies[text("ManagedPolicyName")], err = parsed(p["PolicyDocument"])
	case "AWS::SQS::Queue":
		q := s.Queues[text("QueueName")]
		q.Retention, q.Encrypted = p["MessageRetentionPeriod"].(int), p["SqsManagedSseEnabled"].(bool)
		s.Queues[text("QueueName")] = q
	case "AWS::SQS::QueuePolicy":
		for _, name := range p["Queues"].([]any) {
			q := s.Queues[name.(string)]
			q.Policy, err = parsed(p["PolicyDocument"])
			s.Queues[name.(string)] = q
		}
	case "AWS::Events::Rule":
		pattern, wrong := parsed(p["EventPattern"])
		for _, target := range p["Targets"].([]any) {
			s.Events = append(s.Events, Event{Pattern: pattern, Target: fmt.Sprint(target.(map[string]any)["Arn"])})
		}
		return wrong
	case "AWS::EKS::AccessEntry":
		s.Access = append(s.Access, map[string]string{"cluster": text("ClusterName"), "principal": text("PrincipalArn"), "type": text("Type")})
	case "AWS::EKS::PodIdentityAssociation":
		s.Association = append(s.Association, map[string]string{
			"cluster": text("ClusterName"), "namespace": text("Namespace"), "account": text("ServiceAccount"), "role": text("RoleArn"),
		})
	case "AWS::IAM::ServiceLinkedRole":
		s.ServiceRoles = append(s.ServiceRoles, text("AWSServiceName"))
	default:
		return fmt.Errorf("type %s is unknown to this test", kind)
	}
	return err
}

func (t *template) holds(condition string) bool {
	n := t.Conditions[condition]
	return t.eval(&n) == true
}

type nothing struct{} // AWS::NoValue

// eval works a value out. It panics on a function that the template has no need of.
func (t *template) eval(n *yaml.Node) any {
	args := func() []any { return t.list(n) }
	switch n.Tag {
	case "!Ref":
		return t.ref(n.Value)
	case "!GetAtt":
		name, attribute, _ := strings.Cut(n.Value, ".")
		if attribute != "Arn" {
			panic("attribute " + n.Value)
		}
		return t.arn(name)
	case "!Sub":
		return t.sub(n.Value, nil)
	case "!Equals":
		a := args()
		return a[0] == a[1]
	case "!Not":
		return args()[0] != true
	case "!If":
		if t.holds(n.Content[0].Value) {
			return t.eval(n.Content[1])
		}
		return t.eval(n.Content[2])
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		panic("function " + n.Tag)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return t.mapping(n)
	case yaml.SequenceNode:
		return args()
	default:
		var out any
		if err := n.Decode(&out); err != nil {
			panic(err)
		}
		return out
	}
}

func (t *template) list(n *yaml.Node) []any {
	var out []any
	for _, x := range n.Content {
		if v := t.eval(x); v != (nothing{}) {
			out = append(out, v)
		}
	}
	return out
}

func (t *template) mapping(n *yaml.Node) any {
	out := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == "Fn::Sub" {
			args := n.Content[i+1].Content
			return t.sub(args[0].Value, t.mapping(args[1]).(map[string]any))
		}
		out[n.Content[i].Value] = t.eval(n.Content[i+1])
	}
	return out
}

var variable = regexp.MustCompile(`\$\{([A-Za-z:.]+)\}`)

func (t *template) sub(text string, names map[string]any) string {
	return variable.ReplaceAllStringFunc(text, func(s string) string {
		name := s[2 : len(s)-1]
		if v, ok := names[name]; ok {
			return v.(string)
		}
		return t.ref(name).(string)
	})
}

// ref is what a parameter, or a resource, is known by.
func (t *template) ref(name string) any {
	if name == "AWS::NoValue" {
		return nothing{}
	}
	if v, ok := t.values[name]; ok {
		return v
	}
	if t.Resources[name].Type == "AWS::IAM::ManagedPolicy" {
		return t.arn(name)
	}
	_, own := t.name(name)
	return own
}

func (t *template) arn(name string) string {
	arn, own := t.name(name)
	return arn(own)
}

// name is the name of a resource, and how its ARN is made of that.
func (t *template) name(resource string) (arn func(string) string, name string) {
	kinds := map[string]struct {
		property string
		arn      func(string) string
	}{
		"AWS::IAM::Role": {"RoleName", roleARN}, "AWS::IAM::ManagedPolicy": {"ManagedPolicyName", policyARN}, "AWS::SQS::Queue": {"QueueName", queueARN},
	}
	r, ok := t.Resources[resource]
	kind, known := kinds[r.Type]
	if !ok || !known {
		panic("no name of " + resource)
	}
	for i := 0; i < len(r.Properties.Content); i += 2 {
		if r.Properties.Content[i].Value == kind.property {
			return kind.arn, t.eval(r.Properties.Content[i+1]).(string)
		}
	}
	panic("no " + kind.property + " of " + resource)
}
