package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = sign(t, nil, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate; without an authority it signs itself.
func sign(t *testing.T, by *authority, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	parent, parentKey := template, key
	if by != nil {
		parent, parentKey = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// files writes what a client of servers of the authority needs.
func (a *authority) files(t *testing.T, c Config) {
	t.Helper()
	cert, key := sign(t, a, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		c.CAFile: {Type: "CERTIFICATE", Bytes: a.cert.Raw}, c.CertFile: {Type: "CERTIFICATE", Bytes: cert.Raw},
		c.KeyFile: {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// server is the TLS of an etcd whose certificates an authority signs.
func (a *authority) server(t *testing.T) *tls.Config {
	t.Helper()
	cert, key := sign(t, a, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		ClientCAs:    clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// front puts TLS in front of a plaintext etcd.
type front struct {
	mu    sync.Mutex
	tls   *tls.Config
	conns []net.Conn
}

// listen returns where it is.
func (f *front) listen(t *testing.T, etcd string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); f.become(nil) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn, etcd)
		}
	}()
	return l.Addr().String()
}

func (f *front) serve(conn net.Conn, etcd string) {
	defer func() { _ = conn.Close() }()
	f.mu.Lock()
	secure := tls.Server(conn, f.tls)
	f.conns = append(f.conns, conn)
	f.mu.Unlock()
	if secure.Handshake() != nil {
		return
	}
	to, err := net.Dial("tcp", etcd)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(to, secure); _ = to.Close() }()
	_, _ = io.Copy(secure, to)
}

// become is a server that starts again with other certificates.
func (f *front) become(c *tls.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tls = c
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// TestRenewedFilesCount: an actuator may run for longer than its certificate lasts, and than the CA that etcd's are
// signed by.
func TestRenewedFilesCount(t *testing.T) {
	dir := t.TempDir()
	first, second := newAuthority(t), newAuthority(t)
	f := &front{tls: first.server(t)}
	c := Config{
		Endpoints: []string{f.listen(t, start(t))}, Cluster: "c", CAFile: filepath.Join(dir, "ca.crt"),
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), Certificates: &rpc.Certificates{},
	}
	first.files(t, c)
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if left := c.Certificates.Left(); left <= 0 || left >= 1 {
		t.Errorf("%g is said to be left of the certificate that etcd is shown", left)
	}

	second.files(t, c)
	f.become(second.server(t))
	deadline := time.Now().Add(2 * time.Minute)
	for _, err = s.Load(t.Context()); err != nil; _, err = s.Load(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatalf("with the new files: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestAServerOfAnotherAuthorityIsRefused(t *testing.T) {
	dir := t.TempDir()
	f := &front{tls: newAuthority(t).server(t)}
	c := Config{
		Endpoints: []string{f.listen(t, start(t))}, Cluster: "c", RequestTimeout: 2 * time.Second, CAFile: filepath.Join(dir, "ca.crt"),
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
	}
	newAuthority(t).files(t, c)
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Prepare(t.Context()); err == nil {
		t.Error("connected")
	}
}
