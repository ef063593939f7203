package loop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// noQueue is a queue that SQS does not find, or says nothing of, as of any that the role's policy does not name.
type noQueue struct {
	cloud.Queue
	code string
}

func (q noQueue) Receive(context.Context) ([]cloud.Message, error) {
	return nil, fmt.Errorf(`find queue "mistyped": %w`, &smithy.GenericAPIError{Code: q.code, Message: "no"})
}

// TestAQueueThatIsNotThereIsSaidOfEachPool: that aws.queue was mistyped was a warning in the log, and an alert ten
// minutes later for who has alerts; what somebody looks at who installs Kerf said nothing of it.
func TestAQueueThatIsNotThereIsSaidOfEachPool(t *testing.T) {
	for _, code := range []string{"QueueDoesNotExist", "AccessDenied"} {
		t.Run(code, func(t *testing.T) { isSaidOfEachPool(t, code) })
	}
}

func isSaidOfEachPool(t *testing.T, code string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Queue = noQueue{c.Queue, code} }
		r.start()
		time.Sleep(time.Minute)
		r.hasEvent("NodePool", "default", "QueueUnavailable", `find queue "mistyped"`)
		r.grow("a") // it acts all the same
		r.kube.Edit(func(s *cluster.State) {
			s.Pools = append(s.Pools, cluster.Pool{NodePool: model.NodePool{Name: "new", NodeClass: "default"}})
		})
		time.Sleep(time.Minute)
		r.hasEvent("NodePool", "new", "QueueUnavailable", `find queue "mistyped"`)
		said := func() (n int) {
			for _, e := range r.kube.Events("NodePool", "default") {
				if e.Reason == "QueueUnavailable" {
					n++
				}
			}
			return n
		}
		if n := said(); n != 1 {
			t.Errorf("said %d times in two minutes, want once", n)
		}
		time.Sleep(4*time.Hour + 10*time.Minute)
		if n := said(); n != 5 {
			t.Errorf("said %d times in four hours, want again each hour, for which an event is kept", n)
		}
	})
}
