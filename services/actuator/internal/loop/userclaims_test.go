package loop

import (
	"testing"
	"time"
)

// TestAClaimThatAUserHasWrittenIsToldThatNothingIsDone: it stayed without a status, an event or a word in the log.
func TestAClaimThatAUserHasWrittenIsToldThatNothingIsDone(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("a")
		if err := r.kube.Apply(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: mine}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}
`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		r.hasEvent("NodeClaim", "mine", "NotSupported", "write a NodePool, with spec.replicas")
		if told := r.kube.Events("NodeClaim", "mine"); len(told) != 1 {
			t.Errorf("told %v in an hour, want one event", told)
		}
		for _, e := range r.kube.Events("NodeClaim", "a") {
			if e.Reason == "NotSupported" {
				t.Errorf("Kerf's own is told: %s", e.Message)
			}
		}
	})
}
