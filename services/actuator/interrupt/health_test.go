package interrupt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

// scheduled is a scheduled change of an event with the ARN "arn".
func scheduled(code, status, start, entities string) string {
	return event("aws.health", "AWS Health Event", fmt.Sprintf(`{"eventArn":"arn","service":"EC2","eventTypeCode":%q,
		"eventTypeCategory":"scheduledChange","statusCode":%q,"startTime":%q,"endTime":"Mon, 02 Feb 2026 12:00:00 GMT",
		"eventDescription":[{"language":"en_US","latestDescription":"text"}],"affectedEntities":[%s]}`, code, status, start, entities))
}

func TestScheduledChanges(t *testing.T) {
	const retirement, reboot, one = "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED",
		`{"entityValue":"i-1"}`
	at, start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 2, 2, 10, 0, 0, 0, time.UTC)
	notice := func(instance string, start, deadline time.Time) model.Notice {
		return model.Notice{
			ID: "arn/" + instance, Kind: model.NoticeScheduledChange, InstanceID: instance, EventTime: at, StartTime: start, Deadline: deadline,
		}
	}
	for name, tt := range map[string]struct {
		body  string
		want  Message
		doubt string
	}{
		"each instance, sorted; one that is retired is gone from the start on": {
			body: scheduled(retirement, "upcoming", "Mon, 02 Feb 2026 10:00:00 GMT", `{"entityValue":"i-2"},{"entityValue":"i-1"},{"entityValue":"vol-9"}`),
			want: Message{Notices: []model.Notice{notice("i-1", start, start), notice("i-2", start, start)}},
		},
		"one that is rebooted is not gone": {
			body: scheduled(reboot, "upcoming", "Mon, 02 Feb 2026 10:00:00 GMT", one), want: Message{Notices: []model.Notice{notice("i-1", start, time.Time{})}},
		},
		"nor one whose host's network is worked at": {
			body: scheduled("AWS_EC2_INSTANCE_NETWORK_MAINTENANCE_SCHEDULED", "open", "Mon, 02 Feb 2026 10:00:00 GMT", one),
			want: Message{Notices: []model.Notice{notice("i-1", start, time.Time{})}},
		},
		"a change of a kind that is not known may end it": {
			body: scheduled("AWS_EC2_SOMETHING_NEW", "upcoming", "Mon, 02 Feb 2026 10:00:00 GMT", one),
			want: Message{Notices: []model.Notice{notice("i-1", start, start)}},
		},
		"a day with one digit":    {body: scheduled(retirement, "upcoming", "Mon, 2 Feb 2026 10:00:00 GMT", one), want: Message{Notices: []model.Notice{notice("i-1", start, start)}}},
		"a time as EventBridge's": {body: scheduled(retirement, "upcoming", "2026-02-02T10:00:00Z", one), want: Message{Notices: []model.Notice{notice("i-1", start, start)}}},
		"no start":                {body: scheduled(retirement, "upcoming", "", one), want: Message{Notices: []model.Notice{notice("i-1", time.Time{}, time.Time{})}}},
		"a start that can't be read keeps the notice, and is told": {
			body: scheduled(retirement, "upcoming", "soon", one), want: Message{Notices: []model.Notice{notice("i-1", time.Time{}, time.Time{})}}, doubt: `"soon"`,
		},
		"a start that no store takes likewise": {
			body: scheduled(retirement, "upcoming", "0000-01-01T00:00:00Z", one), want: Message{Notices: []model.Notice{notice("i-1", time.Time{}, time.Time{})}}, doubt: `"0000-`,
		},
		"an event that is closed holds no longer": {
			body: scheduled(retirement, "closed", "Mon, 02 Feb 2026 10:00:00 GMT", `{"entityValue":"i-2"},{"entityValue":"i-1"}`),
			want: Message{Withdrawn: []string{"arn/i-1", "arn/i-2"}},
		},
		"nor for an instance that it does not concern any more": {
			body: scheduled(retirement, "open", "Mon, 02 Feb 2026 10:00:00 GMT", `{"entityValue":"i-2","status":"RESOLVED"},{"entityValue":"i-1","status":"PENDING"}`),
			want: Message{Notices: []model.Notice{notice("i-1", start, start)}, Withdrawn: []string{"arn/i-2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if (tt.doubt == "") != (got.Doubt == "") || !strings.Contains(got.Doubt, tt.doubt) {
				t.Errorf("doubt %q, want one with %q", got.Doubt, tt.doubt)
			}
			got.Doubt, tt.want.Time = "", at
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAnEventOfManyInstancesIsRead has AWS schedule something for a whole region's fleet at once.
func TestAnEventOfManyInstancesIsRead(t *testing.T) {
	var entities []string
	for i := range 5000 {
		entities = append(entities, fmt.Sprintf(`{"entityValue":"i-%017x","entityArn":"arn:aws:ec2:us-east-1:111122223333:instance/i-%017x","status":"PENDING"}`, i, i))
	}
	body := scheduled("AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED", "upcoming", "Mon, 02 Feb 2026 10:00:00 GMT", strings.Join(entities, ","))
	m, err := Parse(body)
	if err != nil || len(m.Notices) != len(entities) {
		t.Errorf("of %d bytes %d notices, %v, want %d", len(body), len(m.Notices), err, len(entities))
	}
}
