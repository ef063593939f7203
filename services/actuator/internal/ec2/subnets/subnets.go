// Package subnets decides into which subnet of a zone an instance is launched: that with the most free addresses, those
// that launches take meanwhile left out, and none that EC2 has just called full.
//
// It keeps what EC2 said of addresses, and never asks. Start reading at Book.Pick.
package subnets

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

const (
	// fullFor is how long a subnet without a free address is passed over. Addresses come free as nodes go.
	fullFor = 3 * time.Minute
	// keep is how long a launch is remembered: for longer than it is repeated with one token.
	keep = 15 * time.Minute
)

// Book is what is known of subnets' addresses. Safe for concurrent use.
type Book struct {
	now func() time.Time

	mu       sync.Mutex
	free     map[string]count
	full     map[string]time.Time // until when
	launches map[string]*launch   // by token
}

// count is how many addresses EC2 called free, and when it was asked.
type count struct {
	addresses int64
	asked     time.Time
}

// launch is the subnets that one launch may use. A launch that is over uses some of them, or none.
type launch struct {
	begun  time.Time
	over   time.Time         // zero: not yet
	picked map[string]string // by zone
	takes  map[string]int64  // addresses, by subnet
}

// New makes an empty book.
func New(now func() time.Time) *Book {
	return &Book{now: now, free: map[string]count{}, full: map[string]time.Time{}, launches: map[string]*launch{}}
}

// Seen takes over what EC2 said of subnets when it was asked. What it counts are addresses that launches before have taken.
func (b *Book) Seen(all []cloud.Subnet, asked time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		b.free[s.ID] = count{s.FreeAddresses, asked}
	}
	now := b.now()
	maps.DeleteFunc(b.launches, func(_ string, l *launch) bool { return now.Sub(l.begun) > keep })
	maps.DeleteFunc(b.full, func(_ string, until time.Time) bool { return !now.Before(until) })
}

// Pick chooses the zone's subnet for a launch that takes so many addresses. The same token gets the same subnet again: EC2
// refuses another request with it. False means that the zone has none of the subnets; where all are full it is one of them,
// since EC2 has the last word.
func (b *Book) Pick(token string, all []cloud.Subnet, zone string, addresses int64) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.launches[token]
	if l == nil {
		l = &launch{begun: b.now(), picked: map[string]string{}, takes: map[string]int64{}}
		b.launches[token] = l
	}
	if id, ok := l.picked[zone]; ok {
		return id, true
	}
	var best cloud.Subnet
	for _, s := range all {
		if s.Zone != zone {
			continue
		}
		s.FreeAddresses = b.left(s)
		if best.ID == "" || cmp.Or(cmp.Compare(best.FreeAddresses, s.FreeAddresses), cmp.Compare(s.ID, best.ID)) < 0 {
			best = s
		}
	}
	if best.ID == "" {
		return "", false
	}
	l.picked[zone], l.takes[best.ID] = best.ID, max(addresses, 1)
	return best.ID, true
}

// left is how many addresses a subnet has beside those that launches take; zero while it is full.
func (b *Book) left(s cloud.Subnet) int64 {
	if b.now().Before(b.full[s.ID]) {
		return 0
	}
	seen, ok := b.free[s.ID]
	if !ok {
		seen.addresses = s.FreeAddresses
	}
	for _, l := range b.launches {
		if l.over.IsZero() || l.over.After(seen.asked) {
			seen.addresses -= l.takes[s.ID]
		}
	}
	return max(seen.addresses, 0)
}

// Launched says how many addresses a launch has taken in each subnet.
func (b *Book) Launched(token string, taken map[string]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.launches[token]
	if l == nil || !l.over.IsZero() {
		return
	}
	l.over = b.now()
	l.takes = taken
}

// Full notes that EC2 found no free address in the subnet.
func (b *Book) Full(subnet string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full[subnet] = b.now().Add(fullFor)
}

// Open says that the zone has a subnet that is not full.
func (b *Book) Open(all []cloud.Subnet, zone string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	return slices.ContainsFunc(all, func(s cloud.Subnet) bool { return s.Zone == zone && !now.Before(b.full[s.ID]) })
}
