package snapshot

import "maps"

// shards is the number of parts of a table. With 100,000 objects a write copies one part of about 200 entries and the
// list of parts (4 KiB); more parts would make the list cost more than the part.
const shards = 512

// table is an immutable map in parts. A changed table shares every part that did not change with the one before, which
// is also how differences are found: parts that are the same pointer hold the same entries.
type table[V any] struct {
	parts *[shards]*map[string]V
	size  int
}

func (t *table[V]) get(id string) (V, bool) {
	if t.parts == nil {
		var none V
		return none, false
	}
	part := t.parts[shardOf(id)]
	if part == nil {
		var none V
		return none, false
	}
	v, ok := (*part)[id]
	return v, ok
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
		for id, v := range *part {
			visit(id, v)
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
			for id := range *pa {
				visit(id)
			}
		}
		if pb == nil {
			continue
		}
		for id := range *pb {
			if pa != nil {
				if _, seen := (*pa)[id]; seen {
					continue
				}
			}
			visit(id)
		}
	}
}

func partOf[V any](t *table[V], i int) *map[string]V {
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
	part := d.writable(shardOf(id))
	if _, ok := part[id]; !ok {
		d.table.size++
	}
	part[id] = v
}

func (d *draft[V]) remove(id string) {
	if _, ok := d.table.get(id); !ok {
		return
	}
	delete(d.writable(shardOf(id)), id)
	d.table.size--
}

func (d *draft[V]) writable(i int) map[string]V {
	if d.own == nil {
		var parts [shards]*map[string]V
		if d.table.parts != nil {
			parts = *d.table.parts
		}
		d.table.parts, d.own = &parts, new([shards]bool)
	}
	if d.own[i] {
		return *d.table.parts[i]
	}
	var part map[string]V
	if old := d.table.parts[i]; old != nil {
		part = maps.Clone(*old)
	} else {
		part = make(map[string]V)
	}
	d.table.parts[i], d.own[i] = &part, true
	return part
}

// shardOf is FNV-1a, 32 bit, folded to the number of parts.
func shardOf(id string) int {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int((h ^ h>>16) % shards)
}
