package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/planner"
)

// callTimeout bounds a call to a service, connecting included.
const callTimeout = 15 * time.Second

// client is how the services are reached.
type client struct {
	tls rpc.ClientTLS
	// dir holds the files that tls does not name, as a Secret of Kubernetes has them.
	dir string
}

func addClient(c *cobra.Command) *client {
	out := &client{}
	f := c.Flags()
	f.StringVar(&out.dir, "tls-dir", "", "`folder` with ca.crt, tls.crt and tls.key, such as kerf-certs/kerf-operator-tls of kerf certs")
	f.StringVar(&out.tls.CAFile, "tls-ca", "", "`file` of the CA that signed the service's certificate")
	f.StringVar(&out.tls.CertFile, "tls-cert", "", "`file` of the certificate to show")
	f.StringVar(&out.tls.KeyFile, "tls-key", "", "`file` of the certificate's key")
	f.StringVar(&out.tls.ServerName, "tls-server-name", "", "the `name` in the service's certificate, if not its address")
	return out
}

// dial makes a connection, which connects when it is first used. Without TLS it must stay on this machine.
func (c *client) dial(addr string, service protoreflect.ServiceDescriptor) (*grpc.ClientConn, error) {
	if err := checkAddress(addr, service); err != nil {
		return nil, err
	}
	tls := c.tlsFor(addr, service)
	conn, err := rpc.Dial(rpc.ClientConfig{Target: addr, TLS: tls, MaxRecvBytes: 64 << 20},
		rpc.DialOptions{Services: []protoreflect.ServiceDescriptor{service}})
	if err != nil && tls == (rpc.ClientTLS{}) {
		return nil, fmt.Errorf("%w (here: --tls-dir, or --tls-ca, --tls-cert and --tls-key)", err)
	}
	return conn, err
}

// usualPorts says where the services are that commands ask.
const usualPorts = "an actuator's port is 7500, a watcher's 7600, a planner's 7400"

// kindOf is a service's name with its article.
func kindOf(name string) string {
	if name == "actuator" {
		return "an actuator"
	}
	return "a " + name
}

// checkAddress refuses what gRPC would take for the name of a host, or for port 443 of one.
func checkAddress(addr string, service protoreflect.ServiceDescriptor) error {
	such := map[protoreflect.Name]string{"actuator": address.Actuator, "planner": planner.DefaultListen, "watcher": address.Watcher}
	want := "want HOST:PORT, such as " + cmp.Or(such[service.ParentFile().Package().Parent().Name()], address.Watcher)
	scheme, host, ok := strings.Cut(addr, "://")
	switch {
	case ok && (scheme == "http" || scheme == "https" || scheme == "grpc" || scheme == "grpcs" || scheme == "tcp"):
		return fmt.Errorf("%s, without %s:// (%s)", want, scheme, strings.TrimRight(host, "/"))
	case ok || strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") || strings.HasPrefix(addr, "dns:"):
		return nil
	}
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return errors.New(want)
	}
	return nil
}

// tlsFor takes from the folder what no flag says. A service that a forwarded port leads to, or that another names by
// the address of its pod, has its name in its certificate, and not the address.
func (c *client) tlsFor(addr string, service protoreflect.ServiceDescriptor) rpc.ClientTLS {
	tls := c.tls
	if c.dir == "" {
		return tls
	}
	tls.CAFile = cmp.Or(tls.CAFile, filepath.Join(c.dir, "ca.crt"))
	tls.CertFile = cmp.Or(tls.CertFile, filepath.Join(c.dir, "tls.crt"))
	tls.KeyFile = cmp.Or(tls.KeyFile, filepath.Join(c.dir, "tls.key"))
	host, _, err := net.SplitHostPort(addr)
	if tls.ServerName == "" && err == nil && (host == "localhost" || net.ParseIP(host) != nil) {
		tls.ServerName = "kerf-" + string(service.ParentFile().Package().Parent().Name())
	}
	return tls
}

// mostHops is how often a leader that is none may name another.
const mostHops = 3

// askLeader calls the service at each address until one answers, and follows replicas that name their leader. The error
// names every address that was tried.
func (c *client) askLeader(ctx context.Context, addrs []string, service protoreflect.ServiceDescriptor, call func(context.Context, grpc.ClientConnInterface) error) error {
	asked := map[string]bool{}
	var last error
	for _, addr := range addrs {
		from := addr
		for range mostHops {
			if asked[addr] {
				break
			}
			asked[addr] = true
			err := c.ask(ctx, addr, service, call)
			if err == nil {
				return nil
			}
			last = fmt.Errorf("%s: %w", addr, err)
			if addr != from && unreachable(err) {
				// Of two replicas a forwarded port may well lead to the one that stands by, which names a pod's address.
				last = fmt.Errorf("%s stands by; the one that leads can't be reached from here, forward the port of the pod that has its address"+
					" (kubectl get pods -o wide): %w", from, last)
			}
			e, ok := rpcerr.From(err)
			if !ok {
				break
			}
			if addr, ok = e.Leader(); !ok {
				break
			}
		}
	}
	return last
}

// unreachable says that no one answered.
func unreachable(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// noPlanner says that what answered is another service.
func noPlanner(err error) bool { return status.Code(err) == codes.Unimplemented }

func (c *client) ask(ctx context.Context, addr string, service protoreflect.ServiceDescriptor, call func(context.Context, grpc.ClientConnInterface) error) error {
	conn, err := c.dial(addr, service)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it any more
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx, conn)
}
