// Package embedded is an etcd inside a program, for one machine. The actuator's own program has none in it: an etcd is
// as large as the rest of it, and where there is a cluster there is an etcd. It must never know what is stored. Start
// reading at Start.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

// startTimeout is how long an embedded etcd may take to be ready; it reads its log first.
const startTimeout = 30 * time.Second

// Config is for an etcd inside this process. It is one member and has no TLS: it is for one machine.
type Config struct {
	// Dir is where it keeps its data; it is made if it is not there.
	Dir string
	// Listen is "host:port" for clients; "" means a free port on 127.0.0.1.
	Listen string
	// NoSync skips fsync: what a test does, and no one else should.
	NoSync bool
	// Log has etcd's errors; nil drops them.
	Log *slog.Logger
	// quota is how many bytes it may take; 0 means as many as etcd's own default.
	quota int64
}

// Etcd is one that runs.
type Etcd struct {
	// Endpoint is where clients reach it.
	Endpoint string
	server   *embed.Etcd
	stop     func()
}

// Run returns an error once the etcd has failed, which it does not come back from, or nil when ctx ends. It does not
// stop it.
func (e *Etcd) Run(ctx context.Context) error {
	select {
	case err := <-e.server.Err():
		return err
	case <-e.server.Server.StopNotify():
		return errors.New("it has stopped")
	case <-ctx.Done():
		return nil
	}
}

// Stop stops it, once.
func (e *Etcd) Stop() { e.stop() }

// Start starts an etcd inside this process, and waits until it is ready. One that was full has room again.
func Start(ctx context.Context, c Config) (*Etcd, error) {
	if c.Dir == "" {
		return nil, errors.New("etcd: embedded.dir must be set")
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	server, err := embed.StartEtcd(c.etcd())
	if err != nil {
		return nil, fmt.Errorf("start embedded etcd in %s, listening on %s: %w", c.Dir, c.Listen, err)
	}
	e := &Etcd{Endpoint: server.Clients[0].Addr().String(), server: server, stop: sync.OnceFunc(server.Close)}
	select {
	case <-server.Server.ReadyNotify():
		err = e.makeRoom(ctx, c.Log)
	case <-time.After(startTimeout):
		err = fmt.Errorf("not ready within %s", startTimeout)
	case err = <-server.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		e.Stop()
		return nil, fmt.Errorf("start embedded etcd in %s: %w", c.Dir, err)
	}
	return e, nil
}

func (c Config) etcd() *embed.Config {
	conf := embed.NewConfig()
	conf.Name, conf.Dir, conf.UnsafeNoFsync, conf.QuotaBackendBytes = "kerf", c.Dir, c.NoSync, c.quota
	// A fatal error ends the process once it is logged, as etcd can't go on: it must not have gone without a word.
	conf.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(core{log: c.Log}))
	client, peer := []url.URL{{Scheme: "http", Host: c.Listen}}, []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	conf.ListenClientUrls, conf.AdvertiseClientUrls = client, client
	conf.ListenPeerUrls, conf.AdvertisePeerUrls = peer, peer
	conf.InitialCluster = conf.InitialClusterFromName(conf.Name)
	// History is only for watchers, and no one watches: an hour is plenty.
	conf.AutoCompactionMode, conf.AutoCompactionRetention = "periodic", "1h"
	return conf
}

// makeRoom drops history and gives its room back where etcd was full: it takes no writes before, and no one could run
// etcdctl in a pod that has none. Where something else has filled it, it is soon full again.
func (e *Etcd) makeRoom(ctx context.Context, log *slog.Logger) error {
	client := v3client.New(e.server.Server)
	defer client.Close() //nolint:errcheck // nothing to lose
	alarms, err := client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("list alarms: %w", err)
	}
	full := func(a *etcdserverpb.AlarmMember) bool { return a.GetAlarm() == etcdserverpb.AlarmType_NOSPACE }
	if !slices.ContainsFunc(alarms.Alarms, full) {
		return nil
	}
	log.WarnContext(ctx, "etcd was full: its history is dropped")
	now, err := client.Get(ctx, "kerf", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("ask for the revision: %w", err)
	}
	if _, err := client.Compact(ctx, now.Header.GetRevision(), clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact: %w", err)
	}
	if err := e.server.Server.Backend().Defrag(); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	if _, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("disarm the alarm: %w", err)
	}
	return nil
}
