package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha" // its descriptors
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/test/harness"
)

// plaintext stands in the place of a Secret for a call without TLS.
const plaintext = "plaintext"

// callers are who calls, by the Secret that each shows.
var callers = map[string]string{
	"the planner": "kerf-planner-tls", "the watcher": "kerf-watcher-tls", "the actuator": "kerf-actuator-tls",
	"an operator": "kerf-operator-tls", "etcd": "kerf-etcd-tls", "the actuator's certificate for etcd": "kerf-etcd-client-tls",
	"an operator of another authority": "another/kerf-operator-tls", "one without a certificate": "", "one without TLS": plaintext,
}

// mayCall is who may call what; all others are refused.
var mayCall = map[string][]string{
	"/kerf.planner.v1alpha1.PlannerService/Plan":                     {"the watcher", "an operator"},
	"/kerf.planner.v1alpha1.PlannerService/Session":                  {"the watcher", "an operator"},
	"/kerf.watcher.v1alpha1.WatcherService/GetSnapshot":              {"an operator"},
	"/kerf.watcher.v1alpha1.WatcherService/WatchSnapshot":            {"an operator"},
	"/kerf.watcher.v1alpha1.WatcherService/GetPlan":                  {"an operator"},
	"/kerf.actuator.v1alpha1.ActuatorService/Apply":                  {"the watcher"},
	"/kerf.actuator.v1alpha1.ActuatorService/Drive":                  {"the watcher"},
	"/kerf.actuator.v1alpha1.ActuatorService/WatchInventory":         {"the watcher", "an operator"},
	"/kerf.actuator.v1alpha1.ActuatorService/ListClaims":             {"an operator"},
	"/kerf.actuator.v1alpha1.ActuatorService/GetClaim":               {"an operator"},
	"/kerf.actuator.v1alpha1.ActuatorService/DeleteClaim":            {"an operator"},
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {"an operator"},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {},
	"/grpc.health.v1.Health/Check":                                   {"the watcher", "an operator"},
	"/grpc.health.v1.Health/List":                                    {"the watcher", "an operator"},
	"/grpc.health.v1.Health/Watch":                                   {"the watcher", "an operator"},
}

// served are the three services, and where each listens for calls.
func (i *installation) served() map[*pod]int32 {
	return map[*pod]int32{i.named("planner-0"): plannerPort, i.named("watcher-0"): watcherPort, i.named("actuator-0"): actuatorPort}
}

// dial is a connection on which the Secret's certificate is shown; "" is none, and the overlay single has no TLS at all.
func (i *installation) dial(t *testing.T, secret string, p *pod, port int32) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if secret != plaintext && p.component() != "kerf" {
		creds = credentials.NewTLS(i.tls(t, secret, "kerf-"+p.component()))
	}
	conn, err := grpc.NewClient(p.at[port], grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test ends
	return conn
}

func (i *installation) tls(t *testing.T, secret, server string) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(i.certs, "kerf-operator-tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool(), ServerName: server, NextProtos: []string{"h2"}}
	cfg.RootCAs.AppendCertsFromPEM(ca)
	if secret == "" {
		return cfg
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(i.certs, secret, "tls.crt"), filepath.Join(i.certs, secret, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	// Shown whatever authorities the server names: one that would not be asked for is no test.
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return cfg
}

// identities has each caller call each method that is served.
func (i *installation) identities(t *testing.T) {
	i.makeCerts(t, filepath.Join(i.certs, "another"))
	asked := map[string]bool{}
	for p, port := range i.served() {
		conns := map[string]*grpc.ClientConn{}
		for who, secret := range callers {
			conns[who] = i.dial(t, secret, p, port)
		}
		for _, method := range methods(t, conns["an operator"]) {
			asked[method] = true
			for who, conn := range conns {
				code := call(t, conn, method)
				refused := code == codes.PermissionDenied || code == codes.Unavailable
				if want := !slices.Contains(mayCall[method], who); refused != want {
					t.Errorf("%s calls %s of %s: %s, want refused: %v", who, method, p.name, code, want)
				}
			}
		}
	}
	if len(asked) != len(mayCall) {
		t.Errorf("%d methods are served, the table has %d: %v", len(asked), len(mayCall), asked)
	}
}

// methods are all that a server serves, by its own answer.
func methods(t *testing.T, conn *grpc.ClientConn) []string {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(s.GetName()))
		if err != nil {
			t.Fatal(err)
		}
		list := d.(protoreflect.ServiceDescriptor).Methods()
		for n := range list.Len() {
			out = append(out, fmt.Sprintf("/%s/%s", d.FullName(), list.Get(n).Name()))
		}
	}
	return out
}

// call calls a method of any kind with an empty message, which is as good as any: who may call is decided before.
func call(t *testing.T, conn *grpc.ClientConn, method string) codes.Code {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return status.Code(err)
	}
	_ = stream.SendMsg(&emptypb.Empty{}) // how it ended comes with the answer
	_ = stream.CloseSend()
	return status.Code(stream.RecvMsg(&emptypb.Empty{}))
}

// rotation renews all certificates three times while calls go on, each with a handshake of its own.
func (i *installation) rotation(t *testing.T) {
	held := i.hold(t)
	before, ended := i.serials(t), i.endedStreams(t)
	for range 3 {
		i.renew(t)
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			i.handshakes(t)
		}
	}
	harness.Eventually(t, "renewed certificates", patience, i.alive(t, func(context.Context) (string, bool) {
		now := i.serials(t)
		for service, serial := range now {
			if before[service] == serial {
				return service + " shows its old certificate", false
			}
		}
		return "", true
	}))
	// More pods take a plan, an order and a launch, over the streams that were there before.
	if err := i.cluster.ApplyFile(t.Context(), filepath.Join(root(t), "deploy/examples/inflate/inflate-12.yaml")); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "twelve pods", patience, i.alive(t, harness.Pods(i.client, "default", "app=inflate", 12, corev1.PodRunning)))
	for name, err := range held {
		select {
		case err := <-err:
			t.Errorf("the operator's stream %s: %v", name, err)
		default:
		}
	}
	if now := i.endedStreams(t); now != ended {
		t.Errorf("%d streams of the watcher ended", now-ended)
	}
	// That an ended stream would be seen: the watcher's own end ends its streams.
	if err := i.named("watcher-0").proc.Restart(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the watcher's streams to end", patience, func(context.Context) (string, bool) {
		now := i.endedStreams(t)
		return fmt.Sprint(now), now >= ended+2
	})
}

// endedStreams counts what the logs of planner and actuator say of the watcher's streams.
func (i *installation) endedStreams(t *testing.T) int {
	t.Helper()
	n := 0
	for _, p := range []*pod{i.named("planner-0"), i.named("actuator-0")} {
		for line := range strings.Lines(p.log(t)) {
			if strings.Contains(line, `"call failed"`) && strings.Contains(line, "spiffe://kerf/watcher") {
				n++
			}
		}
	}
	return n
}

// hold opens an operator's streams to watcher and actuator, and returns how each ends.
func (i *installation) hold(t *testing.T) map[string]chan error {
	t.Helper()
	snapshots, err := watcherpb.NewWatcherServiceClient(i.dial(t, "kerf-operator-tls", i.named("watcher-0"), watcherPort)).
		WatchSnapshot(t.Context(), &watcherpb.WatchSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := actuatorpb.NewActuatorServiceClient(i.dial(t, "kerf-operator-tls", i.named("actuator-0"), actuatorPort)).
		WatchInventory(t.Context(), &actuatorpb.WatchInventoryRequest{Watcher: "test"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]chan error{}
	for name, receive := range map[string]func() error{
		"WatchSnapshot":  func() error { _, err := snapshots.Recv(); return err },
		"WatchInventory": func() error { _, err := inventory.Recv(); return err },
	} {
		if err := receive(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ended := make(chan error, 1)
		out[name] = ended
		go func() {
			for {
				if err := receive(); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	return out
}

// handshakes calls each service over a connection of its own.
func (i *installation) handshakes(t *testing.T) {
	t.Helper()
	for p, port := range i.served() {
		conn, err := grpc.NewClient(p.at[port], grpc.WithTransportCredentials(credentials.NewTLS(i.tls(t, "kerf-operator-tls", "kerf-"+p.component()))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
			t.Errorf("%s, during a renewal: %v", p.name, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// serials are those of the certificates that the services show.
func (i *installation) serials(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for p, port := range i.served() {
		conn, err := tls.Dial("tcp", p.at[port], i.tls(t, "kerf-operator-tls", "kerf-"+p.component()))
		if err != nil {
			t.Fatal(err)
		}
		out[p.name] = conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
		_ = conn.Close() // only looked at
	}
	return out
}
