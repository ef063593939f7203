// Package botocore holds requests and answers against the service models that AWS publishes in the Python package botocore.
//
// A model says of each call which members its request and its answer have, of what type, and which are required. Package
// botocore must never know Kerf, or what sent a request. Start reading at Models.Check, then check.go.
package botocore

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Models are the models by service.
type Models map[string]*Service

// Service is a service's model, as far as it is read.
type Service struct {
	Name       string
	Metadata   struct{ Protocol, TargetPrefix, APIVersion string }
	Operations map[string]Operation
	Shapes     map[string]*Shape
}

// Operation is a call.
type Operation struct {
	Input, Output *Ref
	Errors        []Ref
}

// Ref is the use of a shape: as a member of a structure, as what a list holds, as what a call takes.
type Ref struct {
	Shape, LocationName, QueryName, Location, ResultWrapper, Documentation string
}

// Shape is a type.
type Shape struct {
	Type       string
	Members    map[string]Ref
	Required   []string
	Member     Ref
	Key, Value Ref
	Enum       []string
	Min, Max   *float64
	Pattern    string
	Flattened  bool
	Error      struct{ Code string }
}

// versions are the services that Kerf speaks to, and the versions of their APIs.
func versions() map[string]string {
	return map[string]string{
		"ec2": "2016-11-15", "iam": "2010-05-08", "ssm": "2014-11-06", "sqs": "2012-11-05", "eks": "2017-11-01", "pricing": "2017-10-15",
	}
}

// Read reads the models below a folder named data of botocore.
func Read(data string) (Models, error) {
	out := Models{}
	for name, version := range versions() {
		s := &Service{Name: name}
		if err := readModel(filepath.Join(data, name, version, "service-2.json.gz"), s); err != nil {
			return nil, err
		}
		out[name] = s
	}
	return out, nil
}

func readModel(file string, into *Service) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	var r io.Reader
	if r, err = gzip.NewReader(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := json.NewDecoder(r).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// ErrorCodes are the codes of the errors that the model lists for a call.
func (s *Service) ErrorCodes(op Operation) []string {
	out := make([]string, 0, len(op.Errors))
	for _, e := range op.Errors {
		code := s.Shapes[e.Shape].Error.Code
		if code == "" {
			code = e.Shape
		}
		out = append(out, code)
	}
	return out
}

// Exchange is a request and its answer as they were on the wire.
type Exchange struct {
	Method, Path, Target string
	Request              []byte
	Status               int // 0: the connection was dropped
	Answer               []byte
}

// Call names a call, as "ec2 CreateFleet".
type Call struct{ Service, Name string }

// String is the call's name.
func (c Call) String() string { return c.Service + " " + c.Name }

// Finding is something that is not as the model says.
type Finding struct {
	Call Call
	// Side is "request", "answer" or "error".
	Side string
	// Path is the member, with [] for each list; "" for the whole.
	Path string
	What string
}

// String is the finding in one line.
func (f Finding) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Call, f.Side, f.Path)) + ": " + f.What
}

// Check says which call an exchange is, and what of it is not as the model says.
func (m Models) Check(x Exchange) (Call, []Finding, error) {
	call, req, err := m.request(x)
	if err != nil {
		return call, nil, err
	}
	svc := m[call.Service]
	op, ok := svc.Operations[call.Name]
	if !ok {
		return call, []Finding{{Call: call, Side: "request", What: "the model has no such call"}}, nil
	}
	c := &checker{svc: svc, wire: svc.requestWire(), call: call, side: "request"}
	if op.Input != nil {
		c.value("", *op.Input, req)
	}
	if x.Status == 0 {
		return call, c.found, nil
	}
	found := c.found
	if x.Status >= 300 {
		return call, append(found, svc.failure(call, op, x)...), nil
	}
	c = &checker{svc: svc, wire: svc.answerWire(), call: call, side: "answer"}
	answer, wrong := svc.answer(call, op, x)
	if wrong != "" {
		return call, append(found, Finding{Call: call, Side: "answer", What: wrong}), nil
	}
	if op.Output != nil {
		c.value("", *op.Output, answer)
	}
	return call, append(found, c.found...), nil
}
