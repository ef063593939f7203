package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// cluster is nodes that are being filled with pods.
type cluster struct {
	w     *Workload
	nodes []free
	// cores and used are millicores, of all nodes together.
	cores, used int64
}

// free is what is left on a node.
type free struct {
	cpu, memory, pods int64
	counts            map[int]int
}

// ofOldTypes is n nodes as they have grown over years: on-demand, of the older families, mostly small.
func ofOldTypes(r *random, c *Catalog, n int) (*cluster, error) {
	p := poolOf("narrow")
	p.ConsolidateAfter, p.Budget = "0s", "10%"
	out := &cluster{w: &Workload{Pools: []Pool{p}, Shapes: steadyShapes()}}
	families, familyWeights := []string{"m6a", "c6a", "r6a", "c5", "m6i", "m5", "c6i", "r5"}, []float64{32, 25, 14, 8, 6, 6, 5, 4}
	sizes, sizeWeights := []string{"large", "xlarge", "2xlarge", "4xlarge"}, []float64{26, 34, 30, 10}
	for i := 0; i < n; {
		name := families[r.pick(familyWeights)] + "." + sizes[r.pick(sizeWeights)]
		zone := r.below(len(c.Zones))
		at := slices.IndexFunc(c.Types, func(t Type) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the catalogue has no %s, which the nodes of this workload are made of", name)
		}
		t := c.Types[at]
		if t.OnDemand[zone] == 0 {
			continue // not sold there: draw again
		}
		out.w.Nodes = append(out.w.Nodes, Node{
			Name: fmt.Sprintf("n%05d", i), Type: name, Zone: c.Zones[zone], CapacityType: "on-demand", Pool: p.Name,
		})
		out.nodes = append(out.nodes, free{t.FreeCPU, t.FreeMemory, t.Pods, map[int]int{}})
		out.cores += t.FreeCPU
		i++
	}
	return out, nil
}

// steadyShapes are 44 shapes: from 50m to 2 cores, with 1, 2, 4 and 6 GiB a core.
func steadyShapes() []Shape {
	var out []Shape
	for _, cpu := range []int64{50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 2000} {
		for _, gib := range []int64{1, 2, 4, 6} {
			const step = 32
			memory := (cpu*gib*1024/1000 + step - 1) / step * step
			out = append(out, Shape{CPU: cpu, Memory: memory, Labels: map[string]string{"app": "c" + strconv.Itoa(len(out))}})
		}
	}
	return out
}

// fill puts pods onto nodes at random until so much of the CPU is asked for.
func (c *cluster) fill(r *random, part float64) error {
	weights := make([]float64, len(c.w.Shapes))
	for i, s := range c.w.Shapes {
		weights[i] = math.Pow(float64(s.CPU), -0.9) // about ten a node
	}
	for misses := 0; float64(c.used) < part*float64(c.cores); {
		shape, node := r.pick(weights), &c.nodes[r.below(len(c.nodes))]
		s := c.w.Shapes[shape]
		if node.cpu < s.CPU || node.memory < s.Memory || node.pods < 1 {
			if misses++; misses > 100*len(c.nodes) {
				return errors.New("the nodes are full before as much is asked for as the workload wants")
			}
			continue
		}
		node.cpu, node.memory, node.pods = node.cpu-s.CPU, node.memory-s.Memory, node.pods-1
		node.counts[shape]++
		c.used += s.CPU
	}
	return nil
}

// settle writes the pods down, on their nodes.
func (c *cluster) settle() {
	for i := range c.nodes {
		for shape := range c.w.Shapes {
			if n := c.nodes[i].counts[shape]; n > 0 {
				c.w.Nodes[i].Pods = append(c.w.Nodes[i].Pods, Count{shape, n})
			}
		}
	}
}

// The parts of the CPU that pods ask for on nodes that are much too large, and on nodes that are well used.
const (
	idle = 0.39
	busy = 0.70
)

// fresh is the pods of a cluster of n nodes, about ten a node, all pending.
func fresh(seed uint64, n int) func(*Catalog, int) (*Workload, error) {
	return func(cat *Catalog, _ int) (*Workload, error) {
		r := newRandom(seed)
		c, err := ofOldTypes(r, cat, n)
		if err != nil {
			return nil, err
		}
		if err := c.fill(r, idle); err != nil {
			return nil, err
		}
		for shape := range c.w.Shapes {
			k := 0
			for i := range c.nodes {
				k += c.nodes[i].counts[shape]
			}
			if k > 0 {
				c.w.Pending = append(c.w.Pending, Count{shape, k})
			}
		}
		c.w.Nodes, c.w.Seed = nil, seed
		c.w.Note = fmt.Sprintf("the pods of %d nodes that are 39 %% full, all pending", n)
		return c.w, nil
	}
}

// idling is n nodes that are much too large for their pods.
func idling(seed uint64, usual int) func(*Catalog, int) (*Workload, error) {
	return func(cat *Catalog, n int) (*Workload, error) {
		if n == 0 {
			n = usual
		}
		w, _, err := filledCluster(seed, cat, n, idle)
		if err != nil {
			return nil, err
		}
		w.Note = fmt.Sprintf("%d nodes, 39 %% full", n)
		return w, nil
	}
}

// leaving is 2,000 nodes of which 300 are empty and 200 others are no longer what their pool asks for.
func leaving(seed uint64) func(*Catalog, int) (*Workload, error) {
	return func(cat *Catalog, _ int) (*Workload, error) {
		const nodes, empty, drifted = 2000, 300, 200
		w, r, err := filledCluster(seed, cat, nodes, idle)
		if err != nil {
			return nil, err
		}
		for done := 0; done < empty+drifted; {
			n := &w.Nodes[r.below(nodes)]
			if len(n.Pods) == 0 || n.Drifted {
				continue
			}
			if done < empty {
				n.Pods = nil
			} else {
				n.Drifted = true
			}
			done++
		}
		w.Note = "2,000 nodes, 300 of them made empty, 200 others drifted"
		return w, nil
	}
}

// fitting is 200 pending pods of 20 shapes that mostly fit a cluster that is 70 % full.
func fitting(seed uint64) func(*Catalog, int) (*Workload, error) {
	return func(cat *Catalog, n int) (*Workload, error) {
		w, r, err := filledCluster(seed, cat, n, busy)
		if err != nil {
			return nil, err
		}
		const shapes, pods = 20, 200
		more := mixed(r.next(), "narrow", shapes, pods)
		for _, c := range more.Pending {
			w.Pending = append(w.Pending, Count{len(w.Shapes) + c.Shape, c.Pods})
		}
		w.Shapes = append(w.Shapes, more.Shapes...)
		w.Note = fmt.Sprintf("%d nodes, 70 %% full, and 200 pending pods that mostly fit", n)
		return w, nil
	}
}

// unfitting is 200 pending pods of 16 cores that fit no node of the same cluster.
func unfitting(seed uint64) func(*Catalog, int) (*Workload, error) {
	return func(cat *Catalog, n int) (*Workload, error) {
		w, _, err := filledCluster(seed, cat, n, busy)
		if err != nil {
			return nil, err
		}
		for i, memory := range []int64{16 * 1024, 32 * 1024} {
			w.Pending = append(w.Pending, Count{len(w.Shapes), 100})
			w.Shapes = append(w.Shapes, Shape{CPU: 16000, Memory: memory, Labels: map[string]string{"app": "f" + strconv.Itoa(i)}})
		}
		w.Note = fmt.Sprintf("%d nodes, 70 %% full, and 200 pending pods that fit none of them", n)
		return w, nil
	}
}

func filledCluster(seed uint64, cat *Catalog, n int, part float64) (*Workload, *random, error) {
	r := newRandom(seed)
	c, err := ofOldTypes(r, cat, n)
	if err != nil {
		return nil, nil, err
	}
	if err := c.fill(r, part); err != nil {
		return nil, nil, err
	}
	c.settle()
	c.w.Seed = seed
	return c.w, r, nil
}
