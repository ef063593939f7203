// Package heaps keeps lists whose first element comes before all others, at the price of a few comparisons for each change.
//
// It knows no more of elements than which of two comes first. Start reading with Push and Pop.
package heaps

import "container/heap"

// Element is what such a list has.
type Element[T any] interface{ Before(T) bool }

// Init brings a list into the order of a heap.
func Init[T Element[T]](list []T) { heap.Init((*of[T])(&list)) }

// Push puts an element in.
func Push[T Element[T]](list *[]T, x T) { heap.Push((*of[T])(list), x) }

// Pop takes the first element out.
func Pop[T Element[T]](list *[]T) T {
	x, _ := heap.Pop((*of[T])(list)).(T)
	return x
}

// Fix finds the new place of the first element, which has changed.
func Fix[T Element[T]](list []T) { heap.Fix((*of[T])(&list), 0) }

// of is a list as package heap wants it.
type of[T Element[T]] []T

func (l of[T]) Len() int           { return len(l) }
func (l of[T]) Less(i, j int) bool { return l[i].Before(l[j]) }
func (l of[T]) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *of[T]) Push(x any)        { *l = append(*l, x.(T)) } //nolint:forcetypeassert // Push gives nothing else

func (l *of[T]) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	*l = (*l)[:last]
	return x
}
