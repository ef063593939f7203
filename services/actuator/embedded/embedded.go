// Package embedded is an etcd inside a program, for one machine. The actuator's own program has none in it: an etcd is
// as large as the rest of it, and where there is a cluster there is an etcd. It must never know what is stored. Start
// reading at Start.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
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
}

// Start starts an etcd inside this process, waits until it is ready, and returns where clients reach it and what stops it.
func Start(ctx context.Context, c Config) (endpoint string, stop func(), err error) {
	if c.Dir == "" {
		return "", nil, errors.New("etcd: embedded.dir must be set")
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	conf := embed.NewConfig()
	conf.Name, conf.Dir, conf.UnsafeNoFsync = "kerf", c.Dir, c.NoSync
	conf.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	client, peer := []url.URL{{Scheme: "http", Host: c.Listen}}, []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	conf.ListenClientUrls, conf.AdvertiseClientUrls = client, client
	conf.ListenPeerUrls, conf.AdvertisePeerUrls = peer, peer
	conf.InitialCluster = conf.InitialClusterFromName(conf.Name)
	// History is only for watchers, and no one watches: an hour is plenty.
	conf.AutoCompactionMode, conf.AutoCompactionRetention = "periodic", "1h"
	server, err := embed.StartEtcd(conf)
	if err != nil {
		return "", nil, fmt.Errorf("start embedded etcd in %s, listening on %s: %w", c.Dir, c.Listen, err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return server.Clients[0].Addr().String(), server.Close, nil
	case <-time.After(startTimeout):
		err = fmt.Errorf("not ready within %s", startTimeout)
	case err = <-server.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	server.Close()
	return "", nil, fmt.Errorf("start embedded etcd in %s: %w", c.Dir, err)
}
