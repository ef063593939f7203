package stack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// module is Terraform's form, while it is worked out.
type module struct {
	dir  string
	vars map[string]cty.Value
	// locals and resources may depend on each other: each is worked out when it is asked for.
	blocks []*hclsyntax.Block
	made   map[string]made // by type and name
}

// Terraform works the module in the folder out for a cluster.
func Terraform(dir string, c Cluster) (*Stack, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, err
	}
	m := &module{dir: dir, made: map[string]made{}, vars: map[string]cty.Value{
		"cluster_name": cty.StringVal(c.Name), "oidc_provider": cty.StringVal(c.Issuer), "queue_name": cty.StringVal(c.Queue),
		"volume_key": cty.StringVal(c.Key), "create_spot_role": cty.BoolVal(c.SpotRole),
	}}
	parser := hclparse.NewParser()
	for _, file := range files {
		f, wrong := parser.ParseHCLFile(file)
		if wrong.HasErrors() {
			return nil, wrong
		}
		m.blocks = append(m.blocks, f.Body.(*hclsyntax.Body).Blocks...)
	}
	for _, b := range m.blocks {
		if b.Type == "variable" && m.vars[b.Labels[0]] == cty.NilVal {
			return nil, fmt.Errorf("variable %s is unknown to CloudFormation's form", b.Labels[0])
		}
	}
	out := newStack()
	for _, b := range m.blocks {
		if b.Type != "resource" {
			continue
		}
		x, err := m.resource(b)
		if err != nil {
			return nil, err
		}
		for _, one := range x.each {
			if err := out.addTerraform(b.Labels[0], one.AsValueMap()); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", b.Labels[0], b.Labels[1], err)
			}
		}
	}
	return out.sorted(), nil
}

func (s *Stack) addTerraform(kind string, p map[string]cty.Value) (err error) {
	text := func(key string) string {
		if p[key].Type() != cty.String {
			return ""
		}
		return p[key].AsString()
	}
	switch kind {
	case "aws_iam_role":
		r := s.Roles[text("name")]
		r.Trust, err = parsed(text("assume_role_policy"))
		s.Roles[text("name")] = r
	case "aws_iam_policy":
		s.Policies[text("name")], err = parsed(text("policy"))
	case "aws_iam_role_policy_attachment":
		s.attach(text("role"), text("policy_arn"))
	case "aws_sqs_queue":
		q := s.Queues[text("name")]
		seconds, _ := p["message_retention_seconds"].AsBigFloat().Int64()
		q.Retention, q.Encrypted = int(seconds), p["sqs_managed_sse_enabled"].True()
		s.Queues[text("name")] = q
	case "aws_sqs_queue_policy":
		q := s.Queues[text("queue_url")]
		q.Policy, err = parsed(text("policy"))
		s.Queues[text("queue_url")] = q
	case "aws_cloudwatch_event_rule": // its target has its pattern
	case "aws_cloudwatch_event_target":
		e := Event{Target: text("arn")}
		e.Pattern, err = parsed(text("event_pattern"))
		s.Events = append(s.Events, e)
	case "aws_eks_access_entry":
		s.Access = append(s.Access, map[string]string{"cluster": text("cluster_name"), "principal": text("principal_arn"), "type": text("type")})
	case "aws_eks_pod_identity_association":
		s.Association = append(s.Association, map[string]string{
			"cluster": text("cluster_name"), "namespace": text("namespace"), "account": text("service_account"), "role": text("role_arn"),
		})
	case "aws_iam_service_linked_role":
		s.ServiceRoles = append(s.ServiceRoles, text("aws_service_name"))
	default:
		return fmt.Errorf("type %s is unknown to this test", kind)
	}
	return err
}

// made is what a block makes: how expressions see it, and each resource of it.
type made struct {
	value cty.Value
	each  []cty.Value
}

// resource is what a block makes: one, those that it counts, or those that it has for each of a set.
func (m *module) resource(b *hclsyntax.Block) (made, error) {
	key := b.Labels[0] + "." + b.Labels[1]
	if x, ok := m.made[key]; ok {
		return x, nil
	}
	var x made
	var err error
	switch {
	case b.Body.Attributes["count"] != nil:
		x, err = m.counted(b)
	case b.Body.Attributes["for_each"] != nil:
		x, err = m.forEach(b)
	default:
		x.value, err = m.one(b, nil)
		x.each = []cty.Value{x.value}
	}
	if err != nil {
		return made{}, fmt.Errorf("%s: %w", key, err)
	}
	m.made[key] = x
	return x, nil
}

func (m *module) counted(b *hclsyntax.Block) (made, error) {
	count, err := m.eval(b.Body.Attributes["count"].Expr, nil)
	if err != nil || count.Equals(cty.NumberIntVal(0)).True() {
		return made{value: cty.EmptyTupleVal}, err
	}
	v, err := m.one(b, nil)
	return made{cty.TupleVal([]cty.Value{v}), []cty.Value{v}}, err
}

func (m *module) forEach(b *hclsyntax.Block) (made, error) {
	set, err := m.eval(b.Body.Attributes["for_each"].Expr, nil)
	if err != nil {
		return made{}, err
	}
	var x made
	byKey := map[string]cty.Value{}
	for it := set.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if set.Type().IsSetType() {
			key = value
		}
		v, err := m.one(b, map[string]cty.Value{"each": object("key", key, "value", value)})
		if err != nil {
			return made{}, err
		}
		byKey[key.AsString()] = v
		x.each = append(x.each, v)
	}
	x.value = cty.ObjectVal(byKey)
	return x, nil
}

// one is a resource: its arguments, and what AWS adds to them. A target has its rule's pattern.
func (m *module) one(b *hclsyntax.Block, more map[string]cty.Value) (cty.Value, error) {
	out := map[string]cty.Value{}
	for name, a := range b.Body.Attributes {
		if name == "count" || name == "for_each" {
			continue
		}
		v, err := m.eval(a.Expr, more)
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	arns := map[string]func(string) string{"aws_iam_role": roleARN, "aws_iam_policy": policyARN, "aws_sqs_queue": queueARN}
	if arn := arns[b.Labels[0]]; arn != nil {
		out["id"], out["arn"] = out["name"], cty.StringVal(arn(out["name"].AsString()))
	}
	if b.Labels[0] == "aws_cloudwatch_event_target" {
		out["event_pattern"] = more["each"].GetAttr("value").GetAttr("event_pattern")
	}
	return cty.ObjectVal(out), nil
}

// eval works an expression out, after all that it names.
func (m *module) eval(e hclsyntax.Expression, more map[string]cty.Value) (cty.Value, error) {
	vars := map[string]cty.Value{
		"var": cty.ObjectVal(m.vars), "path": object("module", cty.StringVal(m.dir)),
		"data": object(
			"aws_partition", object("current", object("partition", cty.StringVal(partition), "dns_suffix", cty.StringVal(suffix))),
			"aws_region", object("current", object("region", cty.StringVal(region))),
			"aws_caller_identity", object("current", object("account_id", cty.StringVal(account))),
		),
	}
	maps.Copy(vars, more)
	named := map[string]map[string]cty.Value{}
	for _, name := range e.Variables() {
		root := name.RootName()
		if _, known := vars[root]; known {
			continue
		}
		attribute, ok := name[1].(hcl.TraverseAttr)
		if !ok {
			return cty.NilVal, fmt.Errorf("%s has no name", root)
		}
		v, err := m.named(root, attribute.Name)
		if err != nil {
			return cty.NilVal, err
		}
		if named[root] == nil {
			named[root] = map[string]cty.Value{}
		}
		named[root][attribute.Name] = v
	}
	for root, values := range named {
		vars[root] = cty.ObjectVal(values)
	}
	v, wrong := e.Value(&hcl.EvalContext{Variables: vars, Functions: functions()})
	if wrong.HasErrors() {
		return cty.NilVal, wrong
	}
	return v, nil
}

// named is a local, or a resource.
func (m *module) named(root, name string) (cty.Value, error) {
	for _, b := range m.blocks {
		switch {
		case root == "local" && b.Type == "locals" && b.Body.Attributes[name] != nil:
			return m.eval(b.Body.Attributes[name].Expr, nil)
		case b.Type == "resource" && b.Labels[0] == root && b.Labels[1] == name:
			x, err := m.resource(b)
			return x.value, err
		}
	}
	return cty.NilVal, fmt.Errorf("there is no %s.%s", root, name)
}

// object is one of names and values, in turn.
func object(pairs ...any) cty.Value {
	out := map[string]cty.Value{}
	name := ""
	for _, p := range pairs {
		switch x := p.(type) {
		case string:
			name = x
		case cty.Value:
			out[name] = x
		}
	}
	return cty.ObjectVal(out)
}

// functions are those of Terraform's that the module has need of.
func functions() map[string]function.Function {
	path := function.Parameter{Name: "path", Type: cty.String}
	return map[string]function.Function{
		"concat": stdlib.ConcatFunc,
		"toset":  stdlib.MakeToFunc(cty.Set(cty.String)),
		"file": function.New(&function.Spec{
			Params: []function.Parameter{path}, Type: function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				text, err := os.ReadFile(args[0].AsString())
				return cty.StringVal(string(text)), err
			},
		}),
		"templatefile": function.New(&function.Spec{
			Params: []function.Parameter{path, {Name: "vars", Type: cty.DynamicPseudoType}}, Type: function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				text, err := os.ReadFile(args[0].AsString())
				if err != nil {
					return cty.NilVal, err
				}
				e, wrong := hclsyntax.ParseTemplate(text, args[0].AsString(), hcl.InitialPos)
				if wrong.HasErrors() {
					return cty.NilVal, wrong
				}
				v, wrong := e.Value(&hcl.EvalContext{Variables: args[1].AsValueMap()})
				if wrong.HasErrors() {
					return cty.NilVal, wrong
				}
				return v, nil
			},
		}),
	}
}
