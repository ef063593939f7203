package interrupt

import (
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// ImpairedFor is how long an instance's status checks must have failed for it to be given up: most recover before.
const ImpairedFor = 2 * time.Minute

// statusID begins the ids of notices that EC2's checks gave.
const statusID = "ec2-status/"

// OfStatus says that a notice of this id was given by Statuses: it holds for as long as Statuses gives it.
func OfStatus(id string) bool { return strings.HasPrefix(id, statusID) }

// Statuses reads what EC2 finds wrong with instances: those whose checks have failed for long are to go at once, and
// what EC2 has scheduled is as if AWS Health had told it.
func Statuses(list []cloud.Status, now time.Time) []model.Notice {
	var out []model.Notice
	for _, s := range list {
		if s.Impaired && !now.Before(s.ImpairedSince.Add(ImpairedFor)) {
			out = append(out, model.Notice{
				ID: statusID + s.InstanceID + "/impaired", Kind: model.NoticeStateChange, InstanceID: s.InstanceID,
				InstanceState: model.StateImpaired, EventTime: s.ImpairedSince, Deadline: s.ImpairedSince.Add(ImpairedFor),
			})
		}
		for _, e := range s.Events {
			if calledOff(e.Description) {
				continue
			}
			n := model.Notice{
				ID: statusID + s.InstanceID + "/" + e.ID, Kind: model.NoticeScheduledChange, InstanceID: s.InstanceID, EventTime: now,
				StartTime: e.NotBefore,
			}
			if e.Code == "instance-retirement" || e.Code == "instance-stop" {
				n.Deadline = e.NotBefore
			}
			out = append(out, n)
		}
	}
	return out
}

// calledOff says that an event is over: EC2 goes on listing it for a week, and writes so before its description.
func calledOff(description string) bool {
	return strings.HasPrefix(description, "[Completed]") || strings.HasPrefix(description, "[Canceled]")
}
