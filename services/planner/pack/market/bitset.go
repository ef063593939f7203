package market

// bitset is a set of small numbers.
type bitset []uint64

func newBits(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int, on bool) {
	if on {
		b[i/64] |= 1 << (i % 64)
		return
	}
	b[i/64] &^= 1 << (i % 64)
}

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// covers says that b has all that c has.
func (b bitset) covers(c bitset) bool {
	for i := range c {
		if c[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}
