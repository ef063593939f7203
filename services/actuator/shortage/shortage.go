// Package shortage is the memory of what EC2 has none of, as pure functions: what a shortage is about, for how long it is
// believed, and when one claim may try what was short.
//
// The first time a shortage is believed for as long as the configuration says, and each time in a row for twice as
// long. What is worth another try is tried by one claim at first, and by twice as many after each that comes to
// something; a claim that has other offerings may ask for it beside those. Start reading at Memory.
package shortage

import (
	"fmt"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// Longest is the longest time that a shortage is believed at once.
	Longest = 30 * time.Minute
	// enough claims at once that have come to something say that a shortage is over.
	enough = 64
)

// Everything is a shortage's type where the account can have nothing of the capacity type.
const Everything model.TypeName = "account:"

const quotaPrefix = "quota:"

// OfQuota names, as a shortage's type, what counts towards the quota of a type and needs no fewer vCPUs than that.
func OfQuota(t model.TypeName, vcpu int64) model.TypeName {
	return model.TypeName(fmt.Sprintf("%s%s:%d", quotaPrefix, quotaOf(t), vcpu))
}

const groupPrefix = "group:"

// Within is a shortage that a launch into the placement group has met; "" is no group. There may be some outside it,
// but for what the account may not have.
func Within(group string, s model.Shortage) model.Shortage {
	if group != "" && !strings.Contains(string(s.InstanceType), ":") {
		s.InstanceType = model.TypeName(groupPrefix+group+":") + s.InstanceType
	}
	return s
}

// InGroup are until when there is believed to be none of offerings in the placement group.
func (m Memory) InGroup(group string) map[Key]time.Time {
	var out map[Key]time.Time
	for key, s := range m {
		if name, is := strings.CutPrefix(string(key.InstanceType), groupPrefix+group+":"); is && group != "" {
			if out == nil {
				out = map[Key]time.Time{}
			}
			out[Key{model.TypeName(name), key.Zone, key.CapacityType}] = s.Until
		}
	}
	return out
}

// quotaOf names the quota of vCPUs that a type counts towards, by the letters that its name begins with.
func quotaOf(t model.TypeName) string {
	family := string(t)[:len(t)-len(strings.TrimLeft(string(t), "abcdefghijklmnopqrstuvwxyz"))]
	switch family {
	case "g", "gr", "vt":
		return "g"
	case "f", "p", "x", "u", "inf", "trn", "dl", "hpc", "mac":
		return family
	default:
		return "standard"
	}
}

// Key is what a shortage is about.
type Key struct {
	InstanceType model.TypeName
	Zone         string
	CapacityType model.CapacityType
}

// KeyOf is what the shortage is about.
func KeyOf(s model.Shortage) Key { return Key{s.InstanceType, s.Zone, s.CapacityType} }

// Memory is the shortages that are remembered, those that are over for a while among them.
type Memory map[Key]model.Shortage

// Again is a shortage that was seen now, with how long it is believed: longer than the last time where that was lately.
// What is believed already is not counted twice.
func (m Memory) Again(s model.Shortage, first time.Duration, now time.Time) model.Shortage {
	old, ok := m[KeyOf(s)]
	s.Tries = 0
	switch {
	case !ok || Forgotten(old, first, now):
		s.Times = 1
	case now.Before(old.Until):
		s.Times, s.Until = old.Times, old.Until
		return s
	default:
		s.Times = old.Times + 1
	}
	s.Until = now.Add(believed(s, first))
	if whole := s.Until.Truncate(first); s.Times > 1 && whole.Before(s.Until) { // what is short together is tried together, by one claim
		s.Until = whole.Add(first)
	}
	return s
}

func believed(s model.Shortage, first time.Duration) time.Duration {
	return max(first, min(first<<min(max(s.Times-1, 0), 16), Longest))
}

// Forgotten says that a shortage has been over for as long as it was believed: the next one is the first.
func Forgotten(s model.Shortage, first time.Duration, now time.Time) bool {
	return !now.Before(ForgottenAt(s, first))
}

// ForgottenAt is when a shortage is forgotten.
func ForgottenAt(s model.Shortage, first time.Duration) time.Time {
	return s.Until.Add(believed(s, first))
}

// State is until when there is believed to be none of an offering, zero for now, and how many claims may try it at once
// where it was short lately; zero where as many as want to.
type State struct {
	Until time.Time
	Tries int
}

// Lookup finds what is remembered of offerings, of which there are thousands: quotas, which any shortage may be of, are
// looked for once.
type Lookup struct {
	memory Memory
	quotas []quota
}

type quota struct {
	key Key
	of  string
	// least is how many vCPUs a type has that it is about.
	least int64
}

// Lookup holds until the memory changes.
func (m Memory) Lookup() Lookup {
	l := Lookup{memory: m}
	for key := range m {
		if of, least, ok := readQuota(key.InstanceType); ok {
			l.quotas = append(l.quotas, quota{key, of, least})
		}
	}
	return l
}

// Of is what is remembered of an offering of a type with so many vCPUs.
func (l Lookup) Of(k Key, vcpu int64, now time.Time) State {
	var out State
	see := func(key Key) {
		if s, ok := l.memory[key]; ok {
			if tries := max(s.Tries, 1); out.Tries == 0 || tries < out.Tries {
				out.Tries = tries
			}
			if now.Before(s.Until) && s.Until.After(out.Until) {
				out.Until = s.Until
			}
		}
	}
	if len(l.memory) == 0 {
		return out
	}
	see(k)
	see(Key{k.InstanceType, "", k.CapacityType})
	see(Key{Everything, "", k.CapacityType})
	for _, q := range l.quotas {
		if q.key.CapacityType == k.CapacityType && vcpu >= q.least && q.of == quotaOf(k.InstanceType) {
			see(q.key)
		}
	}
	return out
}

func readQuota(t model.TypeName) (quota string, vcpu int64, ok bool) {
	rest, ok := strings.CutPrefix(string(t), quotaPrefix)
	if !ok {
		return "", 0, false
	}
	quota, number, _ := strings.Cut(rest, ":")
	_, err := fmt.Sscan(number, &vcpu)
	return quota, vcpu, err == nil
}

// Eased is a shortage after what was short was had: more may try it. Over says that it is one no longer.
func Eased(s model.Shortage, now time.Time) (eased model.Shortage, over bool) {
	s.Tries = max(2*s.Tries, 1) // the first may have had the last
	s.Times = max(s.Times-1, 1)
	if now.Before(s.Until) {
		s.Until = now
	}
	return s, s.Tries > enough
}

// Seen are the shortages that an instance of the offering says something of.
func (m Memory) Seen(k Key, vcpu int64) []model.Shortage {
	var out []model.Shortage
	for key, s := range m {
		quota, least, ok := readQuota(key.InstanceType)
		switch {
		case key.CapacityType != k.CapacityType:
		case key == k, key == Key{k.InstanceType, "", k.CapacityType}, key.InstanceType == Everything,
			ok && quota == quotaOf(k.InstanceType) && vcpu >= least:
			out = append(out, s)
		}
	}
	return out
}
