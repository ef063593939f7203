package botocore

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// wire is how a protocol writes values. What it gives on is one of: map[string]any, a string of text, json.Number,
// bool, nil, []any, *node.
type wire struct {
	// name is what a member is called on the wire.
	name func(member string, r Ref) string
	// fields are what a structure has; ok says that it is one.
	fields func(v any) (fields map[string]any, ok bool)
	// items are what a list has.
	items func(s *Shape, v any) (items []any, ok bool)
	// text is a scalar's text; typed says that its JSON type is known, and is kind.
	text func(v any) (text, kind string, ok bool)
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// request finds the call, and reads the request's members into maps.
func (m Models) request(x Exchange) (Call, any, error) {
	if x.Target != "" {
		prefix, name, _ := strings.Cut(x.Target, ".")
		for service, s := range m {
			if s.Metadata.TargetPrefix == prefix {
				v, err := decodeJSON(x.Request)
				return Call{service, name}, v, err
			}
		}
		return Call{}, nil, fmt.Errorf("no service has the target %s", x.Target)
	}
	if name, ok := strings.CutPrefix(x.Path, "/clusters/"); ok {
		name, err := url.PathUnescape(name)
		return Call{"eks", "DescribeCluster"}, map[string]any{"name": name}, err
	}
	form, err := url.ParseQuery(string(x.Request))
	if err != nil {
		return Call{}, nil, err
	}
	for service, s := range m {
		if s.Metadata.APIVersion == form.Get("Version") {
			call := Call{service, form.Get("Action")}
			form.Del("Version")
			form.Del("Action")
			v, err := tree(form)
			return call, v, err
		}
	}
	return Call{}, nil, fmt.Errorf("no service has version %q of its API", form.Get("Version"))
}

// tree makes a form's keys, such as Filter.1.Name, into maps of maps.
func tree(form url.Values) (any, error) {
	root := map[string]any{}
	for key, values := range form {
		at := root
		words := strings.Split(key, ".")
		for _, w := range words[:len(words)-1] {
			if at[w] == nil {
				at[w] = map[string]any{}
			}
			next, ok := at[w].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("parameter %s has a value and members", key)
			}
			at = next
		}
		last := words[len(words)-1]
		if at[last] != nil || len(values) != 1 {
			return nil, fmt.Errorf("parameter %s is there twice", key)
		}
		at[last] = values[0]
	}
	return root, nil
}

func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func (s *Service) requestWire() wire {
	switch s.Metadata.Protocol {
	case "ec2", "query":
		return formWire(s.Metadata.Protocol == "ec2")
	}
	return jsonWire()
}

func (s *Service) answerWire() wire {
	switch s.Metadata.Protocol {
	case "ec2", "query":
		return xmlWire()
	}
	return jsonWire()
}

// formWire is of parameters. EC2 numbers a list's members behind its name, and begins names with a capital letter.
func formWire(ec2 bool) wire {
	return wire{
		name: func(member string, r Ref) string {
			name := orElse(r.LocationName, member)
			if ec2 {
				name = orElse(r.QueryName, strings.ToUpper(name[:1])+name[1:])
			}
			return name
		},
		fields: func(v any) (map[string]any, bool) { m, ok := v.(map[string]any); return m, ok },
		items: func(_ *Shape, v any) ([]any, bool) {
			m, ok := v.(map[string]any)
			if !ec2 && ok && len(m) == 1 {
				m, ok = m["member"].(map[string]any)
			}
			out := make([]any, 0, len(m))
			for i := range len(m) {
				item, found := m[strconv.Itoa(i+1)]
				ok = ok && found
				out = append(out, item)
			}
			return out, ok
		},
		text: func(v any) (string, string, bool) { s, ok := v.(string); return s, "", ok },
	}
}

func jsonWire() wire {
	return wire{
		name:   func(member string, r Ref) string { return orElse(r.LocationName, member) },
		fields: func(v any) (map[string]any, bool) { m, ok := v.(map[string]any); return m, ok },
		items:  func(_ *Shape, v any) ([]any, bool) { l, ok := v.([]any); return l, ok },
		text: func(v any) (string, string, bool) {
			switch v := v.(type) {
			case string:
				return v, "string", true
			case json.Number:
				return v.String(), "number", true
			case bool:
				return strconv.FormatBool(v), "boolean", true
			}
			return "", "", false
		},
	}
}

// node is an XML element.
type node struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
	Kids    []node `xml:",any"`
}

func (n *node) find(name string) *node {
	i := slices.IndexFunc(n.Kids, func(k node) bool { return k.XMLName.Local == name })
	if i < 0 {
		return nil
	}
	return &n.Kids[i]
}

func xmlWire() wire {
	return wire{
		name: func(member string, r Ref) string { return orElse(r.LocationName, member) },
		fields: func(v any) (map[string]any, bool) {
			n := v.(*node)
			out := map[string]any{}
			for i := range n.Kids {
				name := n.Kids[i].XMLName.Local
				if _, twice := out[name]; twice {
					return nil, false
				}
				out[name] = &n.Kids[i]
			}
			return out, strings.TrimSpace(n.Text) == ""
		},
		items: func(s *Shape, v any) ([]any, bool) {
			n := v.(*node)
			out, ok := make([]any, 0, len(n.Kids)), strings.TrimSpace(n.Text) == ""
			for i := range n.Kids {
				ok = ok && n.Kids[i].XMLName.Local == orElse(s.Member.LocationName, "member")
				out = append(out, &n.Kids[i])
			}
			return out, ok
		},
		text: func(v any) (string, string, bool) { n := v.(*node); return n.Text, "", len(n.Kids) == 0 },
	}
}

// answer reads an answer as far as its members, or says what is wrong around them.
func (s *Service) answer(call Call, op Operation, x Exchange) (members any, wrong string) {
	if s.Metadata.Protocol != "ec2" && s.Metadata.Protocol != "query" {
		v, err := decodeJSON(x.Answer)
		if err != nil {
			return nil, err.Error()
		}
		return v, ""
	}
	var n node
	if err := xml.Unmarshal(x.Answer, &n); err != nil {
		return nil, err.Error()
	}
	if want := call.Name + "Response"; n.XMLName.Local != want {
		return nil, fmt.Sprintf("it is a %s, want a %s", n.XMLName.Local, want)
	}
	if s.Metadata.Protocol == "ec2" {
		before := len(n.Kids)
		n.Kids = slices.DeleteFunc(n.Kids, func(k node) bool { return k.XMLName.Local == "requestId" })
		if len(n.Kids) != before-1 {
			return nil, "want one requestId"
		}
		return &n, ""
	}
	if meta := n.find("ResponseMetadata"); meta == nil || meta.find("RequestId") == nil {
		return nil, "it has no ResponseMetadata with a RequestId"
	}
	if op.Output == nil {
		return nil, ""
	}
	result := n.find(op.Output.ResultWrapper)
	if result == nil {
		return nil, "it has no " + op.Output.ResultWrapper
	}
	return result, ""
}

// failure checks that an error has the shape of its protocol, and a code that the model lists or any call may have.
func (s *Service) failure(call Call, op Operation, x Exchange) []Finding {
	code, err := s.errorCode(x)
	if err != nil {
		return []Finding{{Call: call, Side: "error", What: err.Error()}}
	}
	listed := s.ErrorCodes(op)
	if s.Name == "ec2" || slices.Contains(listed, code) || slices.Contains(ofAnyCall(), code) { // EC2's codes are not modelled
		return nil
	}
	return []Finding{{Call: call, Side: "error", What: code + " is none of " + strings.Join(listed, ", ")}}
}

// ofAnyCall are the codes that every call of every service may fail with; models don't list them.
func ofAnyCall() []string {
	return []string{
		"AccessDenied", "AccessDeniedException", "AuthFailure", "InternalFailure", "MissingAuthenticationToken", "RequestLimitExceeded",
		"ServiceUnavailable", "Throttling", "ThrottlingException", "ValidationError",
	}
}

func (s *Service) errorCode(x Exchange) (string, error) {
	if s.Metadata.Protocol != "ec2" && s.Metadata.Protocol != "query" {
		v, err := decodeJSON(x.Answer)
		fields, _ := v.(map[string]any)
		code, _ := fields["__type"].(string)
		if _, said := fields["message"].(string); err == nil && (code == "" || !said) {
			err = errors.New("want __type and message")
		}
		return code, err
	}
	var n node
	if err := xml.Unmarshal(x.Answer, &n); err != nil {
		return "", err
	}
	at, path := &n, []string{"Errors", "Error", "Code"}
	want := "Response"
	if s.Metadata.Protocol == "query" {
		path, want = []string{"Error", "Code"}, "ErrorResponse"
	}
	if n.XMLName.Local != want {
		return "", fmt.Errorf("it is a %s, want a %s", n.XMLName.Local, want)
	}
	for _, name := range path {
		if at = at.find(name); at == nil {
			return "", fmt.Errorf("it has no %s", strings.Join(path, "."))
		}
	}
	return at.Text, nil
}
