package snapshot

import (
	"cmp"
	"slices"
)

// shards is the number of parts of a table. With 100,000 objects a write copies one part of about 200 entries and the
// list of parts (4 KiB); more parts would make the list cost more than the part.
const shards = 512

// table is an immutable map in parts. A changed table shares every part that did not change with the one before, which
// is also how differences are found: parts that are the same pointer hold the same entries.
type table[V any] struct {
	parts *[shards]*part[V]
	size  int
}

// part has its entries sorted by id: it takes no more memory than they do, where a map of two has room for eight.
type part[V any] []entry[V]

type entry[V any] struct {
	id    string
	value V
}

// find is where an id is, or is to be. A nil part has none.
func (p *part[V]) find(id string) (at int, found bool) {
	if p == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(*p, id, func(e entry[V], id string) int { return cmp.Compare(e.id, id) })
}

func (t *table[V]) get(id string) (V, bool) {
	if t.parts != nil {
		part := t.parts[shardOf(id)]
		if i, ok := part.find(id); ok {
			return (*part)[i].value, true
		}
	}
	var none V
	return none, false
}

// each visits all entries in no particular order; callers sort what they make of it.
func (t *table[V]) each(visit func(id string, v V)) {
	if t.parts == nil {
		return
	}
	for _, part := range t.parts {
		if part == nil {
			continue
		}
		for _, e := range *part {
			visit(e.id, e.value)
		}
	}
}

// changed visits the ids that may differ between two tables: all entries of the parts that are not shared.
func changed[V any](a, b *table[V], visit func(id string)) {
	if a.parts == b.parts {
		return
	}
	for i := range shards {
		pa, pb := partOf(a, i), partOf(b, i)
		if pa == pb {
			continue
		}
		if pa != nil {
			for _, e := range *pa {
				visit(e.id)
			}
		}
		if pb == nil {
			continue
		}
		for _, e := range *pb {
			if _, seen := pa.find(e.id); !seen {
				visit(e.id)
			}
		}
	}
}

func partOf[V any](t *table[V], i int) *part[V] {
	if t.parts == nil {
		return nil
	}
	return t.parts[i]
}

// draft is a table that one Fold writes to. It copies the list of parts at the first write, and each part at its first
// write, so that a large batch copies every part once at most.
type draft[V any] struct {
	table table[V]
	own   *[shards]bool
}

func (d *draft[V]) set(id string, v V) {
	p := d.writable(shardOf(id))
	i, ok := p.find(id)
	if ok {
		(*p)[i].value = v
		return
	}
	d.table.size++
	*p = slices.Insert(*p, i, entry[V]{id, v})
}

func (d *draft[V]) remove(id string) {
	shard := shardOf(id)
	if _, ok := partOf(&d.table, shard).find(id); !ok {
		return
	}
	d.table.size--
	p := d.writable(shard)
	i, _ := p.find(id)
	*p = slices.Delete(*p, i, i+1)
}

// writable is a part that is the draft's own, with room for one more entry.
func (d *draft[V]) writable(i int) *part[V] {
	if d.own == nil {
		var parts [shards]*part[V]
		if d.table.parts != nil {
			parts = *d.table.parts
		}
		d.table.parts, d.own = &parts, new([shards]bool)
	}
	if !d.own[i] {
		var own part[V]
		if old := d.table.parts[i]; old != nil {
			own = append(make(part[V], 0, len(*old)+1), *old...)
		}
		d.table.parts[i], d.own[i] = &own, true
	}
	return d.table.parts[i]
}

// shardOf is FNV-1a, 32 bit, folded to the number of parts.
func shardOf(id string) int {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int((h ^ h>>16) % shards)
}
