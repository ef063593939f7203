package knapsack

import (
	"math"
	"slices"
)

// restore solves the relaxation again after what the bin has, or how many pods there may be, has become less; false
// where it finds nothing within that: the prices of capacities show then how little that is.
func (p *Packer) restore(kn *state, v []float64) bool {
	p.lam, p.col = p.lam[:kn.k], p.col[:kn.k]
	for range 2*len(v) + 8*kn.k {
		p.prices(kn, v)
		for r, l := range p.lam {
			kn.lam[r] = max(0, l)
		}
		p.solution(kn)
		leave, up := kn.outside()
		if leave < 0 {
			return true
		}
		x := p.enterFor(kn, v, leave, up)
		if x == nothing {
			p.forbid(kn, v, leave, up)
			return false
		}
		p.column(kn, x)
		p.swap(kn, leave, x, up)
		if x >= 0 {
			kn.up[x] = false
		}
	}
	return false
}

// forbid raises the prices of capacities until nothing is worth anything, given a variable that can't be brought back
// into its range.
func (p *Packer) forbid(kn *state, v []float64, leave int, up bool) {
	by := -kn.xb[leave]
	if up {
		by = kn.u[kn.basis[leave]] - kn.xb[leave]
	}
	for r, f := range kn.binv[leave*kn.k : (leave+1)*kn.k] {
		p.col[r] = float64(f / by)
	}
	all := 2 * math.Abs(p.upper(kn, v))
	for r, f := range p.col {
		kn.lam[r] = max(0, kn.lam[r]+float64(all*f))
	}
}

// solution computes the variables of the basis.
func (p *Packer) solution(kn *state) {
	k := kn.k
	for r := range p.col {
		p.col[r] = kn.has(r)
	}
	for x, up := range kn.up {
		if up && !kn.in[x] {
			for r := range p.col {
				p.col[r] -= float64(kn.a[x*k+r] * kn.u[x])
			}
		}
	}
	for i := range k {
		sum := 0.0
		for r, q := range p.col {
			sum += float64(kn.binv[i*k+r] * q)
		}
		kn.xb[i] = sum
	}
	p.Work += int64(len(kn.up) + k*k)
}

// outside is the place of the variable of the basis that is furthest outside its range; up says that it is above. -1 is
// none.
func (kn *state) outside() (at int, up bool) {
	at = -1
	most := 1e-9
	for i, x := range kn.basis {
		if -kn.xb[i] > most {
			at, up, most = i, false, -kn.xb[i]
		}
		if x >= 0 && kn.xb[i]-kn.u[x] > most {
			at, up, most = i, true, kn.xb[i]-kn.u[x]
		}
	}
	return at, up
}

// losses are what a pod of each row is worth beyond the capacity that it takes, and what it takes of a line of the inverse.
func (p *Packer) losses(kn *state, v, line []float64) (reduced, effect []float64) {
	reduced, effect = p.reduced[:len(v)], p.effect[:len(v)]
	a := kn.a
	if len(line) != 3 {
		for x, w := range v {
			f := 0.0
			for r, l := range p.lam {
				w -= float64(l * a[r])
				f += float64(line[r] * a[r])
			}
			reduced[x], effect[x], a = w, f, a[kn.k:]
		}
		return reduced, effect
	}
	l0, l1, l2 := p.lam[0], p.lam[1], p.lam[2]
	f0, f1, f2 := line[0], line[1], line[2]
	for x, w := range v {
		of := (*[3]float64)(a)
		reduced[x] = w - float64(l0*of[0]) - float64(l1*of[1]) - float64(l2*of[2])
		effect[x], a = float64(f0*of[0])+float64(f1*of[1])+float64(f2*of[2]), a[3:]
	}
	return reduced, effect
}

// enterFor is the variable that takes the place of one outside its range, at the least loss.
func (p *Packer) enterFor(kn *state, v []float64, leave int, up bool) int32 {
	k := kn.k
	line := kn.binv[leave*k : leave*k+k]
	// No more than most times what it does is what another may lose: to multiply costs less than to divide, and few
	// come so far.
	at, best, most := int32(nothing), math.Inf(1), math.MaxFloat64
	lost, effect := p.losses(kn, v, line)
	in, u, ups := kn.in[:len(v)], kn.u[:len(v)], kn.up[:len(v)]
	for x, f := range effect {
		w := lost[x]
		if !ups[x] {
			w = -w
		}
		// Growing by one takes f off the variable that leaves.
		if ups[x] == up {
			f = -f
		}
		if w > most*f || f <= 1e-9 || in[x] || u[x] == 0 {
			continue
		}
		if t := max(0, w) / f; t < best {
			at, best, most = int32(x), t, t*(1+1e-9)
		}
	}
	for r, l := range p.lam {
		x := int32(-1 - r)
		f := line[r]
		if !up {
			f = -f
		}
		if f > 1e-9 && max(0, l)/f < best && !slices.Contains(kn.basis, x) {
			at, best = x, max(0, l)/f
		}
	}
	p.Work += int64(len(v) * (2*k + 1))
	return at
}
