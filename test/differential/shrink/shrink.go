// Package shrink makes a failing case smaller while it still fails: it leaves out pods, nodes, pools and types, then
// constraint by constraint whatever the failure does not need. Start reading with Shrink.
package shrink

import (
	"reflect"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// Shrink returns the smallest case that it finds for which fails still holds, after at most so many tries.
func Shrink(c gen.Case, fails func(gen.Case) bool, tries int) gen.Case {
	for changed := true; changed && tries > 0; {
		changed = false
		for k := 0; tries > 0; {
			smaller := c.Clone()
			if !edit(&smaller, k) {
				break
			}
			tidy(&smaller.Input.Snapshot)
			if !valid(&smaller.Input.Snapshot) {
				k++
				continue
			}
			tries--
			if fails(smaller) {
				c, changed = smaller, true // what came after the k-th edit is the k-th now
				continue
			}
			k++
		}
	}
	return c
}

// editor walks a case and makes the edit that comes when left reaches 0.
type editor struct{ left int }

// edit makes the k-th of all edits that leave something out; false when there are not so many.
func edit(c *gen.Case, k int) bool {
	e := &editor{k}
	s := &c.Input.Snapshot
	for _, list := range []any{
		&s.Pods, &s.NodePools, &s.Nodes, &s.Claims, &s.DaemonSets, &s.Offerings, &s.PodClasses, &s.Namespaces, &s.Notices,
		&s.CapacityBuffers, &s.NodeOverlays,
	} {
		if e.list(reflect.ValueOf(list).Elem()) {
			return true
		}
	}
	for _, list := range []any{&s.PodClasses, &s.NodePools, &s.Nodes, &s.Claims, &s.Pods, &s.NodeClasses, &s.Offerings} {
		v := reflect.ValueOf(list).Elem()
		for i := range v.Len() {
			if e.fields(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// turn says whether it is this edit's turn.
func (e *editor) turn() bool {
	e.left--
	return e.left < 0
}

// list leaves out all of a list, a half or quarter of it, or one element.
func (e *editor) list(v reflect.Value) bool {
	n := v.Len()
	for size := n; size > 0; size /= 2 {
		for from := 0; from < n; from += size {
			if e.turn() {
				to := min(n, from+size)
				v.Set(reflect.AppendSlice(v.Slice(0, from), v.Slice(to, n)))
				return true
			}
		}
	}
	return false
}

// kept are fields that a case needs, or that say nothing.
func kept(name string) bool {
	return slices.Contains([]string{
		"Requests", "Selector", "Ready", "Phase", "CreateTime", "InitializeTime", "StateTime", "UnavailableUntil", "MaxSkew", "Price",
		"Capacity", "Allocatable", "Operator", "Weight", "Port", "Effect", "State", "Reached", "CapacityType", "Value", "VolumeAttachments",
		"ConsolidationPolicy", "Zones", "Daemon",
	}, name)
}

// fields makes an edit inside a structure.
func (e *editor) fields(v reflect.Value) bool {
	for field, f := range v.Fields() {
		switch {
		case field.Name == "Labels" || field.Name == "Requests":
			if e.entries(f) {
				return true
			}
		case kept(field.Name):
		case f.Kind() == reflect.Slice:
			if e.elements(f) {
				return true
			}
		case simple(f.Kind()) && !f.IsZero() && e.turn():
			f.SetZero()
			return true
		}
	}
	return false
}

func simple(k reflect.Kind) bool {
	return k == reflect.Bool || k == reflect.Int32 || k == reflect.Int || k == reflect.Pointer
}

// elements makes an edit in a list, or inside one of its elements.
func (e *editor) elements(v reflect.Value) bool {
	if e.list(v) {
		return true
	}
	for i := range v.Len() {
		if v.Index(i).Kind() == reflect.Struct && e.fields(v.Index(i)) {
			return true
		}
	}
	return false
}

// entries leaves out labels of the user's own, and amounts other than the pod itself.
func (e *editor) entries(v reflect.Value) bool {
	for i := range v.Len() {
		switch x := v.Index(i).Interface().(type) {
		case model.Label:
			if !own(x.Key) {
				continue
			}
		case model.Amount:
			if x.Resource == model.Pods {
				continue
			}
		}
		if e.turn() {
			v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len())))
			return true
		}
	}
	return false
}
