package miss_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack/miss"
	"github.com/kerf-dev/kerf/services/planner/view"
)

func reason(remedy string) model.Reason {
	return model.Reason{Code: model.CodeRequirements, Message: "no " + remedy, Remedy: remedy}
}

func TestTheNearestTakesTheFewestChanges(t *testing.T) {
	one, two := []model.Reason{reason("a")}, []model.Reason{reason("a"), reason("b")}
	for name, c := range map[string]struct{ heavy, light miss.Miss }{ // the light one is nearer
		"fewer changes":             {broken(miss.Limit, two), broken(miss.Taint, one)},
		"a later rule":              {broken(miss.Labels, one), broken(miss.Size, one)},
		"less is lacking":           {lacks(broken(miss.Size, one), 3), lacks(broken(miss.Size, one), 2)},
		"the pool that it asks for": {other(broken(miss.Size, one)), broken(miss.Taint, two)},
	} {
		t.Run(name, func(t *testing.T) {
			c.heavy.Pool, c.light.Pool = &view.Pool{Index: 0}, &view.Pool{Index: 1}
			if got := miss.Nearest([]miss.Miss{c.heavy, c.light}); got.Pool != c.light.Pool {
				t.Errorf("the nearest is %s, want the other one", got.Reason.Message)
			}
			c.light.Pool, c.heavy.Pool = c.heavy.Pool, c.light.Pool
			if got := miss.Nearest([]miss.Miss{c.heavy, c.light}); got.Pool != c.light.Pool {
				t.Error("the weight decides, though it is no tie")
			}
		})
	}
}

func TestOfEqualsTheHeaviestIsNearest(t *testing.T) {
	a, b := broken(miss.Size, []model.Reason{reason("a")}), broken(miss.Size, []model.Reason{reason("b")})
	a.Pool, b.Pool = &view.Pool{Index: 1}, &view.Pool{Index: 0}
	if got := miss.Nearest([]miss.Miss{a, b}); got.Pool != b.Pool {
		t.Errorf("the nearest is that of pool %d, want the first", got.Pool.Index)
	}
}

func TestARemedyIsAllThatItTakes(t *testing.T) {
	none := reason("")
	none.Message = "static"
	for want, of := range map[string][]model.Reason{
		"a":                             {reason("a")},
		"a; also b":                     {reason("a"), reason("b")},
		"a; also b; also c; and 2 more": {reason("a"), reason("b"), reason("c"), reason("d"), reason("e")},
		"a; also b; also c":             {reason("a"), reason("b"), reason("c")},
		"a; also static":                {reason("a"), none},
		"":                              {none, reason("a")},
	} {
		if got := broken(miss.Labels, of).Reason.Remedy; got != want {
			t.Errorf("the remedy of %d rules is %q, want %q", len(of), got, want)
		}
	}
}

func broken(stage miss.Stage, reasons []model.Reason) miss.Miss {
	var m miss.Miss
	m.Break(stage, reasons...)
	return m
}

func lacks(m miss.Miss, lack float64) miss.Miss {
	m.Lack = lack
	return m
}

func other(m miss.Miss) miss.Miss {
	m.Other = true
	return m
}
