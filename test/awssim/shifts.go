package awssim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// shift is traffic that is moved away from a zone; one without an end is an autoshift, which AWS begins and ends.
type shift struct {
	id, zoneID   string
	began, until time.Time
}

// over says that the shift has ended by itself.
func (x shift) over(now time.Time) bool { return !x.until.IsZero() && !now.Before(x.until) }

// ShiftAway moves the cluster's traffic away from a zone, for so long; zero is until ShiftBack, as AWS does by itself.
func (s *Sim) ShiftAway(zone string, lasts time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, now := s.zoneIDs[zone], s.clock.Now()
	switch {
	case !s.cfg.ZonalShift:
		return errors.New("the cluster is not enabled for zonal shifts")
	case id == "":
		return fmt.Errorf("there is no zone %s", zone)
	case slices.ContainsFunc(s.shifts, func(x shift) bool { return !x.over(now) && x.until.IsZero() == (lasts == 0) }):
		return errors.New("there is such a shift already")
	}
	s.lastID++
	x := shift{id: fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.lastID), zoneID: id, began: now}
	if lasts > 0 {
		x.until = now.Add(lasts)
	}
	s.shifts = append(s.shifts, x)
	return nil
}

// ShiftBack ends all shifts away from a zone.
func (s *Sim) ShiftBack(zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.zoneIDs[zone]
	s.shifts = slices.DeleteFunc(s.shifts, func(x shift) bool { return x.zoneID == id })
}

// serveShifts answers GET /managedresources/{resourceIdentifier}.
func (s *Sim) serveShifts(w http.ResponseWriter, r *http.Request) {
	const contentType = "application/json"
	const action = "arc-zonal-shift:GetManagedResource"
	arn, wrong := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/managedresources/"))
	out, err := s.call(r.Context(), action, func(context.Context) (any, error) {
		if err := signed(r); err != nil {
			return nil, err
		}
		if wrong != nil || !strings.HasPrefix(arn, "arn:") {
			return nil, fail("ValidationException", "Invalid resource identifier.")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.managedResource(arn)
	})
	if err != nil {
		writeJSONError(w, contentType, err)
		return
	}
	writeJSON(w, contentType, http.StatusOK, out)
}

// managedResource is the cluster, with its shifts: a user's comes before AWS's, and one is applied.
func (s *Sim) managedResource(arn string) (any, error) {
	if arn != s.arn("eks", "cluster/"+s.cfg.Cluster) || !s.cfg.ZonalShift {
		return nil, fail("ResourceNotFoundException", "The resource %s is not registered with ARC.", arn)
	}
	now := s.clock.Now()
	s.shifts = slices.DeleteFunc(s.shifts, func(x shift) bool { return x.over(now) })
	byUser := slices.ContainsFunc(s.shifts, func(x shift) bool { return !x.until.IsZero() })
	weights := map[string]float64{}
	for _, n := range s.cfg.Subnets {
		weights[s.zoneIDs[n.Zone]] = 1
	}
	zonal, auto := []any{}, []any{}
	for _, x := range s.shifts {
		status := "APPLIED"
		if byUser && x.until.IsZero() {
			status = "NOT_APPLIED"
		} else {
			weights[x.zoneID] = 0
		}
		is := map[string]any{"appliedStatus": status, "awayFrom": x.zoneID, "startTime": x.began.Unix()}
		if x.until.IsZero() {
			auto = append(auto, is)
			continue
		}
		is["comment"], is["expiryTime"], is["resourceIdentifier"], is["zonalShiftId"] = "simulated", x.until.Unix(), arn, x.id
		zonal = append(zonal, is)
	}
	return map[string]any{
		"arn": arn, "name": s.cfg.Cluster, "appliedWeights": weights, "zonalShifts": zonal, "autoshifts": auto, "zonalAutoshiftStatus": "ENABLED",
	}, nil
}

func (s *Sim) adminShift(body []byte) (any, error) {
	var in struct {
		Zone    string  `json:"zone"`
		Seconds float64 `json:"seconds"`
		Back    bool    `json:"back"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Back {
		s.ShiftBack(in.Zone)
		return done(nil)
	}
	return done(s.ShiftAway(in.Zone, time.Duration(in.Seconds*float64(time.Second))))
}
