package view

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// View is the free capacity of all hosts, changed by trying things out. Fork marks a state, Revert goes back to it. A View
// belongs to one goroutine.
type View struct {
	*World
	Hosts []*Host

	nodes   map[model.NodeName]*Host
	free    []Vector
	volumes []Vector
	// shared counts, by host and name, the pods that use a volume which others may use too; owned those of an owner, where
	// the policy caps them.
	shared    []map[string]int64
	owned     []map[rules.Owner]int64
	drivers   *Index
	ports     [][]model.HostPort
	removed   []bool
	nominated []int
	// left are the pods that count as ones that have left.
	left     map[int]bool
	journal  []change
	follower Follower
	also     Follower
	// spare and places are memory for Fold.
	spare  []Pod
	places []int32
}

// Follower keeps count of what is placed in a View, and goes back when the View does. *topology.Tally is one.
type Follower interface {
	// Placed is called with pods that were placed on a host.
	Placed(host int, c *Class, count int)
	// Fork marks the follower's state, Back goes back to it.
	Fork() int
	Back(mark int)
}

// change is one step, written down so that it can be taken back.
type change struct {
	host  int
	class *Class
	// count is how many pods were placed; 0 means that the host was removed, or one of the following is set.
	count int
	ports int
	// left is the pod that was set to have left, or not; room is how many pods of the class more have room on the host,
	// or with -1 fewer, and had are the ports that were taken before.
	left *int
	set  bool
	room int64
	had  []model.HostPort
}

// Mark is a state of a View, and of what follows it, to go back to.
type Mark struct{ steps, follower, also int }

// NewView puts the pods that are bound onto their hosts.
func NewView(w *World) *View {
	v := &View{World: w, Hosts: hostBuilder{w}.hosts(), drivers: drivers(w.Snapshot)}
	n := len(v.Hosts)
	v.free, v.volumes = vectors(n, w.Index.Len()), vectors(n, v.drivers.Len())
	v.ports, v.removed, v.nominated = make([][]model.HostPort, n), make([]bool, n), make([]int, n)
	v.shared, v.owned = make([]map[string]int64, n), make([]map[rules.Owner]int64, n)
	v.left = make(map[int]bool)
	v.nodes = make(map[model.NodeName]*Host, n)
	for i, h := range v.Hosts {
		if h.Node != nil {
			v.nodes[h.Node.Name] = h
		}
		v.fill(i)
	}
	return v
}

// vectors are n vectors side by side: a loop over all hosts reads memory in order.
func vectors(n, length int) []Vector {
	all, out := make(Vector, n*length), make([]Vector, n)
	for i := range out {
		out[i] = all[i*length : (i+1)*length : (i+1)*length]
	}
	return out
}

// fill sets a host's free capacity to what the pods that are bound to it leave.
func (v *View) fill(host int) {
	h := v.Hosts[host]
	copy(v.free[host], h.Allocatable)
	hostBuilder{v.World}.attachLimits(h, v.drivers, v.volumes[host])
	v.ports[host], v.shared[host], v.owned[host] = v.ports[host][:0], nil, nil
	for _, p := range h.Pods {
		v.place(host, v.Pods[p].Class, 1)
	}
}

// Node is the host that is a node; nil where there is none of that name.
func (v *View) Node(name model.NodeName) *Host { return v.nodes[name] }

// Free is what is left on a host. The caller must not change it.
func (v *View) Free(host int) Vector { return v.free[host] }

// Ports are those taken on a host. The caller must not change it.
func (v *View) Ports(host int) []model.HostPort { return v.ports[host] }

// Owned is how many pods of an owner a host has, where the policy caps them.
func (v *View) Owned(host int, o rules.Owner) int64 { return v.owned[host][o] }

// Open says whether the host may take more pods.
func (v *View) Open(host int) bool { return !v.removed[host] && !v.Hosts[host].Closed }

// Removed says whether the host was given up in this view.
func (v *View) Removed(host int) bool { return v.removed[host] }

// Nominated is how many pods were placed on a host since NewView.
func (v *View) Nominated(host int) int { return v.nominated[host] }

// Place puts pods of a class onto a host. It does not check that they fit.
func (v *View) Place(host int, c *Class, count int) {
	v.journal = append(v.journal, change{host: host, class: c, count: count, ports: len(v.ports[host])})
	v.nominated[host] += count
	v.place(host, c, int64(count))
	if v.follower != nil {
		v.follower.Placed(host, c, count)
	}
	if v.also != nil {
		v.also.Placed(host, c, count)
	}
}

// SetLeft says that a pod counts as one that has left its host, or as there again. Whether its room is free is SetFree's to
// say. What follows the view is told of neither.
func SetLeft(v *View, pod int, left bool) {
	v.journal = append(v.journal, change{host: -1, left: &pod, set: left})
	v.left[pod] = left
}

// Left says whether a pod counts as one that has left.
func Left(v *View, pod int) bool { return v.left[pod] }

// SetFree makes the room free that a pod has on its host, because it will have gone by the time that others come, or takes
// it back, of which others may have been given a part.
func SetFree(v *View, pod int, free bool) {
	h, c := v.nodes[v.Pods[pod].Node].Index, v.Pods[pod].Class
	v.journal = append(v.journal, change{host: h, class: c, room: Less(free), had: v.ports[h]})
	v.place(h, c, Less(free))
	if free && len(c.HostPorts) > 0 {
		v.ports[h] = slices.Clone(v.ports[h])
		for _, port := range c.HostPorts {
			i := slices.Index(v.ports[h], port)
			v.ports[h] = slices.Delete(v.ports[h], i, i+1)
		}
	}
}

// Less is how many pods more a host has once one has left, or has come back.
func Less(left bool) int64 {
	if left {
		return -1
	}
	return 1
}

// Follow lets f know of every Place, Fork and Revert from now on, in the place of what followed before. Marks from before
// are not to be used any more.
func (v *View) Follow(f Follower) { v.follower = f }

// FollowAlso is Follow for a second follower beside the first. It must have nothing to go back to that is older than this
// call; nil ends it.
func (v *View) FollowAlso(f Follower) { v.also = f }

// Reserve sets aside what pods of DaemonSets will take on a host: resources altogether, and the ports and volumes of
// one pod of each class. It is not undone by Revert.
func (v *View) Reserve(host int, taken Vector, classes []*Class) {
	v.free[host].Add(taken, -1)
	for _, c := range classes {
		v.attach(host, c, 1)
	}
}

func (v *View) place(host int, c *Class, count int64) {
	v.free[host].Add(c.Requested, -count)
	v.attach(host, c, count)
	if v.Policy.MaxPodsOfWorkloadPerNode > 0 {
		if v.owned[host] == nil {
			v.owned[host] = make(map[rules.Owner]int64)
		}
		v.owned[host][rules.OwnerOf(c.PodClass)] += count
	}
}

// Remove gives a host up: it takes no more pods.
func (v *View) Remove(host int) {
	v.journal = append(v.journal, change{host: host})
	v.removed[host] = true
}

// Fork marks the present state.
func (v *View) Fork() Mark {
	m := Mark{steps: len(v.journal)}
	if v.follower != nil {
		m.follower = v.follower.Fork()
	}
	if v.also != nil {
		m.also = v.also.Fork()
	}
	return m
}

// Revert takes back everything since the mark.
func (v *View) Revert(m Mark) {
	for i := len(v.journal) - 1; i >= m.steps; i-- {
		c := v.journal[i]
		switch {
		case c.left != nil:
			v.left[*c.left] = !c.set
			continue
		case c.room != 0:
			v.place(c.host, c.class, -c.room)
			v.ports[c.host] = c.had
			continue
		}
		if c.count == 0 {
			v.removed[c.host] = false
			continue
		}
		v.nominated[c.host] -= c.count
		v.place(c.host, c.class, -int64(c.count))
		v.ports[c.host] = v.ports[c.host][:c.ports]
	}
	v.journal = v.journal[:m.steps]
	if v.follower != nil {
		v.follower.Back(m.follower)
	}
	if v.also != nil {
		v.also.Back(m.also)
	}
}
