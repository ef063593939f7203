package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

func p(name string, edit func(*cluster.Pod)) cluster.Pod {
	out := cluster.Pod{Namespace: "d", Name: name, UID: "u-" + name, GracePeriod: 30 * time.Second, Owner: "rs"}
	if edit != nil {
		edit(&out)
	}
	return out
}

func TestPlanDrain(t *testing.T) {
	daemon := func(x *cluster.Pod) { x.Daemon = true }
	critical := func(x *cluster.Pod) { x.Critical = true }
	keep := func(x *cluster.Pod) { x.DoNotDisrupt = true }
	for name, c := range map[string]struct {
		pods     []cluster.Pod
		volumes  int
		ready    bool
		begun    time.Time
		tainted  time.Time
		deadline time.Time
		held     map[string]bool
		blocked  map[string]string
		evicts   []string // with "!" when by force, and the grace
		done     bool
		waits    bool
		wake     time.Time
	}{
		"a node without pods is done":                                           {done: true},
		"pods that the scheduler binds before it sees the taint may still come": {tainted: at(0).Add(-time.Second), wake: at(0).Add(time.Second)},
		"they are waited for no longer than there is time":                      {tainted: at(0), deadline: at(.025), wake: at(.025)},
		"where the taint can't be put there they may come from its begin on":    {begun: at(0), wake: at(0).Add(2 * time.Second)},
		"and for two seconds":                                                   {tainted: at(0).Add(-2 * time.Second), done: true},
		"pods that need not go do not hold it up": {
			pods: []cluster.Pod{
				p("finished", func(x *cluster.Pod) { x.Finished = true }), p("mirror", func(x *cluster.Pod) { x.Mirror = true }),
				p("stays", func(x *cluster.Pod) { x.ToleratesDisrupted = true }),
				p("stuck", func(x *cluster.Pod) { x.DeletionTime = at(-2) }),
			},
			done: true,
		},
		"plain pods leave first": {
			pods:   []cluster.Pod{p("a", nil), p("ds", daemon), p("crit", critical)},
			evicts: []string{"a"},
		},
		"then DaemonSet pods":   {pods: []cluster.Pod{p("ds", daemon), p("crit", critical)}, evicts: []string{"ds"}},
		"then critical pods":    {pods: []cluster.Pod{p("crit", critical), p("both", func(x *cluster.Pod) { daemon(x); critical(x) })}, evicts: []string{"crit"}},
		"then critical daemons": {pods: []cluster.Pod{p("both", func(x *cluster.Pod) { daemon(x); critical(x) })}, evicts: []string{"both"}},
		"a tier waits for the one before until it is gone": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(.5) }), p("crit", critical)},
			wake: at(1.5),
		},
		"a protected pod waits":                   {pods: []cluster.Pod{p("a", keep)}, waits: true},
		"a protected pod does not hold up others": {pods: []cluster.Pod{p("a", keep), p("b", nil)}, evicts: []string{"b"}, waits: true},
		"protection for a time ends": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { keep(x); x.DoNotDisruptUntil = at(5) })}, waits: true, wake: at(5),
		},
		"protection that has ended does not count": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { keep(x); x.DoNotDisruptUntil = at(-1) })}, evicts: []string{"a"},
		},
		"a budget that says no is asked again, and told of": {
			pods: []cluster.Pod{p("a", nil)}, blocked: map[string]string{"d/a": "not now"}, evicts: []string{"a"}, waits: true,
		},
		"a held pod is not asked yet": {pods: []cluster.Pod{p("a", nil)}, held: map[string]bool{"d/a": true}},
		"before its grace is needed a pod is only asked": {
			pods: []cluster.Pod{p("a", nil)}, deadline: at(2), evicts: []string{"a"}, wake: at(1.5),
		},
		"at the deadline less its grace it is deleted by force": {
			pods: []cluster.Pod{p("a", keep)}, deadline: at(.5), evicts: []string{"a!30s"}, wake: at(1.5),
		},
		"force ignores tiers and holds": {
			pods: []cluster.Pod{p("a", keep), p("crit", critical)}, held: map[string]bool{"d/a": true}, deadline: at(.25),
			evicts: []string{"a!15s", "crit!15s"}, wake: at(1.25),
		},
		"a grace longer than what is left is cut": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.GracePeriod = time.Hour })}, deadline: at(1), evicts: []string{"a!1m0s"}, wake: at(2),
		},
		"past the deadline a second is left": {pods: []cluster.Pod{p("a", nil)}, deadline: at(-.5), evicts: []string{"a!1s"}, wake: at(.5)},
		"what may not be deleted goes with the instance a minute past the deadline": {
			pods: []cluster.Pod{p("a", nil), p("crit", critical)}, volumes: 1, deadline: at(-1), done: true,
		},
		"a drain that begins past its deadline has as long": {
			pods: []cluster.Pod{p("a", nil)}, begun: at(0), deadline: at(-10), evicts: []string{"a!1s"}, wake: at(1),
		},
		"a pod that ends after the deadline is deleted at once": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(10) })}, deadline: at(.25), evicts: []string{"a!15s"}, wake: at(1.25),
		},
		"a pod that ends before the deadline is left alone": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(.2) })}, deadline: at(.25), wake: at(1.25),
		},
		"volumes are waited for":               {volumes: 2, waits: true},
		"volumes are waited for up to an end":  {volumes: 2, deadline: at(3), waits: true, wake: at(3)},
		"volumes are given up at the deadline": {volumes: 2, deadline: at(0), done: true},
		"volumes are not waited for where the kubelet is gone": {
			pods: []cluster.Pod{p("stuck", func(x *cluster.Pod) { x.DeletionTime = at(-2) })}, volumes: 1, done: true,
		},
		"those of a pod that may just be slow to end are": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(-2) })}, volumes: 1, ready: true, waits: true, wake: at(4),
		},
		"those of a pod that hangs are not": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(-6) })}, volumes: 1, ready: true, done: true,
		},
		"others are, all the same": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime = at(-6) })}, volumes: 2, ready: true, waits: true,
		},
		"a pod that hangs says nothing of volumes that it does not use": {
			pods: []cluster.Pod{p("other", func(x *cluster.Pod) { x.DeletionTime = at(-60) })}, volumes: 1, ready: true, waits: true,
		},
		"a pod that has ended, and only its finalizer holds, says nothing of its own": {
			pods: []cluster.Pod{p("a", func(x *cluster.Pod) { x.DeletionTime, x.Finished = at(-60), true })}, volumes: 1, ready: true, waits: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := cluster.Node{Name: "n", Pods: c.pods, Volumes: volumesOf(c.volumes), Ready: c.ready}
			d := PlanDrain(DrainInput{Node: node, Begun: c.begun, TaintTime: c.tainted, Deadline: c.deadline, Held: c.held, Blocked: c.blocked}, at(0))
			var evicts []string
			for _, e := range d.Evictions {
				text := e.Name
				if e.Force {
					text += "!" + e.Grace.String()
				}
				evicts = append(evicts, text)
			}
			if diff := cmp.Diff(c.evicts, evicts); diff != "" {
				t.Errorf("evictions (-want +got):\n%s", diff)
			}
			if d.Done != c.done || (d.Waits != "") != c.waits || !d.Wake.Equal(c.wake) {
				t.Errorf("done %v, waits %q, wake %s; want %v, %v, %s", d.Done, d.Waits, d.Wake, c.done, c.waits, c.wake)
			}
		})
	}
}

// volumesOf are volumes, each in use by a pod of its own.
func volumesOf(n int) []cluster.Volume {
	var out []cluster.Volume
	for _, x := range []string{"a", "b", "c", "d", "e"}[:n] {
		out = append(out, cluster.Volume{Name: "pv-" + x, Pods: []string{"u-" + x}})
	}
	return out
}

// Who has to find out why a drain does not end begins with the volume's name.
func TestADrainNamesTheVolumesThatItWaitsFor(t *testing.T) {
	for n, want := range map[int]string{
		1: "volume pv-a of node n is still attached",
		2: "volumes pv-a, pv-b of node n are still attached",
		5: "volumes pv-a, pv-b, pv-c and 2 more of node n are still attached",
	} {
		if got := PlanDrain(DrainInput{Node: cluster.Node{Name: "n", Volumes: volumesOf(n), Ready: true}}, at(0)).Waits; got != want {
			t.Errorf("it waits because %q, want %q", got, want)
		}
	}
}

func TestPodsThatAreHardToPlaceAreEvictedFirst(t *testing.T) {
	size := func(size int64, tied bool) func(*cluster.Pod) {
		return func(x *cluster.Pod) { x.Size, x.Tied = size, tied }
	}
	node := cluster.Node{Pods: []cluster.Pod{
		p("small", size(1, false)), p("large", size(4, false)), p("tied", size(2, true)), p("as-large", size(4, false)), p("tied-large", size(3, true)),
	}}
	var got []string
	for _, e := range PlanDrain(DrainInput{Node: node}, at(0)).Evictions {
		got = append(got, e.Name)
	}
	if d := cmp.Diff([]string{"tied-large", "tied", "large", "as-large", "small"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLeaving(t *testing.T) {
	n := cluster.Node{Pods: []cluster.Pod{
		p("z", nil), p("a", nil), p("ds", func(x *cluster.Pod) { x.Daemon = true }), p("done", func(x *cluster.Pod) { x.Finished = true }),
	}}
	if d := cmp.Diff([]string{"d/a", "d/z"}, LeavingPods(n, at(0))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
