package interrupt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func event(source, detailType, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-1","source":%q,"account":"111122223333","region":"us-east-1",
		"time":"2026-01-02T03:04:05Z","detail-type":%q,"resources":[],"detail":%s}`, source, detailType, detail)
}

func TestParse(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		body string
		want Message
	}{
		"a spot interruption ends the instance two minutes after the event": {
			event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1","instance-action":"terminate"}`),
			Message{Notices: []model.Notice{{
				ID: "e-1", Kind: model.NoticeSpotInterruption, InstanceID: "i-1", EventTime: at, Deadline: at.Add(2 * time.Minute),
			}}},
		},
		"an interruptible reservation takes its instance back as spot does": {
			event("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-1","instance-action":"terminate"}`),
			Message{Notices: []model.Notice{{
				ID: "e-1", Kind: model.NoticeSpotInterruption, InstanceID: "i-1", EventTime: at, Deadline: at.Add(2 * time.Minute),
			}}},
		},
		"a rebalance recommendation sets no deadline": {
			event("aws.ec2", "EC2 Instance Rebalance Recommendation", `{"instance-id":"i-1"}`),
			Message{Notices: []model.Notice{{ID: "e-1", Kind: model.NoticeRebalanceRecommendation, InstanceID: "i-1", EventTime: at}}},
		},
		"a state change that ends the instance counts, in whatever case it is written": {
			event("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-1","state":"Terminated"}`),
			Message{Notices: []model.Notice{{ID: "e-1", Kind: model.NoticeStateChange, InstanceID: "i-1", EventTime: at, InstanceState: "terminated"}}},
		},
		"an instance that has stopped has no time left": {
			event("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-1","state":"stopped"}`),
			Message{Notices: []model.Notice{{
				ID: "e-1", Kind: model.NoticeStateChange, InstanceID: "i-1", EventTime: at, Deadline: at, InstanceState: "stopped",
			}}},
		},
		"a state change of a launch is ignored": {
			event("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-1","state":"running"}`), Message{},
		},
		"health of another service is ignored": {
			event("aws.health", "AWS Health Event", `{"service":"RDS","eventTypeCategory":"scheduledChange"}`), Message{},
		},
		"a message of another kind is ignored": {event("aws.s3", "Object Created", `{}`), Message{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Time = at
			if d := cmp.Diff(tt.want, got, cmp.Transformer("utc", func(t time.Time) string { return t.UTC().String() })); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ body, field string }{
		"no JSON":               {"hello", "no EventBridge event"},
		"another JSON":          {`{"a":1}`, "is missing"},
		"an event without time": {`{"id":"e","source":"aws.ec2","detail-type":"x"}`, `"time"`},
		"a detail of odd shape": {event("aws.ec2", "EC2 Spot Instance Interruption Warning", `[]`), `"detail"`},
		"no instance id":        {event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{}`), "detail.instance-id"},
		"a time before there was one": {
			strings.Replace(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`), "2026", "0000", 1), `"time"`,
		},
		"a time at the end of all": {
			strings.Replace(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`), "2026-01-02T03:04:05Z", "9999-12-31T23:59:59Z", 1), `"time"`,
		},
		"an id that no store takes": {
			strings.Replace(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`), "e-1", `e\u0000`, 1), `"id"`,
		},
		"an id without an end": {
			strings.Replace(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`), "e-1", strings.Repeat("e", maxID+1), 1), `"id"`,
		},
		"an instance id that no store takes": {event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-\u0000"}`), "detail.instance-id"},
		"an event of AWS Health likewise": {
			event("aws.health", "AWS Health Event", `{"eventArn":"arn\u0000","service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-1"}]}`),
			"detail.eventArn",
		},
		"more than SQS carries": {strings.Repeat("x", MaxBody+1), "limit"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tt.body)
			if err == nil || !strings.Contains(err.Error(), tt.field) {
				t.Errorf("error %v does not name %s", err, tt.field)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(event("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`))
	f.Add(event("aws.health", "AWS Health Event", `{"service":"EC2","eventTypeCategory":"scheduledChange"}`))
	f.Fuzz(func(t *testing.T, body string) {
		m, err := Parse(body)
		if err != nil && m.Notices != nil {
			t.Error("notices beside an error")
		}
		for _, n := range m.Notices {
			if n.ID == "" || !isInstance(n.InstanceID) || n.Kind == 0 || strings.Contains(n.ID, "\x00") || !isTime(n.EventTime) || !n.StartTime.IsZero() && !isTime(n.StartTime) {
				t.Errorf("incomplete notice %+v", n)
			}
		}
	})
}
