package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

// material is the keys and trust that PEM files held when they were last read.
// Files are read again by the first handshake after `every`, without a goroutine;
// if they do not fit together (a rotation half done) the old ones stay in use.
// Safe for concurrent use.
//
// grpc's own reloading provider (certprovider/pemfile with advancedtls) is not
// used: it writes the private key to its log when key and certificate disagree,
// and verifies peers by a path of its own.
type material struct {
	certFile, keyFile, caFile string // any may be empty, cert and key together
	every                     time.Duration
	log                       *slog.Logger

	mu    sync.Mutex
	read  time.Time
	told  time.Time // when it was last said that the certificate runs out
	certs []tls.Certificate
	roots *x509.CertPool // nil: the system's
}

func newMaterial(m *material) (*material, error) {
	if err := m.reload(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *material) current() ([]tls.Certificate, *x509.CertPool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.read) < m.every {
		return m.certs, m.roots
	}
	if err := m.reload(); err != nil {
		m.log.Warn("reload certificates; the old ones stay in use", telemetry.KeyError, err)
	}
	return m.certs, m.roots
}

// reload replaces all or nothing. Called with mu held, or before m is shared.
func (m *material) reload() error {
	m.read = time.Now()
	certs, roots := m.certs, m.roots
	if m.certFile != "" {
		pair, err := tls.LoadX509KeyPair(m.certFile, m.keyFile)
		if err != nil {
			return fmt.Errorf("tls: cert_file %s with key_file %s: %w", m.certFile, m.keyFile, err)
		}
		certs = []tls.Certificate{pair}
		m.warnOfEnd(pair.Leaf)
	}
	if m.caFile != "" {
		pem, err := os.ReadFile(m.caFile)
		if err != nil {
			return fmt.Errorf("tls: CA file: %w", err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls: CA file %s: no PEM certificate in it", m.caFile)
		}
	}
	m.certs, m.roots = certs, roots
	return nil
}

// lastPart is the part of a certificate's life in which its end is told, as the alert KerfCertificateEnds does.
const lastPart = 0.1

// tellAgain is how often the end of a certificate is told.
const tellAgain = 24 * time.Hour

// warnOfEnd says once a day that the certificate is in the last part of its life: where no one renews it all calls fail
// from one moment to the next.
func (m *material) warnOfEnd(leaf *x509.Certificate) {
	if left(leaf, m.read) > lastPart || m.read.Sub(m.told) < tellAgain {
		return
	}
	m.told = m.read
	m.log.Warn("a certificate runs out: renew it", "file", m.certFile, "not_after", leaf.NotAfter)
}

// Certificates are those that a process shows others, as a server or as a client, and those that servers show it that
// are not Kerf's. The zero value has none. Safe for concurrent use.
type Certificates struct {
	mu    sync.Mutex
	shown []*material
	met   map[string]*foreign // by address
}

// add takes in what a connection or a server shows; a nil receiver does not care.
func (c *Certificates) add(m *material) {
	if c == nil || m.certFile == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.shown, func(o *material) bool { return o.certFile == m.certFile && o.keyFile == m.keyFile }) {
		return // another connection shows it: there may be one for each attempt to find a leader
	}
	c.shown = append(c.shown, m)
}

// Left is what share of its life the certificate still has that ends first: 0 where one has ended, and 1 without any,
// where nothing does. Files that have changed are read again, and so the end of a certificate is told in the log where
// a connection stays open for long.
func (c *Certificates) Left() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	least := c.leftOfForeign(time.Now())
	for _, m := range c.shown {
		certs, _ := m.current()
		least = min(least, left(certs[0].Leaf, time.Now()))
	}
	return least
}

// left is what share of its life a certificate has left.
func left(leaf *x509.Certificate, now time.Time) float64 {
	rest, life := leaf.NotAfter.Sub(now), leaf.NotAfter.Sub(leaf.NotBefore)
	if rest <= 0 || life <= 0 {
		return 0
	}
	return rest.Seconds() / life.Seconds()
}

func (c ServerTLS) material(log *slog.Logger) (*material, error) {
	return newMaterial(&material{
		certFile: c.CertFile, keyFile: c.KeyFile, caFile: c.ClientCAFile,
		every: c.ReloadEvery.Or(DefaultReloadEvery), log: log,
	})
}

// serverCredentials asks every client for a certificate that the CA signed.
func serverCredentials(m *material) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			certs, roots := m.current()
			return &tls.Config{
				MinVersion:   tls.VersionTLS13,
				NextProtos:   []string{"h2"},
				Certificates: certs,
				ClientCAs:    roots,
				ClientAuth:   tls.RequireAndVerifyClientCert,
				// Every connection shows its certificate, so that a CA that was
				// taken out of the file counts from the next handshake on.
				SessionTicketsDisabled: true,
			}, nil
		},
	})
}

// clientCredentials are the library's TLS credentials, made anew for every
// handshake from the files as they are then.
type clientCredentials struct {
	credentials.TransportCredentials
	material   *material
	serverName string        // empty: the target's host
	oldest     uint16        // version of TLS
	met        *Certificates // takes in what the server shows; nil for none
}

// ready gives the library's credentials to c.
func (c clientCredentials) ready() *clientCredentials {
	c.TransportCredentials = c.fresh()
	return &c
}

func (c *clientCredentials) fresh() credentials.TransportCredentials {
	certs, roots := c.material.current()
	return credentials.NewTLS(&tls.Config{
		MinVersion: c.oldest, Certificates: certs, RootCAs: roots, ServerName: c.serverName,
	})
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := c.fresh().ClientHandshake(ctx, authority, conn)
	if err == nil {
		c.met.meet(conn.RemoteAddr(), foreign{credentials: c, authority: authority}, info)
	}
	return secure, info, err //nolint:wrapcheck // the library's own, as if it were asked
}

// ServerHandshake implements credentials.TransportCredentials.
func (c *clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("client credentials in a server")
}

// Clone implements credentials.TransportCredentials.
func (c *clientCredentials) Clone() credentials.TransportCredentials {
	return c.ready()
}
