package awssim

import (
	"time"
)

// tokenAnswer is what a client token was spent on.
type tokenAnswer struct {
	request string // digest of the parameters
	answer  rawXML
	at      time.Time
}

// tokenLife is how long a client token is remembered.
const tokenLife = 24 * time.Hour

// once runs do unless the token was spent: on the same parameters, that answer is given again; on others, it is a
// mismatch. An error spends no token. An empty token means no idempotency.
func (s *Sim) once(action, token string, f *form, do func() (any, error)) (any, error) {
	if len(token) > 64 {
		return nil, fail("InvalidParameterValue", "The client token must not exceed 64 ASCII characters.")
	}
	key, request := action+"\x00"+token, f.digest("ClientToken")
	if a, ok := s.tokens[key]; ok && token != "" && s.clock.Now().Sub(a.at) < tokenLife {
		if a.request != request {
			return nil, fail("IdempotentParameterMismatch", "Client token already used before with different parameters.")
		}
		return a.answer, nil
	}
	out, err := do()
	if err != nil {
		return nil, err
	}
	raw, err := children(out)
	if err != nil {
		return nil, err
	}
	if token != "" {
		s.tokens[key] = tokenAnswer{request: request, answer: raw, at: s.clock.Now()}
	}
	return raw, nil
}

// digest is one of all parameters but those named.
func (f *form) digest(without ...string) string {
	skip := set(without)
	var parts []string
	for _, k := range sortedKeys(f.values) {
		if !skip[k] {
			parts = append(parts, k, f.values.Get(k))
		}
	}
	return digest(parts...)
}
