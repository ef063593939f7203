package rpc_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

const (
	doMethod   = "/test.v1.Test/Do"
	holdMethod = "/test.v1.Test/Hold"
)

// testService is a gRPC service made of two functions.
type testService struct {
	do   func(context.Context) error
	hold func(grpc.ServerStream) error
}

func (s *testService) register(r grpc.ServiceRegistrar) {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.v1.Test",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Do", Handler: s.handleDo}},
		Streams: []grpc.StreamDesc{{
			StreamName: "Hold", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, ss grpc.ServerStream) error { return s.hold(ss) },
		}},
	}, s)
}

//nolint:revive // the order is that of a gRPC method handler
func (s *testService) handleDo(_ any, ctx context.Context, dec func(any) error, with grpc.UnaryServerInterceptor) (any, error) {
	in := new(emptypb.Empty)
	if err := dec(in); err != nil {
		return nil, err
	}
	handler := func(ctx context.Context, _ any) (any, error) { return &emptypb.Empty{}, s.do(ctx) }
	return with(ctx, in, &grpc.UnaryServerInfo{FullMethod: doMethod}, handler)
}

func do(ctx context.Context, conn *grpc.ClientConn) error {
	return conn.Invoke(ctx, doMethod, &emptypb.Empty{}, &emptypb.Empty{})
}

func hold(ctx context.Context, conn *grpc.ClientConn) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, holdMethod)
}

// logBuffer is a log that tests may read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// fixture is a server on an in-memory listener.
type fixture struct {
	service  *testService
	server   rpc.ServerConfig
	tracing  telemetry.Tracing
	metrics  http.Handler
	services []protoreflect.ServiceDescriptor // for dial

	log    logBuffer
	lis    *bufconn.Listener
	stop   context.CancelFunc
	served chan error
}

func (f *fixture) start(t *testing.T) {
	t.Helper()
	srv, err := rpc.NewServer(f.server, slog.New(slog.NewTextHandler(&f.log, nil)), f.tracing)
	if err != nil {
		t.Fatal(err)
	}
	srv.Metrics = f.metrics
	if f.service == nil {
		f.service = &testService{do: func(context.Context) error { return nil }}
	}
	f.service.register(srv)
	f.lis = bufconn.Listen(1 << 16)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	f.stop, f.served = stop, make(chan error, 1)
	go func() { f.served <- srv.Serve(ctx, f.lis) }()
	t.Cleanup(stop)
}

func (f *fixture) dial(t *testing.T, cfg rpc.ClientConfig) *grpc.ClientConn {
	t.Helper()
	cfg.Target = "passthrough:///localhost"
	toServer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return f.lis.DialContext(ctx) })
	conn, err := rpc.Dial(cfg, rpc.DialOptions{
		Tracing: f.tracing, Services: f.services, Extra: []grpc.DialOption{toServer},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing to lose
	return conn
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// names are what a certificate is made for.
type names struct {
	cn, dns, uri string
	expired      bool
	runsOut      bool // in a minute, of the hour that it was made for
}

// issue writes <name>.crt, <name>.key and <name>-ca.crt to dir.
func (a *authority) issue(t *testing.T, dir, name string, n names) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: n.cn},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if n.expired {
		template.NotAfter = time.Now().Add(-time.Minute)
	}
	if n.runsOut {
		template.NotAfter = time.Now().Add(time.Minute)
	}
	if n.dns != "" {
		template.DNSNames = []string{n.dns}
	}
	if n.uri != "" {
		u, err := url.Parse(n.uri)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = []*url.URL{u}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
	write(t, filepath.Join(dir, name+"-ca.crt"), a.pem)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
