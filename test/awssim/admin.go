package awssim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// serveAdmin is the simulator's own API, below /_sim/, by which other processes do what a test does in Go. It answers
// JSON; an error is {"error": text} with status 400, or 404 for a path that is not there.
func (s *Sim) serveAdmin(w http.ResponseWriter, r *http.Request, body []byte) {
	name := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/_sim/")
	do, ok := s.adminCalls()[name]
	if !ok {
		writeJSON(w, "application/json", http.StatusNotFound, map[string]string{"error": name + " is not part of the admin API"})
		return
	}
	out, err := do(body)
	if err != nil {
		writeJSON(w, "application/json", http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, "application/json", http.StatusOK, out)
}

// adminCalls are the calls by method and path.
func (s *Sim) adminCalls() map[string]func([]byte) (any, error) {
	return map[string]func([]byte) (any, error){
		"GET state":      func([]byte) (any, error) { return s.State(), nil },
		"GET calls":      func([]byte) (any, error) { return s.Calls(), nil },
		"GET ready":      func([]byte) (any, error) { return map[string]any{"cluster": s.cfg.Cluster, "now": s.Now()}, nil },
		"POST stock":     s.adminStock,
		"POST pool-fail": s.adminPoolFail,
		"POST interrupt": s.adminInstance(s.InterruptSpot),
		"POST rebalance": s.adminInstance(s.RecommendRebalance),
		"POST terminate": s.adminInstance(s.Terminate),
		"POST health":    s.adminHealth,
		"POST message":   s.adminMessage,
		"POST impair":    s.adminImpair,
		"POST shift":     s.adminShift,
		"POST fail":      s.adminFail,
		"POST limit":     s.adminLimit,
		"POST advance":   s.adminAdvance,
		"POST price":     s.adminPrice,
		"POST addresses": s.adminAddresses,
		"POST parameter": s.adminParameter,
		"POST images":    s.adminImages,
		"POST kubelets":  s.adminKubelets,
	}
}

// done is the answer of a call that only changes something.
func done(err error) (any, error) { return map[string]bool{"ok": true}, err }

func (s *Sim) adminStock(body []byte) (any, error) {
	var in struct {
		Pool
		Count *int64 `json:"count"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Count == nil {
		return nil, errors.New("count is missing; negative means without end")
	}
	if err := s.knownPool(in.Pool); err != nil {
		return nil, err
	}
	s.SetStock(in.Pool, *in.Count)
	return done(nil)
}

func (s *Sim) adminPoolFail(body []byte) (any, error) {
	var in struct {
		Pool
		Code string `json:"code"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if err := s.knownPool(in.Pool); err != nil {
		return nil, err
	}
	s.FailPool(in.Pool, in.Code)
	return done(nil)
}

// knownPool refuses a pattern that can match nothing, which would be a slip of the caller.
func (s *Sim) knownPool(p Pool) error {
	switch {
	case p.InstanceType != "" && s.types[p.InstanceType] == nil:
		return fmt.Errorf("instanceType %q is not in the catalogue", p.InstanceType)
	case p.Zone != "" && s.zoneIDs[p.Zone] == "":
		return fmt.Errorf("zone %q is not in the catalogue", p.Zone)
	case p.CapacityType != "" && p.CapacityType != Spot && p.CapacityType != OnDemand:
		return fmt.Errorf("capacityType %q is neither %s nor %s", p.CapacityType, Spot, OnDemand)
	}
	return nil
}

// adminInstance wraps a call that takes an instance id.
func (s *Sim) adminInstance(do func(string) error) func([]byte) (any, error) {
	return func(body []byte) (any, error) {
		var in struct {
			InstanceID string `json:"instanceId"`
		}
		if err := decode(body, &in); err != nil {
			return nil, err
		}
		return done(do(in.InstanceID))
	}
}

func (s *Sim) adminHealth(body []byte) (any, error) {
	var in struct {
		TypeCode    string   `json:"typeCode"`
		InstanceIDs []string `json:"instanceIds"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return done(s.SendHealth(in.TypeCode, in.InstanceIDs...))
}

func (s *Sim) adminMessage(body []byte) (any, error) {
	var in struct {
		Body string `json:"body"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return done(s.SendRaw(in.Body))
}

func (s *Sim) adminImpair(body []byte) (any, error) {
	var in struct {
		InstanceID string `json:"instanceId"`
		System     bool   `json:"system"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return done(s.Impair(in.InstanceID, in.System))
}

func (s *Sim) adminFail(body []byte) (any, error) {
	var in Fault
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Action == "" || in.Code == "" {
		return nil, errors.New("action and code are both needed")
	}
	s.Fail(in)
	return done(nil)
}

func (s *Sim) adminLimit(body []byte) (any, error) {
	var in struct {
		Action    string  `json:"action"`
		Burst     float64 `json:"burst"`
		PerSecond float64 `json:"perSecond"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.SetLimit(in.Action, Limit{Burst: in.Burst, PerSecond: in.PerSecond})
	return done(nil)
}

func (s *Sim) adminAdvance(body []byte) (any, error) {
	var in struct {
		Duration string `json:"duration"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Duration)
	if err != nil {
		return nil, fmt.Errorf("duration: %w", err)
	}
	if err := s.Advance(d); err != nil {
		return nil, err
	}
	return map[string]time.Time{"now": s.Now()}, nil
}

func (s *Sim) adminPrice(body []byte) (any, error) {
	var in struct {
		InstanceType string `json:"instanceType"`
		Zone         string `json:"zone"`
		MicroUSD     int64  `json:"microUSD"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return done(s.SetSpotPrice(in.InstanceType, in.Zone, in.MicroUSD))
}

func (s *Sim) adminAddresses(body []byte) (any, error) {
	var in struct {
		SubnetID string `json:"subnetId"`
		Free     int64  `json:"free"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return done(s.SetFreeAddresses(in.SubnetID, in.Free))
}

func (s *Sim) adminParameter(body []byte) (any, error) {
	var in struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, errors.New("name is missing")
	}
	s.SetParameter(in.Name, in.Value)
	return done(nil)
}

func (s *Sim) adminImages(body []byte) (any, error) {
	var in struct {
		Stamp string `json:"stamp"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return s.PublishImages(in.Stamp)
}

func (s *Sim) adminKubelets(body []byte) (any, error) {
	var in struct {
		Held bool `json:"held"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.HoldKubelets(in.Held)
	return done(nil)
}
