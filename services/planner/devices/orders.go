package devices

import (
	"iter"
	"slices"
)

// Orders are all orders of a list, beginning with its own.
func Orders[T any](list []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		if len(list) == 0 {
			yield(nil)
			return
		}
		for i := range list {
			for rest := range Orders(slices.Concat(list[:i], list[i+1:])) {
				if !yield(append([]T{list[i]}, rest...)) {
					return
				}
			}
		}
	}
}
