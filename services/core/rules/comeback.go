package rules

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Returning are pods of one class that leave their nodes, and are to come back to one place.
type Returning struct {
	// First is the first of their names, Pods how many they are.
	First model.PodID
	Pods  int
	// Ruled says that they have required rules about other pods: the others may come at any time.
	Ruled bool
	// Like is the same for those of which one may come exactly if one of the others may.
	Like int
}

// mostReturnOrders is in how many orders pods are let back.
const mostReturnOrders = 8

// ComeBack lets pods back that have left, each time the first that may, in some order of their groups: a plan names
// none, and no controller keeps one, so that who plans and who checks the plan must mean the same. Those that have
// rules come first, and then they go by name; where some never may, these are before all others the next time, and the
// first of the others after all. begin is when all have left; what it returns says whether one more of a group may
// come, who is there from then on. ComeBack returns how many of each group never may, in the first order, if that is so
// in all.
func ComeBack(groups []Returning, begin func() (back func(group int) bool)) (stuck []int) {
	order := returnOrder(groups)
	for range mostReturnOrders {
		left := letBack(groups, order, begin())
		var first, others []int
		for _, i := range order {
			if left[i] > 0 {
				first = append(first, i)
			} else {
				others = append(others, i)
			}
		}
		if len(first) == 0 {
			return left
		}
		if stuck == nil {
			stuck = left
		}
		if len(others) > 1 {
			others = append(others[1:], others[0])
		}
		order = append(first, others...)
	}
	return stuck
}

func returnOrder(groups []Returning) []int {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	ruled := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &groups[i], &groups[j]
		return cmp.Or(cmp.Compare(ruled[a.Ruled], ruled[b.Ruled]), cmp.Compare(a.First, b.First))
	})
	return order
}

// letBack is ComeBack in one order.
func letBack(groups []Returning, order []int, back func(group int) bool) (left []int) {
	left = make([]int, len(groups))
	// Of those that are alike only the first is asked. turns are sorted by the place of the first in the order.
	var turns [][]int
	like := make(map[int]int)
	for at, i := range order {
		left[i] = groups[i].Pods
		k, known := like[groups[i].Like]
		if !known {
			k = len(turns)
			like[groups[i].Like], turns = k, append(turns, nil)
		}
		turns[k] = append(turns[k], at)
	}
	for {
		k := slices.IndexFunc(turns, func(turn []int) bool { return back(order[turn[0]]) })
		if k < 0 {
			return left
		}
		turn := turns[k]
		i := order[turn[0]]
		if left[i]--; left[i] > 0 {
			continue
		}
		turn, turns = turn[1:], slices.Delete(turns, k, k+1)
		if len(turn) > 0 {
			to, _ := slices.BinarySearchFunc(turns, turn[0], func(t []int, at int) int { return cmp.Compare(t[0], at) })
			turns = slices.Insert(turns, to, turn)
		}
	}
}
