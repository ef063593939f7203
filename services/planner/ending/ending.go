// Package ending decides for whose room pods may wait: that of pods which will soon have left their nodes, where a node of
// their own would come no sooner.
//
// It places pods on what is there; it must never know what is bought. Start reading with Wait.
package ending

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Leave takes all pods off the counts of rules about other pods that will soon have left, where any wait for a place: none
// that comes is to rely on them, or to mind them.
func Leave(t *topology.Tally, v *view.View, waiting int) {
	if waiting == 0 {
		return
	}
	each(v, func(pod int, soon bool, _ time.Time) {
		if soon {
			topology.SetLeft(t, v, pod, true)
		}
	})
}

// Awaited says of pods that wait for others to leave until when they do at the latest, as long as they have these places.
type Awaited map[pack.Assignment]time.Time

// Wait gives pods what room there is, and to those that find none that of pods that leave, unless they have waited for
// long. Where none of them is to wait, nothing has changed. Leaving says that there are pods that leave.
func (a Awaited) Wait(s *pack.Scheduler, v *view.View, pods []int) (places []pack.Assignment, rest []int, leaving bool) {
	if len(pods) == 0 || !anyLeft(v) {
		return nil, pods, false
	}
	mark := s.Mark()
	places, left := s.OnHosts(market.Items(v.World, pods), EveryHost)
	setFree(v, true)
	var patient []int
	for _, p := range podsOf(left) {
		if rules.Patient(v.Pods[p].Pod, v.Policy.RoomWait, v.Now) {
			patient = append(patient, p)
		} else {
			rest = append(rest, p)
		}
	}
	later, left := s.OnHosts(market.Items(v.World, patient), EveryHost)
	if len(later) == 0 {
		s.Revert(mark)
		return nil, pods, true
	}
	setFree(v, false)
	rest = append(rest, podsOf(left)...)
	slices.Sort(rest)
	a.add(v, later)
	return append(places, later...), rest, true
}

// Last gives pods that nothing can be bought for the room of pods that leave, too, however long they have waited.
func (a Awaited) Last(s *pack.Scheduler, v *view.View, places []pack.Assignment, left []market.Item) ([]pack.Assignment, []market.Item) {
	if len(left) == 0 {
		return places, nil
	}
	setFree(v, true)
	defer setFree(v, false)
	more, left := s.OnHosts(left, EveryHost)
	last, left := s.OnLast(nil, left, EveryHost)
	a.add(v, more)
	a.add(v, last)
	return slices.Concat(places, more, last), left
}

// add notes pods that wait on nodes that there are: until the last of those that leave there is overdue, or of all where
// none does.
func (a Awaited) add(v *view.View, later []pack.Assignment) {
	if len(later) == 0 {
		return
	}
	last, all := make(map[int]time.Time), time.Time{}
	each(v, func(pod int, soon bool, until time.Time) {
		if h := v.Node(v.Pods[pod].Node).Index; soon && until.After(last[h]) {
			last[h], all = until, slices.MaxFunc([]time.Time{all, until}, time.Time.Compare)
		}
	})
	for _, s := range later {
		if v.Hosts[s.Host].Node == nil {
			continue // it waits for a claim in flight, for which its time says nothing
		}
		a[s] = all
		if until, ok := last[s.Host]; ok {
			a[s] = until
		}
	}
}

func anyLeft(v *view.View) (some bool) {
	each(v, func(pod int, _ bool, _ time.Time) { some = some || view.Left(v, pod) })
	return some
}

// setFree makes the room of all pods free that leave, or takes it back: what others were given of it is theirs.
func setFree(v *view.View, free bool) {
	each(v, func(pod int, _ bool, _ time.Time) {
		if view.Left(v, pod) {
			view.SetFree(v, pod, free)
		}
	})
}

// Stay takes all back: what is moved by choice does not wait for room. It returns when the first pod is overdue that
// was to leave; zero for none. Of the pods that have places, those wait, too, that rules about other pods keep off them
// until then.
func (a Awaited) Stay(t *topology.Tally, v *view.View, places []pack.Assignment) (overdue time.Time) {
	if !anyLeft(v) {
		return overdue
	}
	ruled := slices.DeleteFunc(slices.Clone(places), func(s pack.Assignment) bool {
		return s.Claim != nil || v.Hosts[s.Host].Node == nil || !t.Rules().CanRefuse(v.Pods[s.Pod].Class) || !allowed(t, v, s)
	})
	each(v, func(pod int, _ bool, until time.Time) {
		if !view.Left(v, pod) {
			return
		}
		overdue = rules.Earliest(overdue, until)
		topology.SetLeft(t, v, pod, false)
	})
	a.add(v, slices.DeleteFunc(ruled, func(s pack.Assignment) bool { return allowed(t, v, s) }))
	return overdue
}

// allowed says that rules about other pods let a pod be where it was placed.
func allowed(t *topology.Tally, v *view.View, s pack.Assignment) bool {
	mark, c := t.Mark(), v.Pods[s.Pod].Class
	defer t.Revert(mark)
	t.Add(c, t.Host(s.Host), -1)
	return t.CapacityOn(c, s.Host, 1) == 1
}

// each goes through the pods that are being deleted on nodes that are there. Those on nodes that go leave no room that
// any other can use.
func each(v *view.View, do func(pod int, soon bool, until time.Time)) {
	for i, h := range v.Hosts {
		if h.Node == nil || v.Removed(i) {
			continue
		}
		for _, p := range h.Pods {
			if pod := &v.Pods[p]; pod.Terminating {
				soon, until := rules.Leaves(pod.Pod, pod.Class.PodClass, h.Node, v.Policy.RoomWait, v.Now)
				do(p, soon, until)
			}
		}
	}
}

func podsOf(items []market.Item) (pods []int) {
	for _, it := range items {
		pods = append(pods, it.Pods...)
	}
	return pods
}

// EveryHost says yes of each.
func EveryHost(int) bool { return true }
