package etcd

import (
	"fmt"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestBatchOfMaxBytesIsTaken fills a batch with large claims: what counts as MaxBytes must fit etcd's own limit.
func TestBatchOfMaxBytesIsTaken(t *testing.T) {
	s := connect(t, start(t), "c")
	term, err := s.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	claim := func(i int) model.Claim {
		c := model.Claim{ID: model.ClaimID(fmt.Sprintf("c%d", i)), State: model.ClaimPlanned, Reached: model.ClaimPlanned}
		for p := range 250 {
			c.Pods = append(c.Pods, model.PodID(fmt.Sprintf("a-team-with-a-long-name/a-deployment-with-a-long-name-5d4f8c9b7f-ab%03d", p)))
		}
		for range 60 {
			c.Offerings = append(c.Offerings, model.RankedOffering{InstanceType: "m5d.24xlarge", Zone: "us-east-1a", CapacityType: model.Spot, Price: 1 << 40})
		}
		return c
	}
	var b store.Batch
	for size := 0; size < store.MaxBytes; size += store.ClaimBytes(claim(0)) {
		b.PutClaims = append(b.PutClaims, claim(len(b.PutClaims)))
	}
	if _, err := s.Commit(t.Context(), term.Fence, b); err != nil {
		t.Errorf("%d claims: %v", len(b.PutClaims), err)
	}
	for len(b.PutClaims) < store.MaxWrites {
		b.PutClaims = append(b.PutClaims, claim(len(b.PutClaims)))
	}
	if _, err := s.Commit(t.Context(), term.Fence, b); err == nil {
		t.Errorf("etcd took %d claims of %d bytes, so that MaxBytes could be larger", len(b.PutClaims), store.ClaimBytes(claim(0)))
	}
}
