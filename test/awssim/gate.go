package awssim

import (
	"maps"
	"math"
	"net/http"
	"time"
)

// CodeDrop as a Fault's Code closes the connection instead of answering.
const CodeDrop = "ConnectionDropped"

// Fault makes calls fail.
type Fault struct {
	// Action is service:Action, such as ec2:CreateFleet, or * for all.
	Action string `json:"action"`
	// Code is the error code that the caller sees, or CodeDrop.
	Code string `json:"code"`
	// Times is how many calls fail; zero means one.
	Times int `json:"times"`
	// After lets the call have its effect first, and loses the answer.
	After bool `json:"after"`
}

func (f Fault) err() error { return fail(f.Code, "Injected by the simulator.") }

// Call is one line of the call log.
type Call struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	// Code is the error's code, empty for success.
	Code string `json:"code,omitempty"`
}

// Calls sums up what was called. Recent holds the last calls, oldest first, at most 1,000.
type Calls struct {
	Counts map[string]int `json:"counts"`
	// Errors counts by "service:Action code".
	Errors map[string]int `json:"errors"`
	Recent []Call         `json:"recent"`
}

const recentCalls = 1000

// gate holds token buckets, faults and the log of calls. Guarded by Sim.mu.
type gate struct {
	buckets map[string]*bucket
	faults  []Fault
	log     Calls
}

type bucket struct {
	Limit
	tokens float64
	at     time.Time
}

func (g *gate) init(limits map[string]Limit) {
	g.buckets = map[string]*bucket{}
	for action, l := range limits {
		g.buckets[action] = &bucket{Limit: l, tokens: l.Burst}
	}
	g.log = Calls{Counts: map[string]int{}, Errors: map[string]int{}}
}

// take removes one token and reports whether there was one.
func (b *bucket) take(now time.Time) bool {
	if !b.at.IsZero() {
		b.tokens = math.Min(b.Burst, b.tokens+now.Sub(b.at).Seconds()*b.PerSecond)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// enter takes a token and a fault for the call.
func (s *Sim) enter(action string) (Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.gate.buckets[action]; ok && !b.take(s.clock.Now()) {
		return Fault{}, fail("RequestLimitExceeded", "Request limit exceeded.")
	}
	for i := range s.gate.faults {
		f := &s.gate.faults[i]
		if f.Action != action && f.Action != "*" {
			continue
		}
		f.Times--
		taken := *f
		if f.Times <= 0 {
			s.gate.faults = append(s.gate.faults[:i], s.gate.faults[i+1:]...)
		}
		return taken, nil
	}
	return Fault{}, nil
}

func (s *Sim) record(action string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Call{At: s.clock.Now(), Action: action}
	l := &s.gate.log
	l.Counts[action]++
	if err != nil {
		c.Code = asAPIError(err).code
		l.Errors[action+" "+c.Code]++
	}
	if len(l.Recent) == recentCalls {
		l.Recent = append(l.Recent[:0], l.Recent[recentCalls/2:]...)
	}
	l.Recent = append(l.Recent, c)
}

// Fail makes the next calls of an action fail. Faults for one action are used up in the order they were given.
func (s *Sim) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	s.gate.faults = append(s.gate.faults, f)
}

// SetLimit gives an action a full token bucket; a zero Burst takes the bucket away.
func (s *Sim) SetLimit(action string, l Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gate.buckets, action)
	if l.Burst > 0 {
		s.gate.buckets[action] = &bucket{Limit: l, tokens: l.Burst}
	}
}

// Calls is a copy of the call log.
func (s *Sim) Calls() Calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.gate.log
	return Calls{Counts: maps.Clone(l.Counts), Errors: maps.Clone(l.Errors), Recent: append([]Call(nil), l.Recent...)}
}

// drop closes the connection without an answer.
func drop(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close() // the point is that the caller sees it closed
	}
}
