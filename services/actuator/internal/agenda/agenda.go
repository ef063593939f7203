// Package agenda holds what the parts of the actuator's loop tell each other about passes: the time of the present one,
// when the next one must be, and whether it has something new to show. It must never know what a pass
// does. Start reading at Agenda.
package agenda

import "time"

// Agenda belongs to the goroutine that makes the passes. The zero Agenda is ready.
type Agenda struct {
	// now is the time of the present pass: one for all of its decisions. passes counts them.
	now    time.Time
	passes int
	// next is when another pass is needed though nothing is seen to change; zero for never. Of the times asked for since
	// the pass began it is the earliest.
	next time.Time
	// again asks for another pass at once: this one changed what it had looked at.
	again bool
	// changed says that subscribers have not been shown yet what there is to show.
	changed bool
}

// Begin begins a pass. What was asked for before it does not count any more: it asks for it again.
func (a *Agenda) Begin(now time.Time) {
	a.now, a.next, a.again = now, time.Time{}, false
	a.passes++
}

// Pass is the number of the present pass, or of the last one between two.
func (a *Agenda) Pass() int { return a.passes }

// Look moves the time on within a pass: what is done between two passes decides by the time that it is.
func (a *Agenda) Look(now time.Time) { a.now = now }

// Now is the time of the pass.
func (a *Agenda) Now() time.Time { return a.now }

// Wake asks for a pass at a time; zero asks for nothing.
func (a *Agenda) Wake(t time.Time) {
	if !t.IsZero() && (a.next.IsZero() || t.Before(a.next)) {
		a.next = t
	}
}

// Due says until when the present time still lasts: it is true from the due time on. Before, a pass is asked for then.
func (a *Agenda) Due(due time.Time) bool {
	if a.now.Before(due) {
		a.Wake(due)
		return false
	}
	return true
}

// Again asks for another pass at once.
func (a *Agenda) Again() { a.again = true }

// Next is when the next pass is needed, zero for never, and whether it is needed at once.
func (a *Agenda) Next() (at time.Time, atOnce bool) { return a.next, a.again }

// Change notes that there is something new to show.
func (a *Agenda) Change() { a.changed = true }

// Changed says whether there is something new to show.
func (a *Agenda) Changed() bool { return a.changed }

// Shown notes that all was shown.
func (a *Agenda) Shown() { a.changed = false }
