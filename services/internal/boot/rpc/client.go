package rpc

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

const (
	// minConnectTimeout is for one address: where a host is gone, others are not tried before.
	minConnectTimeout = 2 * time.Second
	maxReconnectDelay = 500 * time.Millisecond // the library's 2 minutes outlast any restart
)

// ClientConfig is how a service reaches another one.
type ClientConfig struct {
	// Target is a gRPC name: "host:port", "dns:///kerf-planner.kerf-system.svc:7400", "unix:/path". Required. Without
	// TLS it must be loopback or a unix socket.
	Target    string    `json:"target"`
	TLS       ClientTLS `json:"tls"`
	Keepalive Keepalive `json:"keepalive"`
	// MaxRecvBytes is how large an answer may be; zero is DefaultMaxMessageBytes.
	MaxRecvBytes int `json:"max_recv_bytes"`
}

// ClientTLS names the PEM files of a client. TLS is on where any field but
// reload_every is set.
type ClientTLS struct {
	// CAFile is the CA of the server; empty is the system's, where another field asks for TLS.
	CAFile string `json:"ca_file"`
	// CertFile is the certificate by which the server knows the client; empty is none. It belongs with KeyFile.
	CertFile string `json:"cert_file"`
	// KeyFile is the private key of CertFile; empty is none.
	KeyFile string `json:"key_file"`
	// ServerName is the name that the server's certificate must have; empty is the target's host.
	ServerName string `json:"server_name"`
	// ReloadEvery is the age at which the next handshake reads the files again; zero is DefaultReloadEvery.
	ReloadEvery config.Duration `json:"reload_every"`
}

// Validate implements config.Validator.
func (c ClientConfig) Validate() error {
	var errs []error
	switch {
	case c.Target == "":
		errs = append(errs, config.Errorf("target", "required: where to dial, such as 127.0.0.1:7400 or dns:///kerf-planner.kerf-system.svc:7400"))
	case !c.TLS.on() && !localTarget(c.Target):
		errs = append(errs, config.Errorf("tls", "required: target %s is not on loopback; set ca_file, cert_file and key_file", c.Target))
	}
	if c.MaxRecvBytes < 0 {
		errs = append(errs, config.Errorf("max_recv_bytes", "%d is negative: want bytes, or 0 for the default", c.MaxRecvBytes))
	}
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c ClientTLS) Validate() error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return config.Errorf("cert_file", "set cert_file and key_file together or neither")
	}
	return notNegative("reload_every", c.ReloadEvery)
}

func (c ClientTLS) on() bool { return c != ClientTLS{ReloadEvery: c.ReloadEvery} }

func localTarget(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	_, rest, ok := strings.Cut(target, ":///")
	if !ok {
		rest = target
	}
	return loopback(rest)
}

// DialOptions are what a connection takes beside its config. All are optional.
type DialOptions struct {
	Log     *slog.Logger // for reloads of certificates that fail
	Tracing telemetry.Tracing
	// Certificates takes in the one that the client shows.
	Certificates *Certificates
	// Services are those whose methods are repeated on UNAVAILABLE, if their proto
	// says by idempotency_level that this is safe.
	Services []protoreflect.ServiceDescriptor
	Extra    []grpc.DialOption // applied last
}

// Dial checks cfg and makes a connection, which connects when it is first used
// and as often as needed. Calls are spread over all addresses of the target.
func Dial(cfg ClientConfig, o DialOptions) (*grpc.ClientConn, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	creds, err := cfg.TLS.credentials(clientCredentials{oldest: tls.VersionTLS13}, o.Log, o.Certificates)
	if err != nil {
		return nil, err
	}
	policy, err := serviceConfig(o.Services)
	if err != nil {
		return nil, err
	}
	backOff := backoff.DefaultConfig
	backOff.BaseDelay, backOff.MaxDelay = 100*time.Millisecond, maxReconnectDelay
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(policy),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(orDefault(cfg.MaxRecvBytes, DefaultMaxMessageBytes))),
		grpc.WithChainUnaryInterceptor(unaryLarge()), grpc.WithChainStreamInterceptor(streamLarge()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backOff, MinConnectTimeout: minConnectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                cfg.Keepalive.Time.Or(DefaultKeepaliveTime),
			Timeout:             cfg.Keepalive.Timeout.Or(DefaultKeepaliveTimeout),
			PermitWithoutStream: true,
		}),
	}
	if o.Tracing.On() {
		opts = append(opts, grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelOptions(o.Tracing)...)))
	}
	conn, err := grpc.NewClient(cfg.Target, append(opts, o.Extra...)...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", cfg.Target, err)
	}
	return conn, nil
}

// ForeignCredentials are for a server that is not Kerf's, such as etcd, whose TLS may be of version 1.2: plaintext
// where c is empty. Like those of Dial they follow their files, certificate and CA alike. What the server shows is among
// the certificates that are looked after.
func (c ClientTLS) ForeignCredentials(log *slog.Logger, shown *Certificates) (credentials.TransportCredentials, error) {
	return c.credentials(clientCredentials{oldest: tls.VersionTLS12, met: shown}, log, shown)
}

func (c ClientTLS) credentials(of clientCredentials, log *slog.Logger, shown *Certificates) (credentials.TransportCredentials, error) {
	if !c.on() {
		return insecure.NewCredentials(), nil
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m, err := newMaterial(&material{
		certFile: c.CertFile, keyFile: c.KeyFile, caFile: c.CAFile,
		every: c.ReloadEvery.Or(DefaultReloadEvery), log: log,
	})
	if err != nil {
		return nil, err
	}
	shown.add(m)
	of.material, of.serverName = m, c.ServerName
	return of.ready(), nil
}

// serviceConfig is the gRPC service config: round robin, and up to four attempts
// on UNAVAILABLE for the methods that are idempotent by declaration.
func serviceConfig(services []protoreflect.ServiceDescriptor) (string, error) {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	var safe []name
	for _, s := range services {
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			opts, ok := m.Options().(*descriptorpb.MethodOptions)
			if ok && opts.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
				safe = append(safe, name{string(s.FullName()), string(m.Name())})
			}
		}
	}
	cfg := map[string]any{"loadBalancingConfig": []any{map[string]any{"round_robin": map[string]any{}}}}
	if len(safe) > 0 {
		cfg["methodConfig"] = []any{map[string]any{
			"name": safe,
			"retryPolicy": map[string]any{
				"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
				"retryableStatusCodes": []string{"UNAVAILABLE"},
			},
		}}
	}
	out, err := json.Marshal(cfg)
	if err != nil {
		return "", fmt.Errorf("service config: %w", err)
	}
	return string(out), nil
}
