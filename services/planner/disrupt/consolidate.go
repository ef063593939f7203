package disrupt

import (
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostTogether is how many nodes of a pool are tried as one set to replace.
const mostTogether = 10

// consolidate gives back nodes whose pods can live for less elsewhere: first those whose pods fit on other nodes, then
// sets of nodes of a pool for one cheaper node, then single nodes for a cheaper one.
func (s *search) consolidate() {
	var rest []int
	for _, h := range s.candidates {
		if s.v.Removed(h) || !s.verdicts[h].OK() {
			continue
		}
		if s.verdicts[h] = s.mayConsolidate(h); s.verdicts[h].OK() {
			rest = append(rest, h)
		}
	}
	rest = s.deleteSingly(rest)
	for _, p := range s.v.Pools {
		s.replaceTogether(p, rest)
	}
	for _, h := range rest {
		if s.v.Removed(h) {
			continue
		}
		if why := s.mayGo(h); !why.OK() {
			s.verdicts[h] = why
			continue
		}
		if ok, why := s.tryReplace([]int{h}); !ok {
			s.verdicts[h] = why
		}
	}
	for _, h := range s.candidates {
		if s.verdicts[h].OK() {
			s.verdicts[h] = model.Reason{Code: model.CodeNoCheaper, Subject: s.v.Hosts[h].Name(), Message: "nothing cheaper was found for its pods"}
		}
	}
}

func (s *search) mayConsolidate(host int) model.Reason {
	for _, c := range underused() {
		if r := c(s, host); !r.OK() {
			r.Subject = s.v.Hosts[host].Name()
			return r
		}
	}
	return model.Reason{}
}

// mayGo says whether what this plan decided already still lets a node go.
func (s *search) mayGo(host int) model.Reason {
	if r := s.taken(host); !r.OK() {
		return r
	}
	if r := s.budgets.reason(s.v.Hosts[host].Pool, model.ReasonUnderutilized, 1); !r.OK() {
		return r
	}
	return s.pdbs.reason(movable(s.v, host))
}

// deleteSingly gives back each node whose pods fit on others, and returns the nodes that a replacement might help.
func (s *search) deleteSingly(hosts []int) (rest []int) {
	for _, h := range hosts {
		if why := s.mayGo(h); !why.OK() {
			s.verdicts[h] = why
			continue
		}
		ok, left, why := s.tryDelete(h)
		switch {
		case ok:
		case len(left) > 0 && why.OK():
			rest = append(rest, h)
		default:
			s.verdicts[h] = why
		}
	}
	return rest
}

// replaceTogether tries to give back several nodes of a pool for one: the largest set first, each the nodes that save
// most for the least disturbance.
func (s *search) replaceTogether(p *view.Pool, hosts []int) {
	var set []int
	for _, h := range hosts {
		if s.v.Hosts[h].Pool == p && len(set) < mostTogether && s.mayGo(h).OK() {
			set = append(set, h)
		}
	}
	for n := len(set); n >= 2; n-- {
		together := set[:n]
		if !s.budgets.reason(p, model.ReasonUnderutilized, n).OK() || !s.pdbs.reason(s.movable(together...)).OK() {
			continue
		}
		if ok, _ := s.tryReplace(append([]int(nil), together...)); ok {
			return
		}
	}
}
