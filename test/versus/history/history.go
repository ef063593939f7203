// Package history is what was seen of a cluster while it ran: each pod and node with the times of its life, and what the
// controllers used. All figures are worked out from it afterwards, by functions that know neither clock nor cluster.
//
// Times are seconds since the watching began; zero means that it has not happened. Start reading at History.
package history

import (
	"cmp"
	"math"
	"slices"
)

// History is one run.
type History struct {
	Pods  []Pod   `json:"pods"`
	Nodes []Node  `json:"nodes"`
	Usage []Usage `json:"usage"`
	// Marks are when the load went on, in order.
	Marks []Mark `json:"marks"`
	// Facts are figures that the load itself found out.
	Facts map[string]float64 `json:"facts,omitempty"`
	// End is when the watching ended.
	End float64 `json:"end"`
}

// Mark is a step of the load.
type Mark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// Mark is the time of a step, the first of that name; the end if it has not come.
func (h *History) Mark(name string) float64 {
	for _, m := range h.Marks {
		if m.Name == name {
			return m.At
		}
	}
	return h.End
}

// Pod is one pod and the times of its life.
type Pod struct {
	Name string `json:"name"`
	// Owner is the UID of its controller, which makes a new one when it is evicted; empty for none.
	Owner string `json:"owner,omitempty"`
	App   string `json:"app,omitempty"`
	Node  string `json:"node,omitempty"`
	// Refused is when the scheduler first said that no node takes it.
	Created  float64 `json:"created"`
	Refused  float64 `json:"refused,omitempty"`
	Bound    float64 `json:"bound,omitempty"`
	Evicted  float64 `json:"evicted,omitempty"`
	Finished float64 `json:"finished,omitempty"`
	Deleted  float64 `json:"deleted,omitempty"`
	// Cause is the reason of the eviction, as Kubernetes calls it.
	Cause string `json:"cause,omitempty"`
}

// Node is one node. It costs Price dollars an hour from Created to Deleted.
type Node struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Zone    string  `json:"zone"`
	Spot    bool    `json:"spot,omitempty"`
	Price   float64 `json:"price"`
	Created float64 `json:"created"`
	Deleted float64 `json:"deleted,omitempty"`
}

// Usage is what the controllers' processes have used up to a time: CPU seconds since they started, and bytes of memory
// that were resident at that time, by the name of the process.
type Usage struct {
	At     float64            `json:"at"`
	CPU    map[string]float64 `json:"cpu"`
	Memory map[string]uint64  `json:"memory"`
	// Anonymous is the part of Memory that is backed by no file.
	Anonymous map[string]uint64 `json:"anonymous,omitempty"`
}

// Marked says whether a step has come.
func (h *History) Marked(name string) bool {
	return slices.ContainsFunc(h.Marks, func(m Mark) bool { return m.Name == name })
}

// during says whether something that began and perhaps ended is there at a time.
func during(at, began, ended float64) bool {
	return began > 0 && began <= at && (ended == 0 || ended > at)
}

// within says whether a time that has come lies in [from, to).
func within(at, from, to float64) bool { return at > 0 && at >= from && at < to }

func count[T any](list []T, is func(*T) bool) int {
	n := 0
	for i := range list {
		if is(&list[i]) {
			n++
		}
	}
	return n
}

// Cost is what the nodes of a time cost, in dollars an hour.
func (h *History) Cost(at float64) float64 {
	sum := 0.0
	for i := range h.Nodes {
		if n := &h.Nodes[i]; during(at, n.Created, n.Deleted) {
			sum += n.Price
		}
	}
	return sum
}

// NodesAt is how many nodes there are at a time.
func (h *History) NodesAt(at float64) int {
	return count(h.Nodes, func(n *Node) bool { return during(at, n.Created, n.Deleted) })
}

// Spent is the dollars that the nodes cost from one time to another.
func (h *History) Spent(from, to float64) float64 {
	sum := 0.0
	for i := range h.Nodes {
		n := &h.Nodes[i]
		end := to
		if n.Deleted > 0 {
			end = min(to, n.Deleted)
		}
		if began := max(from, n.Created); n.Created > 0 && end > began {
			sum += n.Price * (end - began) / 3600
		}
	}
	return sum
}

// Evictions is how many pods were evicted in [from, to), for whatever reason but a pod of higher priority.
func (h *History) Evictions(from, to float64) int {
	return count(h.Pods, func(p *Pod) bool { return p.moved() && within(p.Evicted, from, to) })
}

func (p *Pod) moved() bool { return p.Evicted > 0 && p.Cause != "PreemptionByScheduler" }

// NodesGone is how many nodes went in [from, to).
func (h *History) NodesGone(from, to float64) int {
	return count(h.Nodes, func(n *Node) bool { return within(n.Deleted, from, to) })
}

// Killed is how many pods were ended in [from, to) because their node was gone, without an eviction before.
func (h *History) Killed(from, to float64) int {
	return count(h.Pods, func(p *Pod) bool {
		return within(p.Evicted, from, to) && (p.Cause == "DeletionByPodGC" || p.Cause == "DeletionByTaintManager")
	})
}

// replacedWithin is how long after an eviction the controller's next pod counts as its replacement.
const replacedWithin = 60

// MovedAgain is how many of the evictions in [from, to) hit a pod that stood in for one that was evicted in that time
// itself. Kubernetes does not say which pod replaces which: the controller's next one does.
func (h *History) MovedAgain(from, to float64) int {
	byOwner := map[string][]*Pod{}
	for i := range h.Pods {
		if p := &h.Pods[i]; p.Owner != "" {
			byOwner[p.Owner] = append(byOwner[p.Owner], p)
		}
	}
	count := 0
	for _, pods := range byOwner {
		count += movedAgain(pods, from, to)
	}
	return count
}

func movedAgain(pods []*Pod, from, to float64) int {
	var evictions []float64
	for _, p := range pods {
		if p.moved() && within(p.Evicted, from, to) {
			evictions = append(evictions, p.Evicted)
		}
	}
	slices.Sort(evictions)
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *Pod) int { return cmp.Compare(a.Created, b.Created) })
	count := 0
	for _, p := range pods {
		for len(evictions) > 0 && evictions[0] < p.Created-replacedWithin {
			evictions = evictions[1:]
		}
		if len(evictions) == 0 || evictions[0] > p.Created {
			continue
		}
		evictions = evictions[1:]
		if p.moved() && within(p.Evicted, from, to) {
			count++
		}
	}
	return count
}

// Waits are the seconds from creation to a node of the pods that were made in [from, to) and have been bound, sorted.
func (h *History) Waits(from, to float64) []float64 {
	var waits []float64
	for i := range h.Pods {
		if p := &h.Pods[i]; within(p.Created, from, to) && p.Bound > 0 {
			waits = append(waits, p.Bound-p.Created)
		}
	}
	slices.Sort(waits)
	return waits
}

// FirstNode is the seconds from the first pod of [from, to) that no node took to the first node after it. False: there
// was no such pod, or no node.
func (h *History) FirstNode(from, to float64) (float64, bool) {
	refused, created := math.Inf(1), math.Inf(1)
	for i := range h.Pods {
		if p := &h.Pods[i]; within(p.Created, from, to) && p.Refused > 0 {
			refused = min(refused, p.Refused)
		}
	}
	for i := range h.Nodes {
		if n := &h.Nodes[i]; n.Created > refused {
			created = min(created, n.Created)
		}
	}
	return created - refused, !math.IsInf(created, 1) && created < to
}

// LastChange is the time of the last thing that happened to any pod or node, up to a time.
func (h *History) LastChange(to float64) float64 {
	last := 0.0
	see := func(times ...float64) {
		for _, t := range times {
			if t <= to {
				last = max(last, t)
			}
		}
	}
	for i := range h.Pods {
		p := &h.Pods[i]
		see(p.Created, p.Bound, p.Evicted, p.Deleted, p.Finished)
	}
	for i := range h.Nodes {
		see(h.Nodes[i].Created, h.Nodes[i].Deleted)
	}
	return last
}

// CPU is the seconds of processor time that all processes used from the first look to the last.
func (h *History) CPU() float64 {
	if len(h.Usage) == 0 {
		return 0
	}
	sum := 0.0
	for process, used := range h.Usage[len(h.Usage)-1].CPU {
		sum += used - h.Usage[0].CPU[process]
	}
	return sum
}

// Memory is the most that all processes together held at any look, how much of it no file backed, and what they held at the
// last, in MiB.
func (h *History) Memory() (peak, anonymous, last float64) {
	for _, u := range h.Usage {
		if last = total(u.Memory); last > peak {
			peak, anonymous = last, total(u.Anonymous)
		}
	}
	return peak, anonymous, last
}

func total(bytes map[string]uint64) float64 {
	sum := uint64(0)
	for _, b := range bytes {
		sum += b
	}
	return float64(sum) / (1 << 20)
}

// CPUAt is how many seconds of CPU a process had used at a time.
func (h *History) CPUAt(name string, at float64) float64 {
	u := h.usageAt(name, at)
	return u.CPU[name]
}

// MemoryAt is how many bytes a process held at a time.
func (h *History) MemoryAt(name string, at float64) float64 {
	u := h.usageAt(name, at)
	return float64(u.Memory[name])
}

// MostMemory is how many bytes a process held at most until a time.
func (h *History) MostMemory(name string, to float64) float64 {
	most := uint64(0)
	for _, u := range h.Usage {
		if u.At <= to {
			most = max(most, u.Memory[name])
		}
	}
	return float64(most)
}

// PodsAt is how many pods there are at a time, without those that have finished.
func (h *History) PodsAt(at float64) int {
	count := 0
	for i := range h.Pods {
		if p := &h.Pods[i]; during(at, p.Created, p.Deleted) && !during(at, p.Finished, 0) {
			count++
		}
	}
	return count
}

// usageAt is the last look at a process until a time.
func (h *History) usageAt(name string, at float64) Usage {
	var last Usage
	for _, u := range h.Usage {
		if _, there := u.CPU[name]; there && u.At <= at {
			last = u
		}
	}
	return last
}

// Quantile is the value below which the share q of the sorted values lies, by the nearest rank; 0 of nothing.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the middle one, or the mean of the middle two; 0 of nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}
