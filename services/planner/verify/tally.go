package verify

import "github.com/kerf-dev/kerf/services/core/model"

// tally counts pods by the domain that they are in: by the value of one label of their node.
//
// What a claim becomes is not decided. Its pods are counted in most for each domain that they may be in, in least for
// the one that they are in for sure: whoever wants few pods around asks most, whoever wants some asks least, and so the
// answer holds whatever the claim becomes.
type tally struct {
	key         string
	most, least map[string]int
	// anywhere are pods that may be in a domain that nobody can list.
	anywhere int
	// all are the pods that may be in some domain.
	all int
	// on are the pods on each site that is not decided: those are in one domain with whatever else is on it.
	on map[*site]int
	// where says where a site lies; sites that do not count are nowhere.
	where func(*site) reach
	// grew is told of each domain whose least count grew, and by how much.
	grew func(domain string, n int)
}

func newTally(key string) *tally {
	return &tally{
		key: key, most: make(map[string]int), least: make(map[string]int), on: make(map[*site]int),
		where: func(s *site) reach { return s.reach(key) },
		grew:  func(string, int) {},
	}
}

func (t *tally) add(s *site, n int) {
	r := t.where(s)
	if !r.somewhere() || n == 0 {
		return
	}
	t.all += n
	if v, ok := r.sure(); ok {
		t.most[v] += n
		t.least[v] += n
		t.grew(v, n)
		return
	}
	t.on[s] += n
	for _, v := range r.values {
		t.most[v] += n
	}
	if r.endless {
		t.anywhere += n
	}
}

// suspect adds pods that may be on a site, or not.
func (t *tally) suspect(s *site, n int) {
	r := t.where(s)
	if !r.somewhere() || n == 0 {
		return
	}
	t.all += n
	for _, v := range r.values {
		t.most[v] += n
	}
	if r.endless {
		t.anywhere += n
	}
}

// around is the most pods that may be in one domain with a site, and that domain.
func (t *tally) around(s *site) (n int, domain string) {
	r := s.reach(t.key)
	if r.endless {
		return t.all, "any"
	}
	for _, v := range r.values {
		if m := t.most[v] + t.anywhere; m > n || domain == "" {
			n, domain = m, v
		}
	}
	return n, domain
}

// near says whether a pod is in one domain with the site, whatever happens.
func (t *tally) near(s *site) bool {
	r := s.reach(t.key)
	if t.on[s] > 0 {
		return true
	}
	if r.absent || r.endless {
		return false
	}
	for _, v := range r.values {
		if t.least[v] == 0 {
			return false
		}
	}
	return len(r.values) > 0
}

// ground are the domains of a spread constraint. Constraints that differ only in what they count have the same.
type ground struct {
	// lies is where each site that counts is.
	lies map[*site]reach
	// domains are those that there are, or may be.
	domains map[string]bool
	// sure is how many there are whatever happens.
	sure int
	// opens says that there may be a domain that nobody can list.
	opens bool
}

func newGround(sites []*site, where func(*site) reach) *ground {
	g := &ground{lies: make(map[*site]reach), domains: make(map[string]bool)}
	sure := make(map[string]bool)
	for _, s := range sites {
		r := where(s)
		if !r.somewhere() {
			continue
		}
		g.lies[s] = r
		if v, ok := r.sure(); ok {
			sure[v] = true
		}
		for _, v := range r.values {
			g.domains[v] = true
		}
		g.opens = g.opens || r.endless
	}
	g.sure = len(sure)
	return g
}

// spread is a tally for one spread constraint.
type spread struct {
	*tally
	*ground
	skew       int
	minDomains int
	// self is 1 when the pods count themselves.
	self int
	// levels says how many domains have so many pods at least; floor is the lowest level that any has. Pods only come, so
	// that it only rises.
	levels map[int]int
	floor  int
}

func newSpread(t model.TopologySpread, self bool, on *ground) *spread {
	s := &spread{
		tally: newTally(normalKey(t.TopologyKey)), ground: on, skew: int(t.MaxSkew), minDomains: max(1, int(t.MinDomains)),
		levels: map[int]int{0: len(on.domains)},
	}
	if self {
		s.self = 1
	}
	s.where = func(x *site) reach { return on.lies[x] }
	s.grew = s.rise
	return s
}

func (s *spread) rise(domain string, n int) {
	now := s.least[domain]
	s.levels[now-n]--
	s.levels[now]++
	for s.levels[s.floor] == 0 {
		s.floor++
	}
}

// lowestFor is the fewest pods that any domain has for sure, as seen by a pod that goes to a domain with so many pods at most. Whatever of these is there is
// there on both sides of the comparison: the pod's own domain has no fewer.
func (s *spread) lowestFor(domain string, most int) int {
	if s.sure < s.minDomains || s.opens {
		return 0
	}
	own := s.least[domain]
	if !s.domains[domain] || own != s.floor || s.levels[own] > 1 {
		return s.floor
	}
	for level := own + 1; level < most; level++ {
		if s.levels[level] > 0 {
			return level
		}
	}
	return most
}
