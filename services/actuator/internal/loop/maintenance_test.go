package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	retirement = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"
	reboot     = "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"
)

// maintenance is what AWS Health says at a time about an instance.
func maintenance(at time.Time, instance, code, status string, start time.Time) string {
	return fmt.Sprintf(`{"version":"0","id":"e-%d","detail-type":"AWS Health Event","source":"aws.health","account":"1","time":%q,
		"region":"us-east-1","resources":[],"detail":{"eventArn":"arn:aws:health:us-east-1::event/EC2/X/1","service":"EC2",
		"eventTypeCode":%q,"eventTypeCategory":"scheduledChange","statusCode":%q,"startTime":%q,
		"affectedEntities":[{"entityValue":%q}]}}`,
		at.Unix(), at.UTC().Format(time.RFC3339), code, status, start.UTC().Format(time.RFC1123), instance)
}

// scheduled starts a loop with one node and a pod on it that no budget lets go, and says that AWS will work on its
// instance.
func (r *rig) scheduled(code string, in time.Duration) time.Time {
	r.t.Helper()
	r.start()
	r.grow("c1")
	web := pod("web")
	web.GracePeriod = time.Minute
	r.kube.run("c1", web)
	r.kube.change(func() { r.kube.budget = true })
	start := time.Now().Add(in).Truncate(time.Second)
	r.ec2.Send(maintenance(time.Now(), r.claim("c1").InstanceID, code, "upcoming", start))
	r.until("the notice is stored", time.Minute, func() bool {
		c, err := r.store.Load(r.t.Context())
		return err == nil && len(c.Notices) == 1
	})
	return start
}

func TestMaintenanceIsDrainedForShortlyBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		start := r.scheduled(retirement, 4*time.Hour)
		time.Sleep(time.Until(start.Add(-lifecycle.MaintenanceLead - time.Minute)))
		if c := r.claim("c1"); c.State != model.ClaimInitialized {
			t.Fatalf("%s more than an hour before the maintenance", c.State)
		}
		r.stop() // a later leader knows of it
		r.start()
		r.reaches("c1", model.ClaimDraining)
		if before := time.Until(start); before < 55*time.Minute || before > lifecycle.MaintenanceLead {
			t.Errorf("drained %s before the maintenance", before)
		}
		r.until("the pod is deleted by force", 2*time.Hour, func() bool { return slices.Contains(r.kube.evictions(), "web force=true") })
		e := r.kube.Evictions()[len(r.kube.Evictions())-1]
		if before := time.Until(start); before > 2*time.Minute || e.Grace != time.Minute {
			t.Errorf("the pod was deleted %s before the maintenance with %s of grace, want its own, and not before it must", before, e.Grace)
		}
		r.reaches("c1", model.ClaimGone)
	})
}

func TestMaintenanceThatIsCalledOffDrainsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		start := r.scheduled(retirement, 3*time.Hour)
		time.Sleep(90 * time.Minute)
		r.ec2.Send(maintenance(time.Now(), r.claim("c1").InstanceID, retirement, "closed", start))
		time.Sleep(2 * time.Hour)
		if c := r.claim("c1"); c.State != model.ClaimInitialized || len(r.kube.evictions()) > 0 {
			t.Errorf("%s, evicted %v, though nothing is to happen any more", c.State, r.kube.evictions())
		}
	})
}

func TestMaintenanceThatIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first := r.scheduled(retirement, 3*time.Hour)
		announced := time.Now()
		time.Sleep(30 * time.Minute)
		later := first.Add(2 * time.Hour)
		r.ec2.Send(maintenance(time.Now(), r.claim("c1").InstanceID, retirement, "upcoming", later))
		time.Sleep(time.Minute)
		r.ec2.Send(maintenance(announced, r.claim("c1").InstanceID, retirement, "upcoming", first)) // comes again, and late
		time.Sleep(time.Until(first))
		if c := r.claim("c1"); c.State != model.ClaimInitialized {
			t.Fatalf("%s, though the maintenance was put off", c.State)
		}
		time.Sleep(time.Until(later) - 30*time.Minute)
		if c := r.claim("c1"); c.State != model.ClaimDraining {
			t.Errorf("%s half an hour before the maintenance", c.State)
		}
	})
}

// TestOfWhatAWSSaysTheLastCounts has several messages about an event come in one answer, and not in their order.
func TestOfWhatAWSSaysTheLastCounts(t *testing.T) {
	for name, c := range map[string]struct {
		said   []string // what, a second after the other
		order  []int    // in which it comes
		drains bool
	}{
		"it is put off":                {[]string{"soon", "later"}, []int{1, 0}, false},
		"it is called off":             {[]string{"soon", "closed"}, []int{1, 0}, false},
		"it is called off after all":   {[]string{"later", "soon", "closed"}, []int{2, 0, 1}, false},
		"it is to be, in spite of all": {[]string{"soon", "closed", "soon"}, []int{2, 1, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				start := r.scheduled(reboot, 24*time.Hour) // known for long
				r.ec2.Hold(true)
				time.Sleep(time.Minute)
				at, instance := time.Now(), r.claim("c1").InstanceID
				for _, i := range c.order {
					when, status := start, "upcoming"
					switch c.said[i] {
					case "soon":
						when = at.Add(time.Hour)
					case "closed":
						status = "closed"
					}
					r.ec2.Send(maintenance(at.Add(time.Duration(i)*time.Second), instance, reboot, status, when))
				}
				r.ec2.Hold(false)
				r.drained()
				time.Sleep(time.Minute)
				if drains := r.claim("c1").State == model.ClaimDraining; drains != c.drains {
					t.Errorf("drained: %v, want %v", drains, c.drains)
				}
			})
		})
	}
}

// TestWhatIsCalledOffIsWhatWasSaidBefore has an old message come after a newer one was stored, alone and beside the
// newer one's copy.
func TestWhatIsCalledOffIsWhatWasSaidBefore(t *testing.T) {
	for name, again := range map[string]bool{"alone": false, "beside a copy of the newer one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.scheduled(reboot, 24*time.Hour)
				at, instance := time.Now().Add(time.Minute), r.claim("c1").InstanceID
				newer := maintenance(at.Add(2*time.Second), instance, reboot, "upcoming", at.Add(3*time.Hour))
				time.Sleep(2 * time.Minute)
				r.ec2.Send(newer)
				time.Sleep(time.Minute)
				r.ec2.Hold(true)
				r.ec2.Send(maintenance(at.Add(time.Second), instance, reboot, "closed", at.Add(time.Hour)))
				if again {
					r.ec2.Send(newer)
				}
				r.ec2.Hold(false)
				r.drained()
				time.Sleep(time.Minute)
				if len(r.notices()) == 0 {
					t.Error("what was said last is lost")
				}
			})
		})
	}
}

// TestMaintenanceForcesNothing drains as budgets allow where an instance goes on after the maintenance, and where it
// has begun already.
func TestMaintenanceForcesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		in   time.Duration
	}{
		"a reboot":                               {reboot, 30 * time.Minute},
		"a retirement whose start is past":       {retirement, -time.Hour},
		"a retirement whose start is in seconds": {retirement, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.scheduled(c.code, c.in)
				r.reaches("c1", model.ClaimDraining)
				time.Sleep(time.Hour)
				if got := r.kube.evictions(); len(got) > 0 {
					t.Errorf("%s, though no budget allows it", strings.Join(got, ", "))
				}
				r.kube.change(func() { r.kube.budget = false })
				r.reaches("c1", model.ClaimGone)
				if got := r.kube.evictions(); !slices.Equal(got, []string{"web force=false"}) {
					t.Errorf("evicted %v, want the pod once, and not by force", got)
				}
			})
		})
	}
}

// TestWhatWasCalledOffStaysSo has an announcement come again after its withdrawal, and one come only then.
func TestWhatWasCalledOffStaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		said := time.Now()
		start := r.scheduled(retirement, 3*time.Hour)
		id := r.claim("c1").InstanceID
		announced := maintenance(said, id, retirement, "upcoming", start)
		stored := func() int {
			c, err := r.store.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(c.Notices)
		}
		time.Sleep(time.Minute)
		r.ec2.Send(maintenance(time.Now(), id, retirement, "closed", start))
		r.until("it is called off", time.Minute, func() bool { return stored() == 0 })
		r.ec2.Send(announced)
		time.Sleep(time.Minute)
		if stored() != 0 {
			t.Error("what was called off is stored again")
		}
		r.ec2.Send(maintenance(time.Now(), id, retirement, "upcoming", start))
		r.until("what is announced anew is stored", time.Minute, func() bool { return stored() == 1 })
	})
}
