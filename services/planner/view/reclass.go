package view

import (
	"slices"
)

// Reclass makes the world what it is after classes came, or went that no pod has, while all others are as they were: the
// result is that of NewWorld and NewView on the changed snapshot. Nothing of the view may be tried out at the time. ok is
// false where that is not all that changes with the classes; then the view is not to be used any more. same says that the
// profiles are what they were.
func (v *View) Reclass() (same, ok bool, err error) {
	w := v.World
	if w.Devices != nil || counted(w.Snapshot) != nil ||
		!slices.Equal(NewIndex(slices.Concat(mentioned(w.Snapshot), attachLimits(w.Snapshot))).names, w.Index.names) {
		return false, false, nil
	}
	classes, profiles, lacks := w.Classes, w.Profiles, w.Lacks
	w.Classes, w.Profiles = nil, nil
	if err := (compiler{w}).addClasses(); err != nil {
		return false, false, err
	}
	if !lacks.Equal(w.Lacks) { // pools and hosts are what they were, with what they lacked
		return false, false, nil
	}
	now := make([]*Class, len(classes))
	for i, c := range classes {
		now[i] = w.class(c.ID)
	}
	for i := range w.Pods {
		c := now[w.Pods[i].Class.Index]
		if c == nil {
			return false, false, nil
		}
		w.Pods[i].Class = c
	}
	for i := range w.Daemons {
		c := now[w.Daemons[i].Class.Index]
		if c == nil {
			return false, false, nil
		}
		w.Daemons[i].Class = c
	}
	same = slices.EqualFunc(profiles, w.Profiles, func(a, b *Profile) bool { return a.key == b.key })
	return same, true, nil
}
