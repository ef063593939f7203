package awssim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Sim is the simulated account. It is an http.Handler and has the calls by which a test changes the world. Safe for
// concurrent use. Timers of the clock drive it; Close stops them from having any effect.
type Sim struct {
	cfg     Config
	clock   Clock
	types   map[string]*catalog.Type
	zoneIDs map[string]string
	query   map[string]queryService
	json    map[string]jsonAction

	// mu guards everything below, and is never held during a call of the Kubelet or while a long poll waits.
	mu         sync.Mutex
	closed     bool
	lastID     uint64
	images     map[string]*Image
	reserves   map[string]*reserve
	shifts     []shift
	parameters map[string]parameter
	releases   []release // of EKS images, oldest first
	subnets    map[string]*subnet
	instances  map[string]*instance
	fleets     map[string]*fleet
	templates  map[string]*launchTemplate
	profiles   map[string]*profile
	queues     map[string]*queue
	pools      map[Pool]*poolState
	spotPrices map[spotKey]int64
	tokens     map[string]tokenAnswer
	gate       gate
	held       bool // no kubelet starts: see HoldKubelets

	kubelets sync.WaitGroup
	lastCall uint64
	cancels  map[uint64]context.CancelFunc
}

// New builds the world. The Config is completed where it is zero, and checked.
func New(cfg Config) (*Sim, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("awssim: %w", err)
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("awssim: %w", err)
	}
	s := &Sim{
		cfg: cfg, clock: cfg.Clock,
		types:      map[string]*catalog.Type{},
		zoneIDs:    map[string]string{},
		images:     map[string]*Image{},
		reserves:   reserves(cfg.CapacityReservations),
		parameters: map[string]parameter{},
		subnets:    map[string]*subnet{},
		instances:  map[string]*instance{},
		fleets:     map[string]*fleet{},
		templates:  map[string]*launchTemplate{},
		profiles:   map[string]*profile{},
		queues:     map[string]*queue{},
		pools:      map[Pool]*poolState{},
		spotPrices: map[spotKey]int64{},
		tokens:     map[string]tokenAnswer{},
		cancels:    map[uint64]context.CancelFunc{},
	}
	s.gate.init(cfg.Limits)
	s.query = map[string]queryService{"2016-11-15": s.ec2Service(), "2010-05-08": s.iamService()}
	s.json = s.jsonActions()
	s.furnish()
	return s, nil
}

// furnish puts the configured things in their places.
func (s *Sim) furnish() {
	for i := range s.cfg.Catalog.Types {
		t := &s.cfg.Catalog.Types[i]
		s.types[t.Name] = t
	}
	for _, z := range s.cfg.Catalog.Zones {
		s.zoneIDs[z.Name] = z.ID
	}
	for _, sub := range s.cfg.Subnets {
		s.subnets[sub.ID] = newSubnet(sub)
	}
	for _, name := range s.cfg.Queues {
		s.queues[name] = &queue{name: name, messages: map[string]*message{}}
	}
	for _, r := range firstReleases() {
		s.publish(r)
	}
	for _, img := range s.cfg.Images {
		s.images[img.ID] = &img
	}
	for name, value := range s.cfg.Parameters {
		s.setParameter(name, value, s.clock.Now())
	}
}

// Close lets timers fall flat, cancels calls of the Kubelet in flight and waits for them. Nodes stay as they are.
func (s *Sim) Close() {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.cancels {
		cancel()
	}
	for _, q := range s.queues {
		q.wake()
	}
	s.mu.Unlock()
	s.kubelets.Wait()
}

// Now is the simulator's time.
func (s *Sim) Now() time.Time { return s.clock.Now() }

// Advance moves a FakeClock and returns when everything that fell due is done; with any other clock it is an error.
func (s *Sim) Advance(d time.Duration) error {
	c, ok := s.clock.(*FakeClock)
	if !ok {
		return errors.New("the clock runs by itself: only a fake clock can be advanced")
	}
	if d < 0 {
		return fmt.Errorf("advance by %s: time runs forward only", d)
	}
	c.Advance(d)
	return nil
}

// after runs f under the lock once d has passed, unless the simulator is closed by then.
func (s *Sim) after(d time.Duration, f func()) {
	s.clock.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			f()
		}
	})
}

// newID makes the next id: the prefix and 17 hex digits that begin with zero, as EC2's do.
func (s *Sim) newID(prefix string) string { return prefix + "0" + s.hash(prefix)[:16] }

// newUUID makes the next id in the shape of a UUID.
func (s *Sim) newUUID() string {
	h := s.hash("uuid")
	return strings.Join([]string{h[:8], h[8:12], "4" + h[13:16], "8" + h[17:20], h[20:32]}, "-")
}

func (s *Sim) hash(kind string) string {
	s.lastID++
	return digest(s.cfg.Seed, s.cfg.Cluster, kind, strconv.FormatUint(s.lastID, 10))
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
