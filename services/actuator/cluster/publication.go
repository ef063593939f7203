package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Entry names an entry of a publication by what it does to which object, as "status of pool default".
type Entry string

// ClaimEntry is that of a claim's object.
func ClaimEntry(id model.ClaimID) Entry { return Entry("claim " + id) }

// ForgetClaimEntry is that of a claim's object that should go.
func ForgetClaimEntry(id model.ClaimID) Entry { return Entry("end of claim " + id) }

// PoolEntry is that of a pool's status.
func PoolEntry(name model.PoolName) Entry { return Entry("status of pool " + name) }

// ClassEntry is that of a class's status.
func ClassEntry(name model.NodeClassName) Entry { return Entry("status of class " + name) }

// ForgetClassEntry is that of a class whose finalizer should be removed.
func ForgetClassEntry(name model.NodeClassName) Entry { return Entry("end of class " + name) }

// StateEntry is that of the status of another object.
func StateEntry(s model.ObjectState) Entry { return Entry("status of " + s.Subject) }

// EventEntry is that of all events on an object with one reason: their order matters.
func EventEntry(e Event) Entry {
	return Entry("event " + e.Reason + " on " + e.Kind + "/" + e.Namespace + "/" + e.Name)
}

// NotPublished are the entries of a publication that failed, each with its reason, as an error. The others are published.
type NotPublished map[Entry]error

// mostNamed is how many of the entries that failed are in the error's text.
const mostNamed = 10

func (n NotPublished) Error() string {
	entries := slices.Sorted(maps.Keys(n))
	var lines []string
	for _, e := range entries[:min(len(entries), mostNamed)] {
		lines = append(lines, fmt.Sprintf("publish %s: %v", e, n[e]))
	}
	if more := len(entries) - mostNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}
