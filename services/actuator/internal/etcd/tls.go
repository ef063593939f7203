package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

func tlsConfig(c Config) (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" && c.KeyFile == "" {
		return nil, nil //nolint:nilnil // plaintext
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file: %s has no PEM certificate", c.CAFile)
		}
	}
	if c.CertFile != "" || c.KeyFile != "" {
		shown := &certificate{certFile: c.CertFile, keyFile: c.KeyFile, log: c.Log}
		if err := shown.read(); err != nil {
			return nil, err
		}
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown.newest(), nil }
	}
	return out, nil
}

// certificate is what is shown to etcd. It is read anew for each connection: it is renewed while the actuator runs, and etcd
// refuses one that has expired.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger // nil logs nothing

	mu   sync.Mutex
	pair *tls.Certificate
}

// newest is the files' certificate; the last one that could be read, while they do not fit together.
func (c *certificate) newest() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil && c.log != nil {
		c.log.Warn("read etcd's client certificate; the old one stays in use", telemetry.KeyError, err)
	}
	return c.pair
}

// read is called with mu held, or before c is shared.
func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("cert_file, key_file: %w", err)
	}
	c.pair = &pair
	return nil
}
