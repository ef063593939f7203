// Package inventory follows the actuator's leader: it finds it, watches its inventory, and relays plans to it.
//
// Client.Run turns the leader's stream into batches of snapshot events. When the stream ends, for whatever reason, it
// looks for the leader again, by the address that a follower names or among the configured ones, and the new leader's
// whole inventory replaces the old. It must never decide what a plan is worth or when one is due. Start reading at
// Client.Run.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

const (
	// retryOthers is the pause of watchers that did not drive. The first one that comes to a new leader drives, and the
	// one that did before has a planner that knows the cluster.
	retryOthers = 400 * time.Millisecond
	// retryMin is the pause between two rounds of the search. A leader that died is followed once its lease has ended,
	// and a pause that had grown meanwhile would come on top of that: it doubles only after so many rounds, up to
	// retryMax.
	retryMin    = 100 * time.Millisecond
	eagerRounds = 100
	retryMax    = 5 * time.Second
	// maxHops bounds how many addresses that followers name, and that are not among the configured ones, a round tries.
	maxHops = 3
	// maxObjects bounds a whole inventory and a change.
	maxObjects = 2_000_000
)

// ErrNoLeader is what Apply returns while no leader is known.
var ErrNoLeader = errors.New("no actuator leads at the moment")

// Conn is a connection that can be closed.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}

// Config is what a Client works with. All fields are required.
type Config struct {
	// Addresses are the actuators, in the order in which they are tried.
	Addresses []string
	Dial      func(address string) (Conn, error)
	// Watcher names this watcher in the actuator's logs and when it asks to drive.
	Watcher string
	Log     *slog.Logger
	Now     func() time.Time
}

// Update is what the leader said, or that it is gone.
type Update struct {
	// Batch is a whole inventory or a change. It is empty when the stream has ended.
	Batch snapshot.Batch
	// Driver: this watcher is the one to ask for plans and relay them.
	Driver bool
	// Whole: the batch is a whole inventory, which was asked for at Asked.
	Whole bool
	Asked time.Time
	// Paused is why no leader is followed, where that is this watcher's own will; "" otherwise.
	Paused string
}

// Client is the connection to the leader. Make it with New.
type Client struct {
	cfg Config

	mu     sync.Mutex
	leader actuatorpb.ActuatorServiceClient // nil: none is known
	paused string                           // why; "": it is not
	turned chan struct{}                    // closed when paused changes
	stop   context.CancelFunc               // ends the stream at hand; nil: there is none
}

// New makes a client; it does not connect.
func New(cfg Config) *Client { return &Client{cfg: cfg, turned: make(chan struct{})} }

// Pause says why this watcher is to follow no leader, so that another one drives; "" has it look for one again. It ends
// the stream at hand and waits for nothing. Safe for concurrent use.
func (c *Client) Pause(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why == c.paused {
		return
	}
	c.paused = why
	close(c.turned)
	c.turned = make(chan struct{})
	if c.stop != nil && why != "" {
		c.stop()
	}
}

// begin is for a stream. Where the client is paused it says why, and what is closed when that changes.
func (c *Client) begin(ctx context.Context) (stream context.Context, stop context.CancelFunc, paused string, turned <-chan struct{}) {
	stream, stop = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = stop
	return stream, stop, c.paused, c.turned
}

// rest waits until the client is not paused for that reason any more.
func (c *Client) rest(ctx context.Context, why string, turned <-chan struct{}, out chan<- Update) {
	c.cfg.Log.WarnContext(ctx, "this watcher does not drive until it sees the cluster again; another one does where there is one", "why", why)
	send(ctx, out, Update{Paused: why})
	select {
	case <-turned:
		c.cfg.Log.InfoContext(ctx, "the watcher looks for the actuator's leader again")
	case <-ctx.Done():
	}
}

// Apply relays a plan to the leader. Safe for concurrent use.
func (c *Client) Apply(ctx context.Context, r *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error) {
	c.mu.Lock()
	leader := c.leader
	c.mu.Unlock()
	if leader == nil {
		return nil, ErrNoLeader
	}
	return leader.Apply(ctx, r)
}

func (c *Client) setLeader(leader actuatorpb.ActuatorServiceClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = leader
}

// Run follows the leader until ctx is done, and sends what it says to out. It waits when out is full: nothing is lost,
// the stream's flow control holds the leader back.
func (c *Client) Run(ctx context.Context, out chan<- Update) error {
	var (
		s     = newSearch(c.cfg.Addresses)
		said  string
		stale bool // what out has heard last, a leader's word or a pause, is over
	)
	for ctx.Err() == nil {
		stream, stop, paused, turned := c.begin(ctx)
		if paused != "" {
			stop()
			c.rest(ctx, paused, turned, out)
			s, said, stale = newSearch(c.cfg.Addresses), "", true
			continue
		}
		if stale {
			send(ctx, out, Update{})
		}
		address := s.next()
		led, drove, err := c.follow(stream, address, out)
		broken := stream.Err() == nil
		stop()
		if !broken { // ctx is done, or the client was paused; it may not be any more
			s, said, stale = newSearch(c.cfg.Addresses), "", led
			continue
		}
		if stale = false; led {
			s, said = newSearch(c.cfg.Addresses), ""
			s.drove = drove
			send(ctx, out, Update{})
		}
		pause := s.failed(err)
		if kind := kindOf(err); kind != said && pause > 0 {
			said = kind
			c.cfg.Log.WarnContext(ctx, "no actuator leads here; the search goes on", telemetry.KeyAddress, address,
				"actuators", c.cfg.Addresses, telemetry.KeyError, err)
		}
		wait(ctx, pause)
	}
	return ctx.Err()
}

func send(ctx context.Context, out chan<- Update, u Update) {
	select {
	case out <- u:
	case <-ctx.Done():
	}
}

// kindOf tells apart failures that are worth a line in the log each.
func kindOf(err error) string {
	if e, ok := rpcerr.From(err); ok {
		return e.Code.String() + " " + e.Reason
	}
	return err.Error()
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// search is where to look for the leader next. It goes in rounds, each of which tries no address twice.
type search struct {
	addresses []string
	tried     map[string]bool // in this round
	hint      string          // what a follower named
	rounds    int             // that found no leader
	drove     bool            // before the search began
}

func newSearch(addresses []string) search {
	return search{addresses: addresses, tried: map[string]bool{}}
}

func (s *search) next() string {
	address := s.hint
	if address == "" {
		address = s.addresses[slices.IndexFunc(s.addresses, s.untried)]
	}
	s.tried[address], s.hint = true, ""
	return address
}

func (s *search) untried(address string) bool { return !s.tried[address] }

// failed tells how long to wait before the next attempt: not at all between those of one round.
func (s *search) failed(err error) time.Duration {
	if e, ok := rpcerr.From(err); ok {
		if leader, _ := e.Leader(); leader != "" && s.untried(leader) && len(s.tried) < len(s.addresses)+maxHops {
			s.hint = leader
			return 0
		}
	}
	if slices.ContainsFunc(s.addresses, s.untried) {
		return 0
	}
	clear(s.tried)
	s.rounds++
	pause := retryOthers
	if s.drove {
		pause = retryMin
	}
	return min(pause<<min(max(s.rounds-eagerRounds, 0), 16), retryMax)
}

// follow watches one actuator until its stream ends. It says whether that one led, and whether this watcher drove.
func (c *Client) follow(ctx context.Context, address string, out chan<- Update) (led, drove bool, err error) {
	conn, err := c.cfg.Dial(address)
	if err != nil {
		return false, false, fmt.Errorf("dial actuator %s: %w", address, err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left to be sent
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := actuatorpb.NewActuatorServiceClient(conn)
	r := receiver{asked: c.cfg.Now(), now: c.cfg.Now}
	stream, err := client.Drive(ctx, &actuatorpb.DriveRequest{Watcher: c.cfg.Watcher})
	if err != nil {
		return false, false, err
	}
	defer c.setLeader(nil)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.Unavailable, "the actuator ended the inventory stream")
		}
		if err != nil {
			return led, drove, err
		}
		update, done, err := r.take(m)
		if err != nil {
			return led, drove, fmt.Errorf("inventory of actuator %s: %w", address, err)
		}
		if !done {
			continue
		}
		drove = update.Driver
		if !led {
			led = true
			c.setLeader(client)
			c.cfg.Log.InfoContext(ctx, "following the actuator's leader", telemetry.KeyAddress, address, "driver", update.Driver)
		}
		select {
		case out <- update:
		case <-ctx.Done():
			return led, drove, ctx.Err()
		}
	}
}

// receiver puts the messages of one stream together.
type receiver struct {
	asked time.Time
	now   func() time.Time

	begun bool // a whole inventory has begun on this stream
	whole bool // the message at hand belongs to a whole inventory

	revision int64
	events   []snapshot.Event
	texts    convert.Texts // claims hold the names of many types, each the same ones
}

// take adds a message; done says that the update is complete.
func (r *receiver) take(response *actuatorpb.DriveResponse) (u Update, done bool, err error) {
	now := r.now()
	whole, change := response.GetInventory().GetWhole(), response.GetInventory().GetChange()
	upserted := change.GetDelta().GetUpserted()
	switch {
	case whole != nil:
		if !r.whole {
			r.begun, r.whole, r.events = true, true, nil
		}
		upserted = whole.GetSnapshot()
	case !r.begun:
		return Update{}, false, errors.New("the stream began with a change, want a whole inventory")
	case r.whole:
		return Update{}, false, errors.New("a change came before the last part of a whole inventory")
	}
	if v := upserted.GetInventoryRevision(); v != 0 {
		r.revision = v
	}
	for _, k := range wire.InventoryRemoved(change.GetDelta().GetRemoved()) {
		r.events = append(r.events, snapshot.Delete(now, k.Kind, k.ID))
	}
	r.texts.Share(upserted)
	objects := wire.InventoryObjects(upserted)
	r.events = slices.Grow(r.events, len(objects)+1) // and the end
	for _, o := range objects {
		r.events = append(r.events, snapshot.Put(now, o))
	}
	if len(r.events) > maxObjects {
		return Update{}, false, fmt.Errorf("more than %d objects in one change", maxObjects)
	}
	if !whole.GetLast() && !change.GetLast() {
		return Update{}, false, nil
	}
	u = Update{
		Batch:  snapshot.Batch{Time: now, Events: append(r.events, snapshot.Inventory(now, r.revision))},
		Driver: response.GetDriver(),
	}
	if r.whole {
		u.Whole, u.Asked, u.Batch.Whole = true, r.asked, wire.InventoryKinds()
	}
	r.whole, r.events = false, nil
	return u, true, nil
}
