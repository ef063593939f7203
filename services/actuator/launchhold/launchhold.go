// Package launchhold keeps launches of a node class back after one of them was refused, as a pure value. Without it the
// pods would be planned again at once, under another claim, and be refused again, several times a second.
//
// It decides how long; the caller asks At each time, launches nothing while Why says something, and reports what became
// of launches. Start reading at Hold.
package launchhold

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// The pauses, which double. The longest is shorter than a claim's wait for its launch.
const (
	first   = 5 * time.Second
	longest = 2 * time.Minute
)

// Hold is what is remembered of a class's launches. The zero Hold holds nothing. It is comparable, so that a caller sees
// whether an answer is another one.
type Hold struct {
	// Why is the reason to show while the hold lasts; the zero Reason otherwise.
	Why model.Reason
	// Until is when it ends; zero while nothing is held.
	Until time.Time
	// Refusals are how many holds there were in a row, without a node of the class in between.
	Refusals int
}

// Refused answers to a launch that was refused, or came to nothing. Launches that were begun together are refused
// together: while a hold lasts, another refusal says nothing new.
func (h Hold) Refused(class model.NodeClassName, why string, now time.Time) Hold {
	if !h.Until.IsZero() {
		return h
	}
	return Hold{
		Until: now.Add(min(first<<min(h.Refusals, 10), longest)), Refusals: h.Refusals + 1,
		Why: model.Reason{
			Code: model.CodeNodeClassNotReady, Subject: "ec2nodeclass/" + string(class),
			Message: "nothing is launched with EC2NodeClass " + string(class) + " for a moment, because the last launch failed: " + why,
			Remedy:  "correct what EC2 complains of; it is tried again within " + longest.String(),
		},
	}
}

// Moved learns from a claim of the class that has changed its state: a node that registers ends the row of refusals, and
// an instance that ends before it is a node is as good as refused.
func (h Hold) Moved(old, c model.Claim, now time.Time) Hold {
	switch {
	case c.State == model.ClaimRegistered:
		return Hold{}
	case old.State == model.ClaimLaunched && c.Failure.Code == model.CodeInstanceLost:
		return h.Refused(c.NodeClass, c.Failure.Message, now)
	}
	return h
}

// At ends a hold that is over. The row of refusals goes on: only a node ends it.
func (h Hold) At(now time.Time) Hold {
	if h.Until.IsZero() || now.Before(h.Until) {
		return h
	}
	return Hold{Refusals: h.Refusals}
}
