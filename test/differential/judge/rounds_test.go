package judge

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// TestAClusterThatNeverRestsIsSeen has plans buy a node where there is none, and remove one where there is.
func TestAClusterThatNeverRestsIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		rounds int // after which plans decide nothing any more; 0 for never
		want   int
	}{
		"a loop":                {want: 1},
		"some plans, then rest": {rounds: 5},
	} {
		t.Run(name, func(t *testing.T) {
			x := &trial{c: gen.New(1, 0), classes: map[model.ClassID]*model.PodClass{}, said: map[string]bool{}, made: nothing()}
			n := 0
			x.rest(func(in model.Input) (p model.Plan, err error) {
				if n++; n == c.rounds {
					return p, nil
				}
				if claims := in.Snapshot.Claims; len(claims) > 0 {
					p.Disruptions = []model.Disruption{{ID: "d", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{claims[0].ID}}}
					return p, nil
				}
				o, pool := in.Snapshot.Offerings[0], in.Snapshot.NodePools[0]
				p.NodeClaims = []model.NodeClaim{{ID: "c", NodePool: pool.Name, NodeClass: pool.NodeClass, Offerings: []model.RankedOffering{
					{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price},
				}}}
				return p, nil
			})
			if got := x.Count(Restless); got != c.want || len(x.Failures) != c.want {
				t.Errorf("%v, want %d restless", x.Failures, c.want)
			}
		})
	}
}
