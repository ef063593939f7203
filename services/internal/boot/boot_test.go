package boot

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

type testConfig struct {
	ServiceConfig
	Budget Duration `json:"budget"`
}

func (c testConfig) Validate() error {
	if c.Budget < 0 {
		return config.Errorf("budget", "want a positive duration")
	}
	return nil
}

func TestMainReadsFlagsAndConfig(t *testing.T) {
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "test.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		args     []string
		defaults testConfig
		runErr   error

		exit     int
		out, err string // parts
		want     *testConfig
	}{
		"without a file the service runs with the defaults": {
			defaults: testConfig{Budget: 5}, want: &testConfig{Budget: 5},
		},
		"the file goes over the defaults": {
			args:     []string{"--config", file(`{"listen": "127.0.0.1:9", "log": {"level": "debug"}}`)},
			defaults: testConfig{Budget: 5},
			want: func() *testConfig {
				c := testConfig{Budget: 5}
				c.Listen, c.Log.Level = "127.0.0.1:9", "debug"
				return &c
			}(),
		},
		"check-config does not run":    {args: []string{"-check-config", "-config", file(`{}`)}, out: "config is valid"},
		"an unknown field":             {args: []string{"-config", file(`{"bugdet": "1s"}`)}, exit: 1, err: "bugdet: unknown field; known here: authz, budget,"},
		"trailing data":                {args: []string{"-config", file(`{} {}`)}, exit: 1, err: "line 1, column 4"},
		"plaintext beyond loopback":    {args: []string{"-config", file(`{"listen": "0.0.0.0:9"}`)}, exit: 1, err: "listen: 0.0.0.0:9 is reachable from outside without TLS"},
		"the service's own rule":       {args: []string{"-config", file(`{"budget": "-1s"}`)}, exit: 1, err: "budget: want a positive duration"},
		"both rules":                   {args: []string{"-config", file(`{"budget": "-1s", "log": {"level": "x"}}`)}, exit: 1, err: "log.level: "},
		"wrong defaults":               {defaults: testConfig{Budget: -1}, exit: 1, err: "config (none given, see -config): budget"},
		"no such file":                 {args: []string{"-config", "/nonexistent.json"}, exit: 1, err: "/nonexistent.json"},
		"version":                      {args: []string{"-version"}, out: "kerf-test "},
		"help":                         {args: []string{"-h"}, err: "-check-config"},
		"an unknown flag":              {args: []string{"-x"}, exit: 2, err: "-x"},
		"an argument":                  {args: []string{"x"}, exit: 2, err: `unexpected argument "x"`},
		"the service's error is shown": {runErr: errors.New("store: no route"), exit: 1, err: "kerf-test: store: no route\n", want: &testConfig{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			var got *testConfig
			run := func(_ context.Context, c testConfig) error {
				got = &c
				return tt.runErr
			}
			exit := execute(t.Context(), tt.args, streams{&out, &errOut}, command[testConfig]{"test", tt.defaults, run})
			if exit != tt.exit || !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.err) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d, %q, %q", exit, &out, &errOut, tt.exit, tt.out, tt.err)
			}
			// cmp cannot compare functions, which the config has none of here.
			if diff := cmp.Diff(tt.want, got, cmp.FilterPath(isHook, cmp.Ignore())); diff != "" {
				t.Errorf("config that ran (-want +got):\n%s", diff)
			}
		})
	}
}

func isHook(p cmp.Path) bool { return p.Last().String() == ".OnListen" }

func TestRun(t *testing.T) {
	broken := errors.New("broken")
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	tests := map[string]struct {
		tasks []Task
		stop  time.Duration // when the caller stops it; zero: never
		want  string        // empty: nil
		after time.Duration
	}{
		"a failure stops the others and has its task's name": {
			[]Task{{"fine", wait}, {"bad", func(context.Context) error { time.Sleep(time.Second); return broken }}}, 0, "bad: broken", time.Second,
		},
		"being stopped is no failure": {[]Task{{"a", wait}, {"b", wait}}, time.Second, "", time.Second},
		"a task that is done leaves the others alone": {
			[]Task{{"done", func(context.Context) error { return nil }}, {"fine", wait}}, 2 * time.Second, "", 2 * time.Second,
		},
		"a cancellation of the task's own is a failure": {
			[]Task{{"odd", func(context.Context) error { return context.Canceled }}, {"fine", wait}}, 0, "odd: context canceled", 0,
		},
		"all are waited for": {
			[]Task{{"slow", func(ctx context.Context) error { <-ctx.Done(); time.Sleep(3 * time.Second); return nil }}}, time.Second, "", 4 * time.Second,
		},
		"a failure while stopping still counts": {
			[]Task{{"bad", func(ctx context.Context) error { <-ctx.Done(); return broken }}}, time.Second, "bad: broken", time.Second,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.stop > 0 {
					time.AfterFunc(tt.stop, cancel)
				}
				start := time.Now()
				err := Run(ctx, tt.tasks...)
				if got := errText(err); got != tt.want || time.Since(start) != tt.after {
					t.Errorf("Run = %q after %s, want %q after %s", got, time.Since(start), tt.want, tt.after)
				}
			})
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestServiceKeepsItsTasksUntilTheServerHasDrained(t *testing.T) {
	var addr net.Addr
	cfg := ServiceConfig{Logger: slog.New(slog.DiscardHandler), OnListen: func(a net.Addr) { addr = a }}
	svc, err := Start(t.Context(), "test", cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	stillServing := make(chan bool, 1)
	go func() {
		ran <- svc.Run(ctx, Task{Name: "loop", Run: func(taskCtx context.Context) error {
			<-taskCtx.Done()
			_, err := net.DialTimeout("tcp", addr.String(), time.Second)
			stillServing <- err == nil
			return taskCtx.Err()
		}})
	}()
	conn, err := svc.Dial(rpc.ClientConfig{Target: addr.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	got, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("health = %v, %v", got.GetStatus(), err)
	}
	stop()
	if err := <-ran; err != nil {
		t.Errorf("Run = %v", err)
	}
	if <-stillServing {
		t.Error("the task was cancelled while the server still served")
	}
}

func TestFailedTaskStopsTheService(t *testing.T) {
	svc, err := Start(t.Context(), "test", ServiceConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = svc.Run(t.Context(), Task{Name: "election", Run: func(context.Context) error { return errors.New("lost") }})
	if got := errText(err); got != "election: lost" {
		t.Errorf("Run = %q, want the task's failure", got)
	}
}

func TestStartTellsWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing to lose
	tests := map[string]struct {
		cfg  rpc.ServerConfig
		want string
	}{
		"an address that is taken":  {rpc.ServerConfig{Listen: taken.Addr().String()}, taken.Addr().String()},
		"plaintext beyond loopback": {rpc.ServerConfig{Listen: ":0"}, "config: listen: "},
		"a certificate that is no file": {
			rpc.ServerConfig{TLS: rpc.ServerTLS{CertFile: "/no.crt", KeyFile: "/no.key", ClientCAFile: "/no"}, Authz: rpc.Authz{"*": {"*"}}},
			"cert_file /no.crt",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), "test", ServiceConfig{ServerConfig: tt.cfg, Logger: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start = %v, want an error that says %q", err, tt.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: version}, Settings: settings}
	}
	commit, changed := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	tests := map[string]struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		"a build without version control":        {"", info("(devel)"), "devel (go1.26)"},
		"a tagged build":                         {"", info("v1.2.3", commit), "v1.2.3 (abc, go1.26)"},
		"a changed tree":                         {"", info("v1.2.3", changed, commit), "v1.2.3 (abc+dirty, go1.26)"},
		"what the linker says comes first":       {"v9", info("v1.2.3"), "v9 (go1.26)"},
		"a binary that has no build info at all": {"", &debug.BuildInfo{}, "devel ()"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(tt.linked, tt.info).String(); got != tt.want {
				t.Errorf("version = %q, want %q", got, tt.want)
			}
		})
	}
}
