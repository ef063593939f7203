// Package etcd implements the store port on etcd: one key per object under /kerf/<cluster>/, protobuf values, and a
// transaction that compares the leader's key in every write. election.go decides who leads; kept.go
// keeps what was read, so that the next Load is quick. An etcd for one machine is package embedded.
//
// It must never know what a claim means. Start at Open, then Commit.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	storagepb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/storage/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// Defaults of Config.
const (
	DefaultPrefix         = "/kerf"
	DefaultRequestTimeout = 5 * time.Second
	// A new leader is at work half a second after the lease has ended. Etcd itself may take two seconds to find a leader of
	// its own, and lengthens leases by as much; the client renews them each third of this.
	DefaultLeaseTTL = 4 * time.Second

	dialTimeout      = 5 * time.Second
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	// reconnectMost is the longest pause between two tries to connect. gRPC's own would be two minutes, after an etcd that
	// was away for long.
	reconnectMost = 3 * time.Second
	pageSize      = 500     // objects per read, so that no answer is large
	pageKeys      = 10_000  // of the same without values
	maxRequest    = 3 << 19 // etcd's default
)

// Config says where etcd is and how to talk to it.
type Config struct {
	// Endpoints are host:port or URLs; at least one.
	Endpoints []string
	// CAFile, CertFile and KeyFile are PEM files for TLS; all "" for plaintext.
	CAFile, CertFile, KeyFile string
	// Certificates takes in the one that etcd is shown; may be nil.
	Certificates *rpc.Certificates
	// Username and Password are for etcd's own authentication; "" for none.
	Username, Password string
	// Prefix is the first part of every key; "" means DefaultPrefix.
	Prefix string
	// Cluster is the second part; required.
	Cluster string
	// RequestTimeout bounds each request; 0 means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// LeaseTTL is how long a silent leader is waited for; 0 means DefaultLeaseTTL, and less than a second is refused.
	LeaseTTL time.Duration
	// Died returns true once the process that campaigned by a name has certainly died, and false when ctx ends. Its
	// lease is ended then rather than waited for, and so is that of a leader whose name a process that has just started
	// campaigns by: no two have the same. Nil waits for leases.
	Died func(ctx context.Context, candidate string) bool
	// Log tells why no one leads while etcd is not there; nil logs nothing.
	Log *slog.Logger
}

// Store is the store port on etcd. Safe for concurrent use.
type Store struct {
	etcd    *connection
	at      string // where etcd is, for errors
	log     *slog.Logger
	prefix  string // "/kerf/<cluster>/"
	timeout time.Duration
	ttl     time.Duration
	died    func(ctx context.Context, candidate string) bool
	// campaigned says that a candidate of this process has begun to wait in line.
	campaigned atomic.Bool
	// kept are the claims that Prepare has read; nil for none.
	kept atomic.Pointer[kept]
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Election = (*Store)(nil)
)

// Open checks the configuration, and does not wait for etcd: what is asked of it fails until it is there.
func Open(c Config) (*Store, error) {
	if len(c.Endpoints) == 0 {
		return nil, errors.New("etcd: endpoints: at least one is needed")
	}
	if c.Cluster == "" || strings.Contains(c.Cluster, "/") {
		return nil, fmt.Errorf("etcd: cluster name %q: must be set and contain no slash", c.Cluster)
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = DefaultLeaseTTL
	}
	if c.LeaseTTL < time.Second {
		return nil, fmt.Errorf("etcd: lease TTL %s: at least 1s", c.LeaseTTL)
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	secure, err := credentials(c)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	at := "etcd at " + strings.Join(c.Endpoints, ", ")
	s := &Store{
		etcd: &connection{config: clientv3.Config{
			Endpoints: c.Endpoints, DialOptions: append(secure, reconnect()), Username: c.Username, Password: c.Password, DialTimeout: dialTimeout,
			DialKeepAliveTime: keepaliveTime, DialKeepAliveTimeout: keepaliveTimeout, Logger: zap.NewNop(),
		}},
		at: at, log: c.Log, prefix: "/" + strings.Trim(path.Join(c.Prefix, c.Cluster), "/") + "/", timeout: c.RequestTimeout, ttl: c.LeaseTTL,
		died: c.Died,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if c.Username == "" { // what is wrong is in the configuration: etcd was not asked
		if _, err := s.etcd.client(); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return s, nil
}

func reconnect() grpc.DialOption {
	pauses := backoff.DefaultConfig
	pauses.MaxDelay = reconnectMost
	return grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: dialTimeout})
}

// Close ends the connection.
func (s *Store) Close() error { return s.etcd.close() }

// The kinds of objects, as parts of their keys.
const (
	claims      = "claims"
	disruptions = "disruptions"
	notices     = "notices"
	shortages   = "shortages"
	born        = "meta/born"
)

func (s *Store) key(kind, id string) string { return s.prefix + kind + "/" + id }

func shortageID(x model.Shortage) string {
	return string(x.InstanceType) + ":" + x.Zone + ":" + x.CapacityType.String()
}

// Load reads everything at one revision.
func (s *Store) Load(ctx context.Context) (store.Contents, error) {
	out := store.Contents{Created: map[model.ClaimID]store.Revision{}}
	revision, err := s.born(ctx, &out)
	if err != nil {
		return store.Contents{}, err
	}
	out.Revision = store.Revision(revision)
	all, err := s.readClaims(ctx, s.kept.Swap(nil), revision)
	if err != nil {
		return store.Contents{}, fmt.Errorf("load from %s: %w", s.at, err)
	}
	for _, key := range all.keys {
		c := all.claims[key]
		out.Claims = append(out.Claims, c.claim)
		out.Created[c.claim.ID] = store.Revision(c.created)
	}
	err = errors.Join(
		load(ctx, s, source[*clusterpb.DisruptionRecord, model.DisruptionRecord]{
			disruptions, revision, 0, func() *clusterpb.DisruptionRecord { return &clusterpb.DisruptionRecord{} }, convert.ReadRecord, false,
		}, func(d model.DisruptionRecord, _ *mvccpb.KeyValue) { out.Disruptions = append(out.Disruptions, d) }),
		load(ctx, s, source[*clusterpb.Notice, model.Notice]{
			notices, revision, 0, func() *clusterpb.Notice { return &clusterpb.Notice{} }, convert.ReadNotice, true,
		}, func(n model.Notice, _ *mvccpb.KeyValue) { out.Notices = append(out.Notices, n) }),
		load(ctx, s, source[*storagepb.StoredShortage, model.Shortage]{
			shortages, revision, 0, func() *storagepb.StoredShortage { return &storagepb.StoredShortage{} }, convert.ReadShortage, true,
		}, func(x model.Shortage, _ *mvccpb.KeyValue) { out.Shortages = append(out.Shortages, x) }),
	)
	if err != nil {
		return store.Contents{}, fmt.Errorf("load from %s: %w", s.at, err)
	}
	return out, nil
}

// born reads when the store was first used, and with it the revision that everything else is read at.
func (s *Store) born(ctx context.Context, out *store.Contents) (int64, error) {
	r, err := s.get(ctx, s.prefix+born)
	if err != nil {
		return 0, fmt.Errorf("load from %s: %w", s.at, err)
	}
	for _, kv := range r.Kvs {
		var t timestamppb.Timestamp
		if err := proto.Unmarshal(kv.Value, &t); err != nil {
			return 0, fmt.Errorf("load from %s: key %s is no timestamp: %w", s.at, kv.Key, err)
		}
		out.Born = t.AsTime()
	}
	return r.Header.GetRevision(), nil
}

// source is one kind of objects: where they are and how they are read.
type source[M proto.Message, V any] struct {
	kind     string
	revision int64
	since    int64 // only what has changed from that revision on; 0 for all
	empty    func() M
	convert  func(M) (V, error)
	// spare says that one that can't be read is passed over.
	spare bool
}

func (s source[M, V]) read(kv *mvccpb.KeyValue) (v V, err error) {
	m := s.empty()
	if err := proto.Unmarshal(kv.Value, m); err != nil {
		return v, err
	}
	return s.convert(m)
}

// load reads all objects of a kind, page by page. A value that can't be read is an error that names its key: what is
// stored must not be skipped, because an instance may hang on it. Of what is spared nothing does, and no actuator that
// leads is worse than a notice that is lost, or a shortage: that is passed over, and said.
func load[M proto.Message, V any](ctx context.Context, s *Store, src source[M, V], add func(V, *mvccpb.KeyValue)) error {
	options := []clientv3.OpOption{clientv3.WithRev(src.revision), clientv3.WithLimit(pageSize)}
	if src.since > 0 {
		options = append(options, clientv3.WithMinModRev(src.since))
	}
	err := s.pages(ctx, s.prefix+src.kind+"/", func(kv *mvccpb.KeyValue) error {
		v, err := src.read(kv)
		switch {
		case err == nil:
			add(v, kv)
		case src.spare:
			s.log.ErrorContext(ctx, "what is stored can't be read and is passed over; once it is known what it was, delete its key",
				"store", s.at, "key", string(kv.Key), "error", err)
		default:
			return fmt.Errorf("key %s is corrupt: %w", kv.Key, err)
		}
		return nil
	}, options...)
	if err != nil {
		return fmt.Errorf("read %s: %w", src.kind, err)
	}
	return nil
}

// pages calls each for all keys that begin like that.
func (s *Store) pages(ctx context.Context, from string, each func(*mvccpb.KeyValue) error, options ...clientv3.OpOption) error {
	options = append(options, clientv3.WithRange(clientv3.GetPrefixRangeEnd(from)))
	for {
		page, err := s.get(ctx, from, options...)
		if err != nil {
			return err
		}
		for _, kv := range page.Kvs {
			if err := each(kv); err != nil {
				return err
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

func (s *Store) get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	client, err := s.etcd.client()
	if err != nil {
		return nil, err
	}
	return client.Get(ctx, key, options...)
}

// Commit writes the batch in one transaction that holds only while the fence is the leader's.
func (s *Store) Commit(ctx context.Context, fence store.Fence, b store.Batch) (store.Revision, error) {
	if n := b.Writes(); n > store.MaxWrites {
		return 0, fmt.Errorf("%w: %d, at most %d", store.ErrTooLarge, n, store.MaxWrites)
	}
	ops, err := s.ops(b)
	if err != nil {
		return 0, err
	}
	if len(ops) == 0 { // a member answers a transaction that reads and writes nothing by itself, who may not know of the newest leader
		ops = append(ops, clientv3.OpGet(fence.Key, clientv3.WithKeysOnly()))
	}
	r, err := s.fenced(ctx, fence, ops...)
	if errors.Is(err, rpctypes.ErrRequestTooLarge) || errors.Is(err, rpctypes.ErrTooManyOps) {
		return 0, fmt.Errorf("commit to %s: %w: %w", s.at, store.ErrTooLarge, err)
	}
	if err != nil {
		return 0, fmt.Errorf("commit to %s: %w", s.at, err)
	}
	if !r.Succeeded {
		return 0, fmt.Errorf("commit to %s: %w", s.at, store.ErrFenced)
	}
	return store.Revision(r.Header.GetRevision()), nil
}

// fenced is a transaction that holds only while the fence is the leader's.
func (s *Store) fenced(ctx context.Context, fence store.Fence, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	client, err := s.etcd.client()
	if err != nil {
		return nil, err
	}
	return client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(fence.Key), "=", fence.Revision)).Then(ops...).Commit()
}

func (s *Store) ops(b store.Batch) ([]clientv3.Op, error) {
	w := writer{s: s, at: make(map[string]int, b.Writes())}
	for _, c := range b.PutClaims {
		w.put(claims, string(c.ID), convert.StoredClaim(c))
	}
	for _, id := range b.DeleteClaims {
		w.delete(claims, string(id))
	}
	for _, d := range b.PutDisruptions {
		w.put(disruptions, string(d.ID), convert.Record(d))
	}
	for _, id := range b.DeleteDisruptions {
		w.delete(disruptions, string(id))
	}
	for _, n := range b.PutNotices {
		w.put(notices, n.ID, convert.Notice(n))
	}
	for _, id := range b.DeleteNotices {
		w.delete(notices, id)
	}
	for _, x := range b.PutShortages {
		w.put(shortages, shortageID(x), convert.Shortage(x))
	}
	for _, x := range b.DeleteShortages {
		w.delete(shortages, shortageID(x))
	}
	if !b.Born.IsZero() {
		w.put("meta", "born", timestamppb.New(b.Born))
	}

	if w.bytes > maxRequest {
		w.err = errors.Join(w.err, fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, w.bytes, maxRequest))
	}
	return w.ops, w.err
}

// writer collects the writes of a transaction. etcd refuses one that writes a key twice.
type writer struct {
	s     *Store
	ops   []clientv3.Op
	at    map[string]int // by key, which of ops writes it
	bytes int
	err   error
}

func (w *writer) put(kind, id string, m proto.Message) {
	value, err := proto.Marshal(m)
	if err == nil && (id == "" || strings.Contains(id, "\x00")) {
		err = fmt.Errorf("id %q can't be a key", id)
	}
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("store %s %s: %w", kind, id, err))
		return
	}
	w.bytes += len(value)
	w.add(clientv3.OpPut(w.s.key(kind, id), string(value)))
}

func (w *writer) delete(kind, id string) { w.add(clientv3.OpDelete(w.s.key(kind, id))) }

// add takes a write in, in the place of an earlier one of the same key.
func (w *writer) add(op clientv3.Op) {
	key := string(op.KeyBytes())
	if i, twice := w.at[key]; twice {
		w.ops[i] = op
		return
	}
	w.at[key] = len(w.ops)
	w.ops = append(w.ops, op)
}
