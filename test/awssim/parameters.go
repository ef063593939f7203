package awssim

import (
	"context"
	"time"
)

// parameter is one SSM parameter. Its version counts how often it was set.
type parameter struct {
	value    string
	version  int64
	modified time.Time
}

// SetParameter sets an SSM parameter.
func (s *Sim) SetParameter(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setParameter(name, value, s.clock.Now())
}

func (s *Sim) setParameter(name, value string, at time.Time) {
	s.parameters[name] = parameter{value: value, version: s.parameters[name].version + 1, modified: at}
}

// getParameter answers SSM GetParameter. Decryption changes nothing: all parameters are plain.
func (s *Sim) getParameter(_ context.Context, body []byte) (any, error) {
	var in struct {
		Name           string
		WithDecryption bool
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parameters[in.Name]
	if !ok {
		return nil, fail("ParameterNotFound", "Parameter %s not found.", in.Name)
	}
	return map[string]any{"Parameter": map[string]any{
		"ARN": "arn:aws:ssm:" + s.cfg.Region + "::parameter" + in.Name, "DataType": "text", "Name": in.Name,
		"Type": "String", "Value": p.value, "Version": p.version,
		"LastModifiedDate": float64(p.modified.UnixMilli()) / 1000,
	}}, nil
}
