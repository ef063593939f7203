package observed

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Instances are what EC2 showed last. They belong to the owner of the jobs. All are asked for now and then; those of a
// claim of which one is about to come or to go more often, and they alone: an answer about thousands takes long to
// read.
type Instances struct {
	cloud  cloud.Cloud
	agenda *agenda.Agenda
	jobs   *jobs.Pool
	log    *slog.Logger
	// poll is how often all are asked for, fastPoll how often those that are expected to change.
	poll, fastPoll time.Duration

	// All are the instances, each as it was shown last. Listed is when all were asked for; zero before the first time.
	All    []cloud.Instance
	Listed time.Time
	// byClaim are those of All with a claim's tag, and askedAt is when those of some claims were asked for since Listed.
	byClaim map[model.ClaimID][]cloud.Instance
	askedAt map[model.ClaimID]time.Time
	// version counts the changes of All, and claimOf are the claims by instance as of claimsAt.
	version  int
	claimOf  map[string]model.ClaimID
	claimsAt int
	// touched are the claims whose instances have changed since Touched was asked.
	touched map[model.ClaimID]bool
	// now says to ask for all without waiting, and soon for those of some claims; asked is when EC2 was asked last.
	now   bool
	soon  map[model.ClaimID]bool
	asked time.Time
	// led is when Lead was called, and claims what with.
	led    time.Time
	claims map[model.ClaimID]*model.Claim
	// resolve names the claims of instances that lack the tag; nil for one who does not lead.
	resolve func([]cloud.Instance)
	// silences are when EC2 did not answer, beyond patience.
	silences silences
	// pause is how long EC2 is left alone while nothing comes of asking: it grows until something changes.
	pause time.Duration
}

// slowest is the longest pause while an instance is expected to come or to go.
const slowest = 4

// patience is how many polls of EC2 may pass without an answer before that is a silence.
const patience = 2

// Intervals are how often instances are asked for: Fast those of claims of which one comes or goes, Poll all.
type Intervals struct{ Poll, Fast time.Duration }

// NewInstances makes a list that was never asked for.
func NewInstances(c cloud.Cloud, a *agenda.Agenda, j *jobs.Pool, log *slog.Logger, every Intervals) *Instances {
	return &Instances{
		cloud: c, agenda: a, jobs: j, log: log, poll: every.Poll, fastPoll: every.Fast,
		askedAt: map[model.ClaimID]time.Time{}, touched: map[model.ClaimID]bool{}, soon: map[model.ClaimID]bool{},
	}
}

// PollNow asks for a claim's instances without waiting, and for all where it is not known whose have changed in EC2.
func (s *Instances) PollNow(id model.ClaimID) {
	s.pause = 0
	if id == "" {
		s.now = true
	} else {
		s.soon[id] = true
	}
}

// Poll asks for all instances, or for those of the claims that expect a change, when it is time to.
func (s *Instances) Poll(ctx context.Context, expecting []model.ClaimID) {
	claims := maps.Clone(s.soon)
	for _, id := range expecting {
		claims[id] = true
	}
	if len(claims) == 0 {
		s.pause = 0
	}
	switch {
	case s.now || s.Listed.IsZero() || s.agenda.Due(s.Listed.Add(s.poll)):
		s.ask(ctx, nil)
	case len(s.soon) > 0 || len(claims) > 0 && s.agenda.Due(s.asked.Add(max(s.pause, s.fastPoll))):
		s.ask(ctx, s.oldest(slices.Sorted(maps.Keys(claims))))
	}
}

// oldest are as many of the claims as can be named at once, those that were asked for the longest ago.
func (s *Instances) oldest(claims []model.ClaimID) []model.ClaimID {
	if len(claims) <= cloud.MaxSome {
		return claims
	}
	slices.SortStableFunc(claims, func(a, b model.ClaimID) int { return s.AskedAt(a).Compare(s.AskedAt(b)) })
	claims = claims[:cloud.MaxSome]
	slices.Sort(claims)
	return claims
}

// some names a claim's instances: by the claim's tag, which those of a launch of several have late.
func (s *Instances) some(id model.ClaimID) cloud.Some {
	switch c := s.claims[id]; {
	case c == nil || c.Launch == "":
		return cloud.Some{Claim: id}
	case c.InstanceID != "":
		return cloud.Some{Instance: c.InstanceID}
	default:
		return cloud.Some{Launch: c.Launch}
	}
}

// ask asks for the instances of some claims; for all when none is named.
func (s *Instances) ask(ctx context.Context, claims []model.ClaimID) {
	var some []cloud.Some
	for _, id := range claims {
		if x := s.some(id); !slices.Contains(some, x) {
			some = append(some, x)
		}
	}
	var got []cloud.Instance
	var asked time.Time
	const key = "instances"
	s.jobs.Do(ctx, jobs.Job{
		Key: key, RepeatAfter: min(s.fastPoll, time.Second), First: time.Second, Most: 30 * time.Second,
		Run: func(ctx context.Context) (err error) {
			asked = time.Now()
			got, err = s.cloud.Instances(ctx, some...)
			return err
		},
		Done: func(err error) {
			s.jobs.LogFailure(ctx, s.log, key, "list instances")(err)
			if err != nil {
				return
			}
			s.silences.end(s.silentUntil(asked))
			s.asked = asked
			if s.resolve != nil {
				s.resolve(got)
			}
			before := s.version
			if len(claims) == 0 {
				s.takeAll(got, asked)
			} else {
				s.takeSome(claims, got, asked)
			}
			s.pause = min(max(2*s.pause, s.fastPoll), slowest*s.fastPoll)
			if s.version != before {
				s.pause = 0
			}
		},
	})
}

// takeAll takes a list of all over.
func (s *Instances) takeAll(list []cloud.Instance, asked time.Time) {
	before := s.byClaim
	s.All, s.Listed, s.now = list, asked, false
	clear(s.askedAt)
	clear(s.soon)
	s.byClaim = make(map[model.ClaimID][]cloud.Instance, len(list))
	for _, i := range list {
		s.byClaim[i.Claim] = append(s.byClaim[i.Claim], i)
	}
	for id, own := range s.byClaim {
		s.compare(id, before[id], own)
	}
	for id := range before {
		s.compare(id, before[id], s.byClaim[id])
	}
	if asked.Before(s.led) {
		s.doubt()
	}
}

// takeSome takes over what was shown of some claims.
func (s *Instances) takeSome(claims []model.ClaimID, list []cloud.Instance, asked time.Time) {
	own := map[model.ClaimID][]cloud.Instance{}
	for _, i := range list {
		own[i.Claim] = append(own[i.Claim], i)
	}
	for _, id := range claims {
		s.compare(id, s.byClaim[id], own[id])
		s.byClaim[id], s.askedAt[id] = own[id], asked
		delete(s.soon, id)
		delete(own, id)
	}
	shown := map[string]bool{}
	for _, i := range list {
		shown[i.ID] = true
	}
	for id, some := range own { // of other claims of the same launch
		now := slices.Concat(slices.DeleteFunc(slices.Clone(s.byClaim[id]), func(i cloud.Instance) bool { return shown[i.ID] }), some)
		s.compare(id, s.byClaim[id], now)
		s.byClaim[id] = now
	}
	all := slices.DeleteFunc(slices.Clone(s.All), func(i cloud.Instance) bool {
		_, anew := slices.BinarySearch(claims, i.Claim)
		return anew || shown[i.ID]
	})
	s.All = append(all, list...)
	slices.SortFunc(s.All, func(a, b cloud.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *Instances) compare(id model.ClaimID, before, now []cloud.Instance) {
	if !reflect.DeepEqual(before, now) {
		s.version++
		s.touched[id] = true
	}
}

// Version counts the changes of All.
func (s *Instances) Version() int { return s.version }

// Touched are the claims whose instances have changed since it was last asked.
func (s *Instances) Touched() map[model.ClaimID]bool {
	out := s.touched
	s.touched = map[model.ClaimID]bool{}
	return out
}

// Lead is for a leader that has listed instances while it stood by. Claims that were under way, and those that the list
// does not show, count as not asked for until the next list. The claims are the leader's own, and resolve names those
// of instances that lack the tag.
func (s *Instances) Lead(claims map[model.ClaimID]*model.Claim, resolve func([]cloud.Instance)) {
	s.led, s.claims, s.resolve = time.Now(), claims, resolve
	s.doubt()
}

// Named says that all were asked for since Lead: those that lack the tag have the names of their claims.
func (s *Instances) Named() bool { return !s.Listed.IsZero() && !s.Listed.Before(s.led) }

func (s *Instances) doubt() {
	s.now = true
	for id, c := range s.claims {
		if c.State != model.ClaimInitialized || s.Alive(c) == nil {
			s.askedAt[id] = time.Time{}
		}
	}
}

// AskedAt is when the claim's instances were asked for; zero before they were.
func (s *Instances) AskedAt(id model.ClaimID) time.Time {
	if at, ok := s.askedAt[id]; ok {
		return at
	}
	return s.Listed
}

// silentUntil is the silence since EC2 answered last, up to a time; it may be none.
func (s *Instances) silentUntil(t time.Time) span {
	return span{s.asked.Add(patience * s.poll), t}
}

// SilentSince is how long EC2 has shown no instances since a time, whosever they are.
func (s *Instances) SilentSince(t time.Time) time.Duration {
	return s.silences.since(t, s.silentUntil(s.agenda.Now()))
}

// Of are the instances with the claim's tag.
func (s *Instances) Of(id model.ClaimID) []cloud.Instance { return s.byClaim[id] }

// ClaimOf is the claim that the instance's tag names; "" when it is not shown or has no tag.
func (s *Instances) ClaimOf(instance string) model.ClaimID {
	if s.claimOf == nil || s.claimsAt != s.version {
		s.claimOf, s.claimsAt = make(map[string]model.ClaimID, len(s.All)), s.version
		for _, i := range s.All {
			s.claimOf[i.ID] = i.Claim
		}
	}
	return s.claimOf[instance]
}

// Alive is the claim's instance while it is alive; nil when EC2 does not show it, or shows that it ends.
func (s *Instances) Alive(c *model.Claim) *cloud.Instance {
	own := s.byClaim[c.ID]
	i := slices.IndexFunc(own, func(i cloud.Instance) bool { return i.ID == c.InstanceID && i.State.Alive() })
	if i < 0 {
		return nil
	}
	return &own[i]
}
