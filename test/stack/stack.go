package stack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Cluster is what a stack is made for.
type Cluster struct {
	Name, Issuer, Queue, Key string
	SpotRole                 bool
}

// Where all of it is, in both forms.
const (
	partition = "aws"
	suffix    = "amazonaws.com"
	region    = "eu-west-1"
	account   = "111122223333"
)

// Stack is what is made, by name; documents are what their JSON says.
type Stack struct {
	Roles    map[string]Role
	Policies map[string]any
	Queues   map[string]Queue
	// Events are the patterns, and where the events go.
	Events []Event
	// Access is of nodes, and Association of pods.
	Access, Association []map[string]string
	ServiceRoles        []string
}

// Role has the ARNs of its policies.
type Role struct {
	Trust    any
	Policies []string
}

// Queue is one, and its policy.
type Queue struct {
	Retention int
	Encrypted bool
	Policy    any
}

// Event is a rule.
type Event struct {
	Pattern any
	Target  string
}

func newStack() *Stack {
	return &Stack{Roles: map[string]Role{}, Policies: map[string]any{}, Queues: map[string]Queue{}}
}

// attach gives a role another policy.
func (s *Stack) attach(role, policy string) {
	r := s.Roles[role]
	r.Policies = append(r.Policies, policy)
	slices.Sort(r.Policies)
	s.Roles[role] = r
}

func (s *Stack) sorted() *Stack {
	slices.SortFunc(s.Events, func(a, b Event) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return s
}

// parsed is what a document says, whether it is text or not.
func parsed(document any) (any, error) {
	text, ok := document.(string)
	if !ok {
		b, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	return out, nil
}

func queueARN(name string) string { return "arn:aws:sqs:" + region + ":" + account + ":" + name }

func roleARN(name string) string { return "arn:aws:iam::" + account + ":role/" + name }

func policyARN(name string) string { return "arn:aws:iam::" + account + ":policy/" + name }
