// Package knapsack finds what to put on one bin where each pod is worth something: fillings that are worth much, and what
// none is worth more than.
//
// It knows bins, rows and what pods are worth, and nothing of where that comes from or of how fillings make a plan. Start
// reading with Packer, then Knapsack.
package knapsack

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/table"
)

// Packer finds the filling of a bin that is worth most, for given values of pods, for all bins of a problem. Each bin is
// a bounded knapsack with as many capacities as there are resources. First comes its linear relaxation, by a simplex
// method that starts where it ended for the same bin the last time; the relaxation's duals price the capacities. Then
// whole pods: the relaxation rounded down and filled up, improved by branch and bound, which is cut short after so many
// relaxations.
type Packer struct {
	// Work is what has been spent.
	Work int64
	// Demand is how many pods of each row there are to pack; Renew changes it.
	Demand []int32

	c      *compact.Problem
	open   *compact.OpenBin
	states []state
	spare  state
	value  []float64

	lam, col []float64
	// reduced is what a pod of each row is worth beyond the capacity that it takes, effect what it takes of what is
	// looked at.
	reduced, effect []float64
	search          branchAndBound
	table           table.Table
	counts          []int32 // what the table's filling has, by index in rows
}

// Knapsack is that of one bin, with what pods are worth there. It is good until its packer is asked for the next, whose
// values take the memory of its own.
type Knapsack struct {
	p  *Packer
	kn *state
	v  []float64
}

// Filling is how many pods of each row of a bin it has, by index in the bin's rows, and what they are worth.
type Filling struct {
	Worth  float64
	Counts []int32
}

// Limit is how far a search for fillings may go.
type Limit struct {
	// Relaxations is how many may be solved beside the first, Work what may be spent.
	Relaxations int
	Work        int64
}

// Found is what a search for fillings has come to.
type Found struct {
	// Most is what no filling is worth more than.
	Most float64
	// Known says that there is none worth more than the best that was found, or than what was enough.
	Known bool
	// Fillings are the best that were found, one at least, the best first. The next search takes their memory.
	Fillings []Filling
}

// state is what is known of one bin's knapsack; it survives from one round to the next.
type state struct {
	b *compact.Bin
	// rules are those that are capacities, after the resources.
	rules []int32
	// k is the number of capacities: the resources, and what rules that keep rows apart allow.
	k int
	// a is by row of the bin and resource: what part of the bin a pod takes. u is how many pods of the row at most.
	a, u []float64
	up   []bool
	in   []bool
	// basis has places in rows, or -1-r for the slack of resource r.
	basis []int32
	binv  []float64
	xb    []float64
	lam   []float64
	// rhs is what the bin has of each capacity beside pods that are in every filling, and those are worth sure; nil is
	// all of each.
	rhs   []float64
	sure  float64
	fresh bool
	buf   []float64
	flags []bool
}

// New makes the knapsacks of a problem's bins, whose rows are listed, for all pods that it has.
func New(c *compact.Problem) *Packer {
	p := &Packer{
		c: c, open: compact.NewOpenBin(c), states: make([]state, len(c.Bins)), Demand: slices.Clone(c.Count),
		lam: make([]float64, c.NumResources+maxRules), col: make([]float64, c.NumResources+maxRules),
	}
	p.value, p.reduced, p.effect = make([]float64, c.NumRows), make([]float64, c.NumRows), make([]float64, c.NumRows)
	return p
}

// Of is the knapsack of a bin where pods are worth y each, by row, less what the bin's penalties take off that.
func (p *Packer) Of(bin int, y []float64) Knapsack {
	kn := p.stateOf(bin)
	return Knapsack{p: p, kn: kn, v: p.values(kn.b, y)}
}

// stateOf is that of a bin's knapsack, made when it is first asked for.
func (p *Packer) stateOf(at int) *state {
	kn := &p.states[at]
	if kn.b != nil {
		return kn
	}
	b := &p.c.Bins[at]
	groups := p.sharedRules(b)
	n, k := len(b.Rows), p.c.NumResources+len(groups)
	size := n*k + n + k*k + 2*k
	if cap(p.spare.buf) >= size && cap(p.spare.flags) >= 2*n && cap(p.spare.basis) >= k {
		*kn, p.spare = p.spare, state{}
	} else {
		kn.buf, kn.flags, kn.basis = make([]float64, size), make([]bool, 2*n), make([]int32, k)
	}
	kn.b, kn.rules, kn.k, kn.basis = b, groups, k, kn.basis[:k]
	buf, flags := kn.buf[:size], kn.flags[:2*n]
	clear(buf)
	kn.a, buf = buf[:n*k], buf[n*k:]
	kn.u, buf = buf[:n], buf[n:]
	kn.binv, buf = buf[:k*k], buf[k*k:]
	kn.xb, kn.lam = buf[:k], buf[k:]
	kn.up, kn.in = flags[:n], flags[n:]
	for x, i := range b.Rows {
		for r := range p.c.NumResources {
			if q := p.c.Request[int(i)*p.c.NumResources+r]; q > 0 {
				kn.a[x*k+r] = float64(q) / float64(b.Free[r])
			}
		}
	}
	for g, rule := range groups {
		kn.addRule(p, p.c.NumResources+g, rule)
	}
	kn.reset(p)
	return kn
}

// reset starts over from the empty bin, with the demand of now.
func (kn *state) reset(p *Packer) {
	k := kn.k
	for x, i := range kn.b.Rows {
		kn.u[x] = float64(min(kn.b.Alone[x], p.Demand[i]))
	}
	clear(kn.up)
	clear(kn.in)
	clear(kn.binv)
	clear(kn.lam)
	for r := range k {
		kn.basis[r] = int32(-1 - r)
		kn.binv[r*k+r] = 1
		kn.xb[r] = 1
	}
	kn.fresh = true
}

// Renew makes all knapsacks start over, for another demand.
func (p *Packer) Renew(demand []int32) {
	copy(p.Demand, demand)
	for b := range p.states {
		if p.states[b].b != nil {
			p.states[b].reset(p)
		}
	}
}

// Drop forgets a bin's knapsack and leaves its memory to the next that is made.
func (p *Packer) Drop(bin int) {
	p.spare = p.states[bin]
	p.states[bin] = state{}
}

// values fills in what pods are worth on a bin.
func (p *Packer) values(b *compact.Bin, y []float64) []float64 {
	v := p.value[:len(b.Rows)]
	for x, i := range b.Rows {
		v[x] = y[i]
		if b.Penalties != nil {
			v[x] -= float64(b.Penalties[i])
		}
	}
	return v
}

// Upper is a value that no filling exceeds, by the prices of capacity in the bin's last relaxation, also if pods were
// worth something else there; infinite where none was solved for the demand of now.
func (k Knapsack) Upper() float64 {
	if k.kn.fresh {
		return math.Inf(1)
	}
	return k.p.upper(k.kn, k.v)
}

// upper is a value that no filling exceeds: the Lagrangian for the capacity prices of the last solution.
func (p *Packer) upper(kn *state, v []float64) float64 {
	k := kn.k
	sum := kn.sure
	for r, l := range kn.lam {
		sum += float64(l * kn.has(r))
	}
	if k == 3 {
		l0, l1, l2 := kn.lam[0], kn.lam[1], kn.lam[2]
		for x, w := range v {
			a := kn.a[3*x : 3*x+3]
			w -= float64(l0*a[0]) + float64(l1*a[1]) + float64(l2*a[2])
			if w > 0 {
				sum += float64(kn.u[x] * w)
			}
		}
	} else {
		a, lam := kn.a, kn.lam[:k]
		for x, w := range v {
			for r, l := range lam {
				w -= float64(l * a[r])
			}
			a = a[k:]
			if w > 0 {
				sum += float64(kn.u[x] * w)
			}
		}
	}
	p.Work += int64(len(v) * (k + 1))
	return sum * (1 + 1e-10)
}

// Relax solves the linear relaxation.
func (k Knapsack) Relax() { k.p.relax(k.kn, k.v) }

func (p *Packer) relax(kn *state, v []float64) {
	k := kn.k
	p.lam, p.col = p.lam[:k], p.col[:k]
	eps := 1e-10 * float64(kn.b.Price+1)
	for range 4*len(v) + 8*k {
		p.prices(kn, v)
		x, up := p.enter(kn, v, eps)
		if x == nothing {
			break
		}
		p.exchange(kn, x, up)
	}
	kn.fresh = false
	for r := range k {
		kn.lam[r] = max(0, p.lam[r])
	}
}

// prices computes the duals of the basis.
func (p *Packer) prices(kn *state, v []float64) {
	k := kn.k
	clear(p.lam)
	for i, x := range kn.basis {
		if x >= 0 {
			for r := range k {
				p.lam[r] += float64(v[x] * kn.binv[i*k+r])
			}
		}
	}
}

// nothing stands for no variable.
const nothing = math.MinInt32

// enter is the variable whose change gains most: a place in rows, or the slack of a resource. up says that it grows.
func (p *Packer) enter(kn *state, v []float64, eps float64) (at int32, up bool) {
	at = nothing
	best := 0.0
	in, u, ups := kn.in[:len(v)], kn.u[:len(v)], kn.up[:len(v)]
	for x, w := range p.reduce(kn, v) {
		if ups[x] {
			w = -w
		}
		if w > eps {
			if gain := w * u[x]; gain > best && !in[x] {
				at, up, best = int32(x), !ups[x], gain
			}
		}
	}
	p.Work += int64(len(v) * (kn.k + 1))
	for r, l := range p.lam {
		if -l > eps && -l > best && !slices.Contains(kn.basis, int32(-1-r)) {
			at, up, best = int32(-1-r), true, -l
		}
	}
	return at, up
}

// reduce fills in what pods are worth beyond the capacity that they take, by what v they are worth.
func (p *Packer) reduce(kn *state, v []float64) []float64 {
	out, a := p.reduced[:len(v)], kn.a
	if len(p.lam) != 3 {
		for x, w := range v {
			for r, l := range p.lam {
				w -= float64(l * a[r])
			}
			out[x], a = w, a[kn.k:]
		}
		return out
	}
	l0, l1, l2 := p.lam[0], p.lam[1], p.lam[2]
	for x, w := range v {
		of := (*[3]float64)(a)
		out[x], a = w-float64(l0*of[0])-float64(l1*of[1])-float64(l2*of[2]), a[3:]
	}
	return out
}

// exchange moves a variable until it, or one of the basis, reaches its end.
func (p *Packer) exchange(kn *state, x int32, up bool) {
	t := math.Inf(1)
	p.column(kn, x)
	if x >= 0 {
		t = kn.u[x]
	}
	leave, leaveUp := -1, false
	for i, s := range p.col {
		switch {
		case s > 1e-11:
			if d := max(0, kn.xb[i]) / s; d < t {
				leave, leaveUp, t = i, false, d
			}
		case s < -1e-11 && kn.basis[i] >= 0:
			if d := max(0, kn.u[kn.basis[i]]-kn.xb[i]) / -s; d < t {
				leave, leaveUp, t = i, true, d
			}
		}
	}
	if math.IsInf(t, 1) {
		return
	}
	for i, s := range p.col {
		kn.xb[i] -= float64(s * t)
	}
	if leave < 0 {
		kn.up[x] = up
		return
	}
	p.swap(kn, leave, x, leaveUp)
	switch {
	case up:
		kn.xb[leave] = t
	default:
		kn.xb[leave] = kn.u[x] - t
	}
	if !up {
		kn.up[x] = false
	}
}

// swap puts a variable into the basis in the place of another.
func (p *Packer) swap(kn *state, leave int, x int32, leaveUp bool) {
	k := kn.k
	if old := kn.basis[leave]; old >= 0 {
		kn.in[old], kn.up[old] = false, leaveUp
	}
	kn.basis[leave] = x
	sign := 1.0
	if x >= 0 {
		kn.in[x] = true
		if kn.up[x] {
			sign = -1
		}
	}
	line := kn.binv[leave*k : leave*k+k]
	inv := sign / p.col[leave]
	for r := range line {
		line[r] *= inv
	}
	for i, s := range p.col {
		if s *= sign; i != leave && s != 0 {
			for r, f := range line {
				kn.binv[i*k+r] -= float64(s * f)
			}
		}
	}
}

// has is what the bin has of a capacity.
func (kn *state) has(r int) float64 {
	if kn.rhs == nil {
		return 1
	}
	return kn.rhs[r]
}

// column computes what the variables of the basis lose when another one, at the end of its range, moves away from that.
func (p *Packer) column(kn *state, x int32) {
	k, sign := kn.k, 1.0
	if x >= 0 && kn.up[x] {
		sign = -1
	}
	for i := range k {
		s := 0.0
		if x >= 0 {
			for r := range k {
				s += float64(kn.binv[i*k+r] * kn.a[int(x)*k+r])
			}
		} else {
			s = kn.binv[i*k+int(-1-x)]
		}
		p.col[i] = s * sign
	}
}

// Fill finds fillings of whole pods, from the relaxation that was solved before. None is worth more than upper; those
// that are not worth more than enough are not looked for. Where no more relaxations may be solved, it rounds that one.
func (k Knapsack) Fill(upper, enough float64, most Limit) Found {
	s := &k.p.search
	most.Work += k.p.Work
	s.begin(k.p, k.kn, k.v)
	s.empty()
	s.roundDown(k.kn)
	s.fillUp(k.kn.lam)
	s.record()
	s.beat = max(s.beat, enough)
	if s.beat >= upper || most.Relaxations == 0 {
		return s.found(upper)
	}
	return s.found(s.branch(upper, most))
}
