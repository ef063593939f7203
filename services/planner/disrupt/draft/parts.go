package draft

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// Parts takes a decision apart into those that share no replacement.
func (dr *Draft) Parts(d Decision) []Decision {
	group := make(map[int]int, len(d.Hosts)) // the first host of each one's part
	for _, h := range d.Hosts {
		group[h] = h
	}
	find := func(h int) int {
		for group[h] != h {
			h = group[h]
		}
		return h
	}
	hostOf := dr.PodHosts(d.Hosts)
	source := func(pod int) int { return find(hostOf[pod]) }
	for _, b := range d.Replacements {
		first := -1
		for _, it := range b.Items {
			for _, p := range it.Pods {
				h := source(p)
				if first < 0 {
					first = h
				}
				first = find(first)
				low, high := min(first, h), max(first, h)
				group[high] = low
			}
		}
	}
	at := make(map[int]int)
	var out []Decision
	for _, h := range d.Hosts {
		root := find(h)
		if _, known := at[root]; !known {
			at[root] = len(out)
			out = append(out, Decision{})
		}
		p := &out[at[root]]
		p.Hosts = append(p.Hosts, h)
	}
	for i := range out {
		out[i].Evicted = dr.Movable(out[i].Hosts...)
	}
	for _, a := range d.Destinations {
		p := &out[at[source(a.Pod)]]
		p.Destinations = append(p.Destinations, a)
	}
	for _, b := range d.Replacements {
		p := &out[at[source(b.Items[0].Pods[0])]]
		p.Replacements = append(p.Replacements, b)
	}
	return out
}

// PodHosts says on which of some hosts each pod is, those of buffers included.
func (dr *Draft) PodHosts(hosts []int) map[int]int {
	out := make(map[int]int)
	for _, h := range hosts {
		for _, p := range dr.Moving[h] {
			out[p] = h
		}
		for _, p := range dr.Buffered[h] {
			out[p] = h
		}
	}
	return out
}

// InTurn is a decision whose hosts are drained one after the other, in their order there, with the same places for as
// many pods of each class: those on hosts that come first go to nodes that exist, the others to replacements, one after
// the other. Pods go to replacements only once the scheduler finds no other place for them.
func (dr *Draft) InTurn(d Decision) Decision {
	hosts := dr.openFirst(d)
	d.Hosts = hosts
	moves, turns := make(map[int]bool, len(d.Evicted)), make(map[*view.Class][]int)
	for _, h := range hosts {
		for _, p := range dr.Moving[h] {
			moves[p] = true
			turns[dr.View.Pods[p].Class] = append(turns[dr.View.Pods[p].Class], p)
		}
	}
	next := func(p int) int {
		if !moves[p] {
			return p // one of a buffer
		}
		c := dr.View.Pods[p].Class
		p, turns[c] = turns[c][0], turns[c][1:]
		return p
	}
	d.Destinations = slices.Clone(d.Destinations)
	for i := range d.Destinations {
		d.Destinations[i].Pod = next(d.Destinations[i].Pod)
	}
	for _, b := range d.Replacements {
		b.Items = slices.Clone(b.Items)
		for i := range b.Items {
			pods := slices.Clone(b.Items[i].Pods)
			for k := range pods {
				pods[k] = next(pods[k])
			}
			slices.Sort(pods)
			b.Items[i].Pods = pods
		}
	}
	return d
}

// openFirst are the hosts of a decision, first those of whose pods the largest share can go to nodes that exist: the
// scheduler puts the first pods that are moved there in any case, so they should be those that are planned there.
func (dr *Draft) openFirst(d Decision) []int {
	open := make(map[*view.Class]int)
	for _, a := range d.Destinations {
		open[dr.View.Pods[a.Pod].Class]++
	}
	rest := dr.Turns(d.Hosts)
	var out []int
	for len(rest) > 0 {
		best, most := 0, -1.0
		for i, h := range rest {
			if share := dr.shareOf(h, open); share > most {
				best, most = i, share
			}
		}
		h := rest[best]
		for _, p := range dr.Moving[h] {
			if c := dr.View.Pods[p].Class; open[c] > 0 {
				open[c]--
			}
		}
		out, rest = append(out, h), slices.Delete(rest, best, best+1)
	}
	return out
}

// shareOf is the share of a host's pods for which there is a place left, by class; that of no pods is one.
func (dr *Draft) shareOf(host int, left map[*view.Class]int) float64 {
	if len(dr.Moving[host]) == 0 {
		return 1
	}
	some, found := make(map[*view.Class]int), 0
	for _, p := range dr.Moving[host] {
		if c := dr.View.Pods[p].Class; some[c] < left[c] {
			some[c]++
			found++
		}
	}
	return float64(found) / float64(len(dr.Moving[host]))
}

// Turns are hosts by the names of their claims: the order in which they are drained one after the other, as long as
// nothing else is known.
func (dr *Draft) Turns(hosts []int) []int {
	out := slices.Clone(hosts)
	slices.SortFunc(out, func(a, b int) int { return cmp.Compare(dr.View.Hosts[a].Claim.ID, dr.View.Hosts[b].Claim.ID) })
	return out
}
