package rules_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/rules"
)

func TestADeletionCostIsToldOnceItHasMovedByAStep(t *testing.T) {
	for _, c := range []struct {
		was, is   int32
		due, news bool
	}{
		{0, -1, true, false},
		{0, -900, true, true},
		{-500, -549, false, false},
		{-500, -550, false, true},
		{-500, -451, false, false},
		{-500, -400, true, true},
		{-500, -600, true, true},
	} {
		if due, news := rules.DeletionCostDue(c.was, c.is), rules.DeletionCostNews(c.was, c.is); due != c.due || news != c.news {
			t.Errorf("from %d to %d: due %v, news %v; want %v, %v", c.was, c.is, due, news, c.due, c.news)
		}
	}
}
