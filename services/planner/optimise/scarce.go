package optimise

// scarce is a limit, or the stock of a bin with a price, as a row of the programme: what fillings take of it is at most
// what is left. Those that do not bind are left out, for they would only make the inverse larger.
type scarce struct {
	// limit is a place in core.most, bin one in core.bins; one of them is -1.
	limit, bin int32
	// unit is what is counted as one.
	unit float64
	// left is what is left, in units.
	left float64
}

const (
	// mostScarce is how many limits and stocks may be rows.
	mostScarce = 120
	// mostScarceRounds is how often the programme starts over because its solution goes beyond others.
	mostScarceRounds = 4
)

// of is what a plan has left, in units.
func (s *scarce) of(pl *plan) float64 {
	if s.limit >= 0 {
		return max(0, float64(pl.limit[s.limit])/s.unit)
	}
	return max(0, float64(pl.c.bins[s.bin].copies-int(pl.used[s.bin])))
}

// taken is what one copy of a bin takes, in units.
func (s *scarce) taken(b *bin, at int32) float64 {
	switch {
	case s.limit >= 0:
		return float64(b.amount[s.limit]) / s.unit
	case s.bin == at:
		return 1
	}
	return 0
}

// toll is what a copy of a bin takes of what is scarce, at its prices.
func (x *columns) toll(b int32, mu []float64) float64 {
	sum := 0.0
	for k := range x.scarce {
		if mu[k] > 0 {
			sum += float64(mu[k] * x.scarce[k].taken(&x.c.bins[b], b))
		}
	}
	return sum
}

// watch makes limits and stocks rows that the solution goes beyond and that are none yet; false where there are none.
func (x *columns) watch(pl *plan) bool {
	n := len(x.scarce)
	use := make([]float64, len(x.c.bins))
	limits := make([]float64, len(x.c.most))
	for k, j := range x.ms.basis {
		if j < 0 || x.pool[j].bin < 0 {
			continue
		}
		b := x.pool[j].bin
		use[b] += x.ms.xb[k]
		for l, a := range x.c.bins[b].amount {
			limits[l] += float64(x.ms.xb[k] * float64(a))
		}
	}
	for l, v := range limits {
		if v > float64(pl.limit[l])*(1+1e-6) {
			x.addScarce(scarce{limit: int32(l), bin: -1, unit: float64(max(1, x.c.most[l]))})
		}
	}
	for b, v := range use {
		bin := &x.c.bins[b]
		if bin.once && v > float64(bin.copies-int(pl.used[b]))+1e-3 {
			x.addScarce(scarce{limit: -1, bin: int32(b), unit: 1})
		}
	}
	return len(x.scarce) > n
}

// expect makes those limits and stocks rows that a plan uses up, or nearly.
func (x *columns) expect(pl *plan) {
	for l, m := range x.c.most {
		if pl.limit[l] < m/10 {
			x.addScarce(scarce{limit: int32(l), bin: -1, unit: float64(max(1, m))})
		}
	}
	for b := range x.c.bins {
		bin := &x.c.bins[b]
		if bin.once && !bin.gratis() && int(pl.used[b]) == bin.copies {
			x.addScarce(scarce{limit: -1, bin: int32(b), unit: 1})
		}
	}
}

func (x *columns) addScarce(s scarce) {
	for _, y := range x.scarce {
		if y.limit == s.limit && y.bin == s.bin {
			return
		}
	}
	if len(x.scarce) < mostScarce {
		x.scarce = append(x.scarce, s)
		x.mu, x.muCenter, x.muTrial = append(x.mu, 0), append(x.muCenter, 0), append(x.muTrial, 0)
	}
}

// lackPrice is how many times dearer than its cheapest bin a pod is that has none.
const lackPrice = 20

// lack adds the column of a pod that has no bin, of the row at a place, because limits allow none.
func (x *columns) lack(k int, single pat) {
	x.ms.entry(int32(k), 1)
	x.ms.add(lackPrice * float64(single.cost) / float64(single.cnt[0]))
	x.pool = append(x.pool, pat{bin: -1})
}

// lacks says that the solution leaves pods without a bin.
func (x *columns) lacks() bool {
	for k, j := range x.ms.basis {
		if j >= 0 && x.pool[j].bin < 0 && x.ms.xb[k] > 1e-3 {
			return true
		}
	}
	return false
}
