// Package interrupt reads AWS's notices: the body of a queue message in, notices out; health.go reads those of AWS
// Health, which are about a time to come and may be withdrawn.
//
// It must never know where a message came from or what becomes of a notice. Messages that are none of Kerf's
// business (an instance that is starting, another service) give no notice and no error; a body that is not a
// notice at all is an error, so that the caller can tell the user. Start at Parse.
package interrupt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kerf-dev/kerf/services/core/model"
)

// MaxBody is the largest body that is read, in bytes: SQS's own limit.
const MaxBody = 1 << 20

// maxID is how long the id of an event or of an instance may be, in bytes: far more than AWS's are, and a part of what
// a store takes.
const maxID = 512

// SpotWarning is how long before the end EC2 announces it: an AWS constant.
const SpotWarning = 2 * time.Minute

// reservationWarning is what EC2 sends as long before it takes an instance of an interruptible capacity reservation back.
const reservationWarning = "EC2 Capacity Reservation Instance Interruption Warning"

// envelope is what EventBridge wraps every message in.
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// Message is what a message says.
type Message struct {
	// Time is when it was said: a queue keeps no order.
	Time time.Time
	// Notices are sorted by instance and carry no claim: the caller knows whose an instance is. One with the id of an
	// earlier one takes its place.
	Notices []model.Notice
	// Withdrawn are the ids of notices that hold no longer.
	Withdrawn []string
	// Doubt says what could not be read though the notices hold; "" when nothing.
	Doubt string
}

// Parse reads one message body.
func Parse(body string) (Message, error) {
	if len(body) > MaxBody {
		return Message{}, fmt.Errorf("message is %d bytes, the limit is %d", len(body), MaxBody)
	}
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return Message{}, fmt.Errorf("message is no EventBridge event: %w", err)
	}
	for field, value := range map[string]string{"id": e.ID, "source": e.Source, "detail-type": e.DetailType} {
		if value == "" {
			return Message{}, fmt.Errorf("message is no EventBridge event: field %q is missing", field)
		}
	}
	if e.Time.IsZero() {
		return Message{}, errors.New(`message is no EventBridge event: field "time" is missing`)
	}
	if !isID(e.ID) {
		return Message{}, errors.New(`message is no EventBridge event: field "id" is no id`)
	}
	if !isTime(e.Time) {
		return Message{}, fmt.Errorf(`message is no EventBridge event: field "time" is %s`, e.Time)
	}

	m, err := read(e)
	m.Time = e.Time
	return m, err
}

func read(e envelope) (Message, error) {
	switch {
	case e.Source == "aws.ec2" && (e.DetailType == "EC2 Spot Instance Interruption Warning" || e.DetailType == reservationWarning):
		return one(e, model.NoticeSpotInterruption, e.Time.Add(SpotWarning))
	case e.Source == "aws.ec2" && e.DetailType == "EC2 Instance Rebalance Recommendation":
		return one(e, model.NoticeRebalanceRecommendation, time.Time{})
	case e.Source == "aws.ec2" && e.DetailType == "EC2 Instance State-change Notification":
		return stateChange(e)
	case e.Source == "aws.health" && e.DetailType == "AWS Health Event":
		return health(e)
	default:
		return Message{}, nil
	}
}

// isID says that notices can be stored by the text.
func isID(s string) bool { return len(s) <= maxID && !strings.ContainsFunc(s, unicode.IsControl) }

// isTime says the same of a time, and of what is reckoned from it: a store that holds another can't be loaded.
func isTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 9000 }

func isInstance(id string) bool { return strings.HasPrefix(id, "i-") && isID(id) }

// instanceDetail is the detail of the notices that are about one instance.
type instanceDetail struct {
	InstanceID string `json:"instance-id"`
	State      string `json:"state"`
}

func detail(e envelope) (instanceDetail, error) {
	var d instanceDetail
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return d, fmt.Errorf("%s %s: field \"detail\": %w", e.DetailType, e.ID, err)
	}
	if !isInstance(d.InstanceID) {
		return d, fmt.Errorf("%s %s: field \"detail.instance-id\" is %.100q, not an instance id", e.DetailType, e.ID, d.InstanceID)
	}
	return d, nil
}

func one(e envelope, kind model.NoticeKind, deadline time.Time) (Message, error) {
	d, err := detail(e)
	if err != nil {
		return Message{}, err
	}
	return Message{Notices: []model.Notice{{ID: e.ID, Kind: kind, InstanceID: d.InstanceID, EventTime: e.Time, Deadline: deadline}}}, nil
}

// stateChange keeps the states that end an instance; the others are the normal course of a launch. On one that has
// stopped nothing runs any more, and what it had is out of time.
func stateChange(e envelope) (Message, error) {
	d, err := detail(e)
	if err != nil {
		return Message{}, err
	}
	state := strings.ToLower(d.State)
	if !slices.Contains([]string{"stopping", "stopped", "shutting-down", "terminated"}, state) {
		return Message{}, nil
	}
	n := model.Notice{ID: e.ID, Kind: model.NoticeStateChange, InstanceID: d.InstanceID, EventTime: e.Time, InstanceState: state}
	if state == "stopped" {
		n.Deadline = e.Time
	}
	return Message{Notices: []model.Notice{n}}, nil
}
