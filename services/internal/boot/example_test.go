package boot_test

import (
	"context"
	"os"

	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// Config is the config of a service: what all have, and its own.
type Config struct {
	boot.ServiceConfig
	Store  rpc.ClientConfig `json:"store"`  // checked with the rest
	Budget boot.Duration    `json:"budget"` // per cycle; zero is 50 ms
}

// Validate checks the service's own fields only.
func (c Config) Validate() error {
	if c.Budget < 0 {
		return config.Errorf("budget", "%s is negative: want a positive duration, such as \"50ms\"", c.Budget)
	}
	return nil
}

// Run is in the service's root package; its main, and who runs several services
// in one process, call it.
func Run(ctx context.Context, cfg Config) error {
	svc, err := boot.Start(ctx, "example", cfg.ServiceConfig)
	if err != nil {
		return err
	}
	conn, err := svc.Dial(cfg.Store)
	if err != nil {
		_ = svc.Close()
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends
	// examplev1.RegisterExampleServiceServer(svc, server.New(conn, svc.Log, svc.Tracer))
	return svc.Run(ctx, boot.Task{Name: "loop", Run: func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}})
}

// The whole main of a service.
func Example() {
	var defaults Config
	defaults.Listen = "127.0.0.1:7409"
	os.Exit(boot.Main("example", defaults, Run))
}
