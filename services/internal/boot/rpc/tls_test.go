package rpc_test

import (
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
)

const watcherID = "spiffe://example.org/kerf/watcher"

func serverTLS(dir string) rpc.ServerTLS {
	return rpc.ServerTLS{
		CertFile: filepath.Join(dir, "server.crt"), KeyFile: filepath.Join(dir, "server.key"),
		ClientCAFile: filepath.Join(dir, "server-ca.crt"),
		ReloadEvery:  1, // a nanosecond: every handshake reads the files
	}
}

func clientTLS(dir, name string) rpc.ClientConfig {
	return rpc.ClientConfig{TLS: rpc.ClientTLS{
		CAFile: filepath.Join(dir, name+"-ca.crt"), CertFile: filepath.Join(dir, name+".crt"),
		KeyFile: filepath.Join(dir, name+".key"), ServerName: "planner.test", ReloadEvery: 1,
	}}
}

func TestWhoMayCallWhat(t *testing.T) {
	tests := map[string]struct {
		client names
		authz  rpc.Authz
		want   codes.Code
	}{
		"a URI name that the method lists":           {names{uri: watcherID}, rpc.Authz{doMethod: {watcherID}}, codes.OK},
		"a DNS name that the service lists":          {names{dns: "watcher.test"}, rpc.Authz{"/test.v1.Test/*": {"watcher.test"}}, codes.OK},
		"a common name that the whole server lists":  {names{cn: "watcher"}, rpc.Authz{"*": {"CN=watcher"}}, codes.OK},
		"any verified client":                        {names{}, rpc.Authz{"*": {"*"}}, codes.OK},
		"another name":                               {names{uri: watcherID + "2"}, rpc.Authz{doMethod: {watcherID}}, codes.PermissionDenied},
		"a common name does not pass for a DNS name": {names{cn: "watcher.test"}, rpc.Authz{"*": {"watcher.test"}}, codes.PermissionDenied},
		"a method that no rule names":                {names{uri: watcherID}, rpc.Authz{holdMethod: {watcherID}}, codes.PermissionDenied},
		"the method's rule narrows the service's":    {names{uri: watcherID}, rpc.Authz{doMethod: {"CN=x"}, "/test.v1.Test/*": {watcherID}}, codes.PermissionDenied},
		"the service's rule narrows the server's":    {names{uri: watcherID}, rpc.Authz{"/test.v1.Test/*": {"CN=x"}, "*": {"*"}}, codes.PermissionDenied},
		"an empty rule denies all":                   {names{uri: watcherID}, rpc.Authz{doMethod: {}, "*": {"*"}}, codes.PermissionDenied},
		"an expired certificate does not get so far": {names{uri: watcherID, expired: true}, rpc.Authz{"*": {"*"}}, codes.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir, ca := t.TempDir(), newAuthority(t, "ca")
			ca.issue(t, dir, "server", names{dns: "planner.test"})
			ca.issue(t, dir, "client", tt.client)
			f := fixture{server: rpc.ServerConfig{Listen: "0.0.0.0:0", TLS: serverTLS(dir), Authz: tt.authz}}
			f.start(t)
			conn := f.dial(t, clientTLS(dir, "client"))
			err := do(t.Context(), conn)
			if status.Code(err) != tt.want {
				t.Errorf("call = %v, want %s", err, tt.want)
			}
			if tt.want == codes.PermissionDenied && rpcerr.Reason(err) != rpc.ReasonNotAllowed {
				t.Errorf("reason = %q, want %q", rpcerr.Reason(err), rpc.ReasonNotAllowed)
			}
			if tt.want != codes.PermissionDenied {
				return
			}
			if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
				t.Errorf("health is denied: %v", err)
			}
		})
	}
}

func TestStreamsAreAuthorisedToo(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	ca.issue(t, dir, "client", names{uri: watcherID})
	f := fixture{
		service: &testService{hold: func(grpc.ServerStream) error {
			t.Error("the handler is reached")
			return nil
		}},
		server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{doMethod: {watcherID}}},
	}
	f.start(t)
	stream, err := hold(t.Context(), f.dial(t, clientTLS(dir, "client")))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("stream = %v, want PERMISSION_DENIED", err)
	}
}

func TestHandshakeFailsWithoutTheRightCertificates(t *testing.T) {
	dir, ca, other := t.TempDir(), newAuthority(t, "ca"), newAuthority(t, "other")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	ca.issue(t, dir, "client", names{uri: watcherID})
	other.issue(t, dir, "stranger", names{uri: watcherID})
	f := fixture{server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {"*"}}}}
	f.start(t)
	good := clientTLS(dir, "client")
	tests := map[string]func(*rpc.ClientConfig){
		"no client certificate": func(c *rpc.ClientConfig) { c.TLS.CertFile, c.TLS.KeyFile = "", "" },
		"a client certificate of another CA": func(c *rpc.ClientConfig) {
			c.TLS.CertFile, c.TLS.KeyFile = filepath.Join(dir, "stranger.crt"), filepath.Join(dir, "stranger.key")
		},
		"a server certificate of another CA":     func(c *rpc.ClientConfig) { c.TLS.CAFile = filepath.Join(dir, "stranger-ca.crt") },
		"a server certificate with another name": func(c *rpc.ClientConfig) { c.TLS.ServerName = "actuator.test" },
		"plaintext":                              func(c *rpc.ClientConfig) { c.TLS = rpc.ClientTLS{} },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := good
			spoil(&cfg)
			if err := do(t.Context(), f.dial(t, cfg)); status.Code(err) != codes.Unavailable {
				t.Errorf("call = %v, want UNAVAILABLE", err)
			}
		})
	}
	if err := do(t.Context(), f.dial(t, good)); err != nil {
		t.Errorf("the right certificates fail too: %v", err)
	}
}

func TestRotatedFilesCountFromTheNextHandshake(t *testing.T) {
	dir, first, second := t.TempDir(), newAuthority(t, "first"), newAuthority(t, "second")
	first.issue(t, dir, "server", names{dns: "planner.test"})
	first.issue(t, dir, "client", names{uri: watcherID})
	f := fixture{server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {watcherID}}}}
	f.start(t)
	conn := f.dial(t, clientTLS(dir, "client"))
	if err := do(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	stale := f.dial(t, clientTLS(dir, "client")) // has not connected yet
	frozen := t.TempDir()
	for _, file := range []string{"client.crt", "client.key", "client-ca.crt"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(frozen, file), data)
	}
	second.issue(t, dir, "server", names{dns: "planner.test"})
	second.issue(t, dir, "client", names{uri: watcherID})
	if err := do(t.Context(), stale); err != nil {
		t.Errorf("new files on both ends: %v", err)
	}
	if err := do(t.Context(), f.dial(t, clientTLS(frozen, "client"))); status.Code(err) != codes.Unavailable {
		t.Errorf("the CA that was taken out still counts: %v", err)
	}
}

func TestHalfRotatedFilesKeepTheOldKeysInUse(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	ca.issue(t, dir, "client", names{uri: watcherID})
	f := fixture{server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {"*"}}}}
	f.start(t)
	key, err := os.ReadFile(filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	write(t, filepath.Join(dir, "server.key"), key) // the new certificate, the old key
	if err := do(t.Context(), f.dial(t, clientTLS(dir, "client"))); err != nil {
		t.Errorf("call during the rotation: %v", err)
	}
	log := f.log.String()
	if !strings.Contains(log, "reload certificates") || strings.Contains(log, "PRIVATE KEY") {
		t.Errorf("want a warning without key material, got:\n%s", log)
	}
}

func TestACertificateThatRunsOutIsToldOnce(t *testing.T) {
	for runsOut, want := range map[bool]int{false: 0, true: 1} {
		dir, ca := t.TempDir(), newAuthority(t, "ca")
		ca.issue(t, dir, "server", names{dns: "planner.test", runsOut: runsOut})
		ca.issue(t, dir, "client", names{uri: watcherID})
		f := fixture{server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {"*"}}}}
		f.start(t)
		srv, err := rpc.NewServer(f.server, slog.New(slog.DiscardHandler), f.tracing)
		if err != nil {
			t.Fatal(err)
		}
		if left := srv.Certificates.Left(); left >= 1 || left < 0.1 != runsOut {
			t.Errorf("runs out: %v: %g of its life is said to be left", runsOut, left)
		}
		for range 2 { // each connection reads the files again
			if err := do(t.Context(), f.dial(t, clientTLS(dir, "client"))); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(f.log.String(), "a certificate runs out"); got != want {
			t.Errorf("runs out: %v: told %d times, want %d:\n%s", runsOut, got, want, f.log.String())
		}
	}
}

func TestOfTheCertificatesThatAreShownTheFirstToEndCounts(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	ca.issue(t, dir, "client", names{uri: watcherID, runsOut: true})
	srv, err := rpc.NewServer(rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {"*"}}}, slog.New(slog.DiscardHandler), telemetry.Tracing{})
	if err != nil {
		t.Fatal(err)
	}
	if left := srv.Certificates.Left(); left < 0.1 || left == 1 {
		t.Errorf("%g is left of what the server shows", left)
	}
	if _, err := clientTLS(dir, "client").TLS.ForeignCredentials(nil, &srv.Certificates); err != nil {
		t.Fatal(err)
	}
	if left := srv.Certificates.Left(); left >= 0.1 {
		t.Errorf("%g is left of what the process shows, though its client's certificate runs out", left)
	}
	for range 500 { // one for each attempt to find a leader: none is kept
		if _, err := clientTLS(dir, "client").TLS.ForeignCredentials(nil, &srv.Certificates); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1, func() { srv.Certificates.Left() }); n > 5000 {
		t.Errorf("one look at the certificates takes %g allocations", n)
	}
	ca.issue(t, dir, "client", names{uri: watcherID})
	if left := srv.Certificates.Left(); left < 0.1 || left == 1 {
		t.Errorf("%g is left after the client's certificate was renewed", left)
	}
}

// TestTheEndOfAForeignServersCertificateIsSeen has a server as etcd is: its connections stay open for as long as they like,
// while its certificate is renewed.
func TestTheEndOfAForeignServersCertificateIsSeen(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "client", names{uri: watcherID})
	serve := func(address string, n names) (stop func(), at string) {
		ca.issue(t, dir, "server", n)
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
		if err != nil {
			t.Fatal(err)
		}
		lis, err := tls.Listen("tcp", address, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for conn, err := lis.Accept(); err == nil; conn, err = lis.Accept() {
				_ = conn.(*tls.Conn).HandshakeContext(t.Context()) //nolint:forcetypeassert // a listener of TLS
			}
		}()
		return func() { lis.Close() }, lis.Addr().String() //nolint:errcheck // nothing to lose
	}
	var certificates rpc.Certificates
	creds, err := clientTLS(dir, "client").TLS.ForeignCredentials(nil, &certificates)
	if err != nil {
		t.Fatal(err)
	}
	meet := func(address string) {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing to lose
		if _, _, err := creds.ClientHandshake(t.Context(), "planner.test", conn); err != nil {
			t.Fatal(err)
		}
	}
	ends, renewed := names{dns: "planner.test", runsOut: true}, names{dns: "planner.test"}

	stop, at := serve("127.0.0.1:0", ends)
	meet(at)
	stop()
	stop, _ = serve(at, renewed)
	if left := certificates.Left(); left >= 0.1 {
		t.Errorf("%g is left to what the server has shown", left)
	}
	for last := time.Now().Add(10 * time.Second); certificates.Left() < 0.1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(last) {
			t.Fatal("a connection that is older than the server's certificate counts for ever")
		}
	}
	stop()

	stop, at = serve("127.0.0.1:0", ends)
	meet(at)
	for range 20 { // however often it is asked for
		if left := certificates.Left(); left >= 0.1 {
			t.Errorf("%g is left to what the server shows", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
}

func TestBrokenFilesAreToldAtTheStart(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	ca.issue(t, dir, "other", names{dns: "planner.test"})
	write(t, filepath.Join(dir, "empty.crt"), nil)
	tests := map[string]struct {
		spoil func(*rpc.ServerTLS)
		want  string
	}{
		"a certificate that is not there": {func(c *rpc.ServerTLS) { c.CertFile = filepath.Join(dir, "absent.crt") }, "cert_file"},
		"a key of another certificate":    {func(c *rpc.ServerTLS) { c.KeyFile = filepath.Join(dir, "other.key") }, "key_file"},
		"a CA file without certificate":   {func(c *rpc.ServerTLS) { c.ClientCAFile = filepath.Join(dir, "empty.crt") }, "empty.crt: no PEM"},
		"a CA file that is not there":     {func(c *rpc.ServerTLS) { c.ClientCAFile = filepath.Join(dir, "absent.crt") }, "absent.crt"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{"*": {"*"}}}
			tt.spoil(&cfg.TLS)
			_, err := rpc.NewServer(cfg, nil, telemetry.Tracing{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestRuleForWhatIsNotServedStopsTheStart(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "ca")
	ca.issue(t, dir, "server", names{dns: "planner.test"})
	f := fixture{server: rpc.ServerConfig{TLS: serverTLS(dir), Authz: rpc.Authz{
		"/test.v1.Tset/*": {"*"}, "/test.v1.Test/Done": {"*"}, doMethod: {"*"},
	}}}
	f.start(t)
	err := <-f.served
	if err == nil || !strings.Contains(err.Error(), "authz: /test.v1.Test/Done, /test.v1.Tset/*") {
		t.Errorf("Serve = %v, want an error that names both wrong rules", err)
	}
}

func TestServerConfigNamesFieldAndRemedy(t *testing.T) {
	files := rpc.ServerTLS{CertFile: "c", KeyFile: "k", ClientCAFile: "ca"}
	anyone := rpc.Authz{"*": {"*"}}
	tests := map[string]struct {
		give rpc.ServerConfig
		want string // empty: valid
	}{
		"the zero value is safe":                      {rpc.ServerConfig{}, ""},
		"plaintext on loopback":                       {rpc.ServerConfig{Listen: "[::1]:7400"}, ""},
		"plaintext on localhost":                      {rpc.ServerConfig{Listen: "localhost:7400"}, ""},
		"plaintext on all addresses":                  {rpc.ServerConfig{Listen: ":7400"}, "listen: :7400 is reachable from outside without TLS"},
		"plaintext on a name":                         {rpc.ServerConfig{Listen: "planner:7400"}, "listen: planner:7400 is reachable"},
		"plaintext where only the reload time is set": {rpc.ServerConfig{Listen: ":7400", TLS: rpc.ServerTLS{ReloadEvery: 5}}, "listen: "},
		"TLS on all addresses":                        {rpc.ServerConfig{Listen: ":7400", TLS: files, Authz: anyone}, ""},
		"TLS without rules":                           {rpc.ServerConfig{TLS: files}, "authz: required with tls"},
		"rules without TLS":                           {rpc.ServerConfig{Authz: anyone}, "authz: needs tls"},
		"TLS without a client CA":                     {rpc.ServerConfig{TLS: rpc.ServerTLS{CertFile: "c", KeyFile: "k"}, Authz: anyone}, "tls.client_ca_file: required"},
		"a port that there is not":                    {rpc.ServerConfig{Listen: "localhost:99999"}, `listen: "localhost:99999" is not an address`},
		"an address without port":                     {rpc.ServerConfig{Listen: "localhost"}, `listen: "localhost" is not an address`},
		"a method without service":                    {rpc.ServerConfig{TLS: files, Authz: rpc.Authz{"Do": {"*"}}}, "authz.Do: not a method"},
		"an identity with a blank":                    {rpc.ServerConfig{TLS: files, Authz: rpc.Authz{"*": {"CN= x"}}}, "authz.*: \"CN= x\" is not a client identity"},
		"a negative duration":                         {rpc.ServerConfig{Keepalive: rpc.Keepalive{Time: -1}}, "keepalive.time: -1ns is negative"},
		"a negative size":                             {rpc.ServerConfig{Limits: rpc.Limits{MaxRecvBytes: -1}}, "limits.max_recv_bytes: -1 is negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { says(t, config.Check(tt.give), tt.want) })
	}
}

func TestClientConfigNamesFieldAndRemedy(t *testing.T) {
	tests := map[string]struct {
		give rpc.ClientConfig
		want string
	}{
		"no target":                       {rpc.ClientConfig{}, "target: required"},
		"plaintext to loopback":           {rpc.ClientConfig{Target: "127.0.0.1:7400"}, ""},
		"plaintext to a unix socket":      {rpc.ClientConfig{Target: "unix:/run/x.sock"}, ""},
		"plaintext to elsewhere":          {rpc.ClientConfig{Target: "dns:///planner:7400"}, "tls: required"},
		"plaintext through a name server": {rpc.ClientConfig{Target: "dns://10.0.0.1/localhost:7400"}, "tls: required"},
		"TLS to elsewhere":                {rpc.ClientConfig{Target: "dns:///planner:7400", TLS: rpc.ClientTLS{CAFile: "ca"}}, ""},
		"a certificate without key":       {rpc.ClientConfig{Target: "x:1", TLS: rpc.ClientTLS{CertFile: "c"}}, "tls.cert_file: set"},
		"a negative size":                 {rpc.ClientConfig{Target: "127.0.0.1:1", MaxRecvBytes: -1}, "max_recv_bytes: -1 is negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { says(t, config.Check(tt.give), tt.want) })
	}
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want one that says %q", err, want)
	}
}
