package mutate

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
)

// ending breaks the rules about pods that are being deleted.
func ending() []Mutation {
	const ending = gen.Nodes | gen.Ending
	deadlines := func(at func(*model.Input) time.Time) func(*model.Input) {
		return func(in *model.Input) {
			for i := range in.Snapshot.Pods {
				if p := &in.Snapshot.Pods[i]; p.Terminating {
					p.TerminationDeadline = at(in)
				}
			}
		}
	}
	return slices.Concat(want(judge.Misfit, []Mutation{
		{
			Name: "pods that are ending are as good as gone", Families: ending | gen.PodAntiAffinity | gen.Ports,
			Believe: deadlines(func(in *model.Input) time.Time { return in.Now }),
		},
		{Name: "pods that come back leave their room", Families: ending | gen.Volumes, Believe: classes(func(c *model.PodClass) {
			if c.OwnerKind == "StatefulSet" {
				c.OwnerKind = "ReplicaSet"
			}
		})},
		{Name: "room is waited for whatever the policy says", Families: ending, Believe: func(in *model.Input) { in.Policy.RoomWait = nil }},
	}), want(judge.Missed, []Mutation{
		{Name: "pods that are ending stay", Families: ending, Believe: deadlines(func(*model.Input) time.Time { return time.Time{} })},
	}))
}
