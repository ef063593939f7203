// Package bits has sets of small numbers. It never knows what they are numbers of. Start reading at Set.
package bits

import (
	"iter"
	"math/bits"
)

// Set is a set of numbers that are not negative. The zero value is empty. Copies share what they have.
type Set []uint64

// New is an empty set with room for numbers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add puts a number in, and makes room for it.
func (s *Set) Add(i int) {
	for i>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

// Put puts a number in or takes it out.
func (s *Set) Put(i int, in bool) {
	if s.Add(i); !in {
		(*s)[i>>6] &^= 1 << (i & 63)
	}
}

// Has says whether a number is in the set.
func (s Set) Has(i int) bool { return i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

// Covers says that a set has all that another has.
func (s Set) Covers(other Set) bool {
	for i, word := range other {
		if i < len(s) {
			word &^= s[i]
		}
		if word != 0 {
			return false
		}
	}
	return true
}

// Meets says that two sets have a number in common.
func (s Set) Meets(other Set) bool {
	for i, word := range other {
		if i < len(s) && word&s[i] != 0 {
			return true
		}
	}
	return false
}

// AddAll puts in all that another set has.
func (s *Set) AddAll(other Set) {
	for len(*s) < len(other) {
		*s = append(*s, 0)
	}
	for i, word := range other {
		(*s)[i] |= word
	}
}

// All are the numbers in the set, the least first.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(k<<6 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// First is the least number in the set, -1 in an empty one.
func (s Set) First() int {
	for i, word := range s {
		if word != 0 {
			return i<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// Equal says that two sets have the same numbers.
func (s Set) Equal(other Set) bool { return s.Covers(other) && other.Covers(s) }

// Len is how many numbers are in the set.
func (s Set) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}
