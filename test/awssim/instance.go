package awssim

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// The states of an instance, by EC2's names.
const (
	statePending      = "pending"
	stateRunning      = "running"
	stateShuttingDown = "shutting-down"
	stateTerminated   = "terminated"
)

func stateCode(state string) int {
	switch state {
	case statePending:
		return 0
	case stateRunning:
		return 16
	case stateShuttingDown:
		return 32
	}
	return 48
}

// instance is one machine. Guarded by Sim.mu, but for kubelet.
type instance struct {
	id, ip, nodeName     string
	launched             time.Time
	pool                 Pool
	typ                  *catalog.Type
	image                *Image
	subnet               *subnet
	profile              string
	price                int64 // micro-dollars per hour at launch; zero when there is none
	fleetID, clientToken string
	template             string // id
	data                 templateData

	// past holds what Describe may still show, oldest first; the last one is the truth.
	past []moment

	interrupted              bool
	impaired, impairedSystem time.Time // since when a status check fails; zero for never
	events                   []StatusEvent

	kubelet sync.Mutex // one call of the Kubelet at a time, in order
	tried   bool       // the Kubelet was called, so that there may be a node
	joined  bool
	// joinError is why the node is not in the cluster, empty when it is or no one tried.
	joinError string
}

// moment is an instance's describable state from a time on.
type moment struct {
	at           time.Time
	state        string
	tags         map[string]string
	reason, text string
}

func (i *instance) now() moment { return i.past[len(i.past)-1] }

func (i *instance) state() string { return i.now().state }

// ended says that the instance is gone or on its way.
func (i *instance) ended() bool {
	return i.state() == stateShuttingDown || i.state() == stateTerminated
}

// seen is the moment that a Describe call at the given time shows, with false when the instance is not yet known.
func (i *instance) seen(at time.Time) (moment, bool) {
	for _, v := range slices.Backward(i.past) {
		if !v.at.After(at) {
			return v, true
		}
	}
	return moment{}, false
}

// enterState makes a new moment the truth and tells the event queue. What the moment leaves empty stays as it was.
func (s *Sim) enterState(i *instance, m moment) {
	m.at = s.clock.Now()
	if len(i.past) > 0 {
		last := i.now()
		orString(&m.reason, last.reason)
		orString(&m.text, last.text)
		if m.tags == nil {
			m.tags = last.tags
		}
	}
	s.remember(i, m)
	s.sendStateChange(i, m.state)
}

// remember appends a moment and forgets those that no lagging Describe can show any more.
func (s *Sim) remember(i *instance, m moment) {
	horizon := m.at.Add(-s.cfg.DescribeLag)
	for len(i.past) > 1 && !i.past[1].at.After(horizon) {
		i.past = i.past[1:]
	}
	i.past = append(i.past, m)
}

// end begins the shutdown of an instance that has not ended yet. Capacity that EC2 took back itself is not restocked.
func (s *Sim) end(i *instance, reason, text string, restock bool) {
	if i.ended() {
		return
	}
	s.release(i)
	s.enterState(i, moment{state: stateShuttingDown, reason: reason, text: text})
	s.clock.AfterFunc(s.cfg.TerminateLatency, func() { s.finishEnd(i, restock) })
}

// finishEnd is the clock's callback; it calls the Kubelet after the lock is released.
func (s *Sim) finishEnd(i *instance, restock bool) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.enterState(i, moment{state: stateTerminated})
	i.subnet.release(i.id)
	if restock {
		s.restock(i.pool)
	}
	s.after(s.cfg.TerminatedVisible, func() { delete(s.instances, i.id) })
	s.mu.Unlock()
	s.leave(i)
}

// Terminate ends an instance behind the caller's back, as a failure of hardware or a person at the console would.
func (s *Sim) Terminate(instanceID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.instance(instanceID)
	if err != nil {
		return err
	}
	s.end(i, "Server.InternalError", "Server.InternalError: Internal error", true)
	return nil
}

func (s *Sim) instance(id string) (*instance, error) {
	i := s.instances[id]
	if i == nil {
		return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	}
	return i, nil
}

type terminateAnswer struct {
	Changes []stateChange `xml:"instancesSet>item"`
}

type stateChange struct {
	ID       string    `xml:"instanceId"`
	Current  stateItem `xml:"currentState"`
	Previous stateItem `xml:"previousState"`
}

type stateItem struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

func newStateItem(state string) stateItem { return stateItem{stateCode(state), state} }

// terminateInstances ends all or, when one id is unknown, none. Ending what has ended is no error.
func (s *Sim) terminateInstances(f *form) (any, error) {
	f.ignore("Force", "SkipOsShutdown")
	ids := f.list("InstanceId")
	found, err := s.named(ids, f)
	if err != nil {
		return nil, err
	}
	if err := f.checked(); err != nil {
		return nil, err
	}
	var out terminateAnswer
	for _, i := range found {
		before := i.state()
		s.end(i, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown", true)
		out.Changes = append(out.Changes, stateChange{i.id, newStateItem(i.state()), newStateItem(before)})
	}
	return out, nil
}

// named finds all instances of a request that changes them. Such calls see the truth, without lag.
func (s *Sim) named(ids []string, f *form) ([]*instance, error) {
	if len(ids) == 0 {
		return nil, fail("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if len(ids) > 1000 {
		return nil, fail("InvalidParameterValue", "More than 1000 instance IDs were specified.")
	}
	var out []*instance
	var unknown []string
	for _, id := range ids {
		if !isInstanceID(id) {
			return nil, fail("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if i := s.instances[id]; i != nil {
			out = append(out, i)
		} else {
			unknown = append(unknown, id)
		}
	}
	switch len(unknown) {
	case 0:
		return out, f.bad
	case 1:
		return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", unknown[0])
	default: // all of them are named
		return nil, fail("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(unknown, ", "))
	}
}

// createTags tags instances, launch templates and fleets: what the simulator makes.
func (s *Sim) createTags(f *form) (any, error) {
	ids, tags := f.list("ResourceId"), f.tags("Tag")
	if err := f.checked(); err != nil {
		return nil, err
	}
	if len(ids) == 0 || len(tags) == 0 {
		return nil, fail("MissingParameter", "The request must contain the parameters ResourceId and Tag")
	}
	var apply []func()
	for _, id := range ids {
		change, err := s.tagger(id, tags)
		if err != nil {
			return nil, err
		}
		apply = append(apply, change)
	}
	for _, change := range apply {
		change()
	}
	return returned{true}, nil
}

type returned struct {
	Return bool `xml:"return"`
}

// tagger checks that the resource takes the tags and returns what adds them.
func (s *Sim) tagger(id string, tags map[string]string) (func(), error) {
	merged := func(old map[string]string) (map[string]string, error) {
		all := maps.Clone(old)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, tags)
		if userTags(all) > 50 {
			return nil, fail("TagLimitExceeded", "More than 50 tags on %s.", id)
		}
		return all, nil
	}
	if i := s.instances[id]; i != nil {
		all, err := merged(i.now().tags)
		return func() {
			m := i.now()
			m.at, m.tags = s.clock.Now(), all
			s.remember(i, m)
		}, err
	}
	if t := s.templates[id]; t != nil {
		all, err := merged(t.tags)
		return func() { t.tags = all }, err
	}
	if fl := s.fleets[id]; fl != nil {
		all, err := merged(fl.tags)
		return func() { fl.tags = all }, err
	}
	if isInstanceID(id) {
		return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	}
	return nil, fail("InvalidID", "The ID '%s' is not valid", id)
}
