// Package rpc gives every service the same gRPC manners. A server has mTLS with
// reloaded certificates, authorisation per method by client identity, bounded
// messages and streams, keepalive, connection ages, deadlines, panic recovery,
// one log line per failed call, health, reflection and a graceful stop. A client
// has the matching settings and retries what its service declares safe to repeat.
// It must never know what the services do. Start reading at ServerConfig, then
// NewServer and Dial.
package rpc

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

// Defaults of the knobs below, where a config leaves them zero.
const (
	DefaultListen             = "127.0.0.1:0"
	DefaultMaxMessageBytes    = 16 << 20
	DefaultMaxStreams         = 256
	DefaultMaxCalls           = 256
	DefaultCallTimeout        = 30 * time.Second
	DefaultConnectionAge      = time.Hour
	DefaultConnectionAgeGrace = time.Minute
	DefaultKeepaliveTime      = 10 * time.Second
	DefaultKeepaliveTimeout   = 5 * time.Second
	DefaultKeepaliveMinTime   = 5 * time.Second
	DefaultShutdownGrace      = 10 * time.Second
	DefaultReloadEvery        = time.Minute
)

// ServerConfig is how a service listens. Its zero value is safe: plaintext on a
// free loopback port, everything bounded.
type ServerConfig struct {
	// Listen is the address, "host:port"; empty is the service's own, or else DefaultListen, a free port. Without
	// TLS the host must be loopback.
	Listen string `json:"listen"`
	// HealthListen is a second address, "host:port", that serves checks of grpc.health.v1 and, over HTTP, /metrics, in
	// plaintext on any address, for probes and scrapers that cannot do mTLS; empty is none. Nothing else is served
	// there. Of health the service "" says that the process lives, and "readiness" that it is of use: an actuator or a
	// watcher is once it has read the cluster.
	HealthListen string    `json:"health_listen"`
	TLS          ServerTLS `json:"tls"`
	// Authz says who may call what. A key is a method, "/package.Service/Method", a whole service,
	// "/package.Service/*", or "*"; the most specific key that matches decides alone. A value lists identities of
	// clients: a URI of the certificate ("spiffe://kerf/watcher"), a DNS name of it, its common name ("CN=watcher"), or
	// "*" for all whose certificate verifies. What no key matches is refused, but for health. It goes with TLS; left
	// out, all on this machine may call everything.
	Authz     Authz     `json:"authz"`
	Limits    Limits    `json:"limits"`
	Keepalive Keepalive `json:"keepalive"`
	// ShutdownGrace is how long calls may finish after the stop signal; zero is DefaultShutdownGrace.
	ShutdownGrace config.Duration `json:"shutdown_grace"`
}

// ServerTLS names the PEM files of a server. All three or none: a server that
// has TLS asks every client for a certificate.
type ServerTLS struct {
	// CertFile is the server's certificate chain, a PEM file; empty is plaintext. Required with the other two files.
	CertFile string `json:"cert_file"`
	// KeyFile is the private key of CertFile; empty is plaintext.
	KeyFile string `json:"key_file"`
	// ClientCAFile is the CA that signs clients' certificates; empty is plaintext.
	ClientCAFile string `json:"client_ca_file"`
	// ReloadEvery is the age at which the next handshake reads the files again; zero is DefaultReloadEvery.
	ReloadEvery config.Duration `json:"reload_every"`
}

// Limits bound what a client can take. Zero means the default.
type Limits struct {
	// MaxRecvBytes is how large a message that comes in may be; zero is DefaultMaxMessageBytes.
	MaxRecvBytes int `json:"max_recv_bytes"`
	// MaxStreams is how many calls there are at the same time on one connection; zero is DefaultMaxStreams.
	MaxStreams uint32 `json:"max_streams"`
	// MaxCalls is how many calls are in flight over all connections, streams among them; zero is DefaultMaxCalls. One
	// more is refused with RESOURCE_EXHAUSTED before its request is read, so that requests hold MaxCalls times
	// MaxRecvBytes at most.
	MaxCalls int `json:"max_calls"`
	// CallTimeout is for calls that come without a deadline and are no streams; zero is DefaultCallTimeout.
	CallTimeout config.Duration `json:"call_timeout"`
	// ConnectionAge is when a connection is asked to go away (GOAWAY), so that clients spread again; zero is
	// DefaultConnectionAge.
	ConnectionAge config.Duration `json:"connection_age"`
	// ConnectionAgeGrace is what the calls of such a connection have left; zero is DefaultConnectionAgeGrace.
	ConnectionAgeGrace config.Duration `json:"connection_age_grace"`
}

// Keepalive is how both ends find dead peers. Zero means the default.
type Keepalive struct {
	// Time is the silence after which a ping is sent; zero is DefaultKeepaliveTime.
	Time config.Duration `json:"time"`
	// Timeout is how long a ping's answer may take; zero is DefaultKeepaliveTimeout.
	Timeout config.Duration `json:"timeout"`
	// MinTime is how often clients may ping at most, or they are refused; zero is DefaultKeepaliveMinTime. Clients have
	// no use for it.
	MinTime config.Duration `json:"min_time"`
}

// Validate implements config.Validator.
func (c ServerConfig) Validate() error {
	var errs []error
	errs = append(errs, checkAddress("listen", c.Listen), checkAddress("health_listen", c.HealthListen))
	secure := c.TLS != ServerTLS{ReloadEvery: c.TLS.ReloadEvery}
	if !secure && c.Listen != "" && !loopback(c.Listen) {
		errs = append(errs, config.Errorf("listen",
			"%s is reachable from outside without TLS: set tls, or listen on loopback, such as 127.0.0.1:7400", c.Listen))
	}
	if secure && len(c.Authz) == 0 {
		errs = append(errs, config.Errorf("authz",
			`required with tls: say who may call what, such as {"*": ["spiffe://example.org/kerf/watcher"]}`))
	}
	if !secure && len(c.Authz) > 0 {
		errs = append(errs, config.Errorf("authz", "needs tls: without it clients have no identity"))
	}
	errs = append(errs, notNegative("shutdown_grace", c.ShutdownGrace))
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (c ServerTLS) Validate() error {
	if (c == ServerTLS{ReloadEvery: c.ReloadEvery}) {
		return notNegative("reload_every", c.ReloadEvery)
	}
	return errors.Join(
		required("cert_file", c.CertFile, "the server's certificate chain"),
		required("key_file", c.KeyFile, "the private key of cert_file"),
		required("client_ca_file", c.ClientCAFile, "the CA that signs client certificates"),
		notNegative("reload_every", c.ReloadEvery))
}

// Validate implements config.Validator.
func (l Limits) Validate() error {
	var errs []error
	if l.MaxRecvBytes < 0 {
		errs = append(errs, config.Errorf("max_recv_bytes", "%d is negative: want bytes, or 0 for the default", l.MaxRecvBytes))
	}
	if l.MaxCalls < 0 {
		errs = append(errs, config.Errorf("max_calls", "%d is negative: want a number, or 0 for the default", l.MaxCalls))
	}
	errs = append(errs, notNegative("call_timeout", l.CallTimeout),
		notNegative("connection_age", l.ConnectionAge), notNegative("connection_age_grace", l.ConnectionAgeGrace))
	return errors.Join(errs...)
}

// Validate implements config.Validator.
func (k Keepalive) Validate() error {
	return errors.Join(notNegative("time", k.Time), notNegative("timeout", k.Timeout), notNegative("min_time", k.MinTime))
}

func notNegative(field string, d config.Duration) error {
	if d < 0 {
		return config.Errorf(field, "%s is negative: want a positive duration, or \"0s\" for the default", d)
	}
	return nil
}

func required(field, value, what string) error {
	if value == "" {
		return config.Errorf(field, "required with the other files of tls: a PEM file with %s", what)
	}
	return nil
}

func checkAddress(field, addr string) error {
	if addr == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(addr)
	if _, badPort := strconv.ParseUint(port, 10, 16); err != nil || badPort != nil {
		return config.Errorf(field, "%q is not an address: want host:port, such as 127.0.0.1:7400", addr)
	}
	return nil
}

// loopback says whether host:port can only be this machine. Names are not
// resolved: only localhost and literal addresses count.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
