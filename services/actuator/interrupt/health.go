package interrupt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// healthDetail is the detail of an AWS Health event.
type healthDetail struct {
	EventARN          string `json:"eventArn"`
	Service           string `json:"service"`
	EventTypeCode     string `json:"eventTypeCode"`
	EventTypeCategory string `json:"eventTypeCategory"`
	StatusCode        string `json:"statusCode"` // upcoming, open or closed
	StartTime         string `json:"startTime"`
	AffectedEntities  []struct {
		EntityValue string `json:"entityValue"`
		Status      string `json:"status"`
	} `json:"affectedEntities"`
}

// health keeps scheduled changes of EC2. All messages about an event have its ARN: a later one says anew when it
// begins, or that it is over, for good or because AWS has called it off.
func health(e envelope) (Message, error) {
	var d healthDetail
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return Message{}, fmt.Errorf("%s %s: field \"detail\": %w", e.DetailType, e.ID, err)
	}
	if d.Service != "EC2" || d.EventTypeCategory != "scheduledChange" {
		return Message{}, nil
	}
	if !isID(d.EventARN) {
		return Message{}, fmt.Errorf("%s %s: field \"detail.eventArn\" is no id", e.DetailType, e.ID)
	}
	var out Message
	start, known := date(d.StartTime)
	if !known {
		out.Doubt = fmt.Sprintf("%s %s: field \"detail.startTime\" is %q, not a date: the change is taken to begin at any time",
			e.DetailType, e.ID, d.StartTime)
	}
	for _, a := range d.AffectedEntities {
		if !isInstance(a.EntityValue) {
			continue
		}
		n := model.Notice{
			ID: cmp.Or(d.EventARN, e.ID) + "/" + a.EntityValue, Kind: model.NoticeScheduledChange, InstanceID: a.EntityValue,
			EventTime: e.Time, StartTime: start,
		}
		if !survived(d.EventTypeCode) {
			n.Deadline = start
		}
		if over(d.StatusCode, a.Status) {
			out.Withdrawn = append(out.Withdrawn, n.ID)
		} else {
			out.Notices = append(out.Notices, n)
		}
	}
	slices.Sort(out.Withdrawn)
	slices.SortFunc(out.Notices, func(x, y model.Notice) int { return strings.Compare(x.InstanceID, y.InstanceID) })
	return out, nil
}

// over says that an event, or what it was to do to one instance, is done or called off.
func over(event, entity string) bool {
	return strings.EqualFold(event, "closed") || strings.EqualFold(entity, "RESOLVED") || strings.EqualFold(entity, "UNIMPAIRED")
}

// survived says that the instance goes on after such a change: a reboot, or maintenance of its host's power or network.
// Others, and those that are not known, end or stop it.
func survived(code string) bool {
	return strings.Contains(code, "REBOOT") || strings.Contains(code, "MAINTENANCE")
}

// date reads a time in the forms that AWS writes: mail's, with one digit for the first days of a month or two, and
// EventBridge's.
func date(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC1123, "Mon, 2 Jan 2006 15:04:05 MST", time.RFC1123Z, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil && isTime(t) {
			return t.UTC(), true
		}
	}
	return time.Time{}, s == ""
}
