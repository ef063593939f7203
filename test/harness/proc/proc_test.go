package proc_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/test/harness/proc"
)

// within fails the test unless ok becomes true soon. Real processes need real time.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited 10s for %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func shell(t *testing.T, script string) *proc.Process {
	t.Helper()
	p, err := proc.Start(proc.Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"),
		Grace: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func says(p *proc.Process, line string) func() bool {
	return func() bool { return strings.Join(p.Tail(1), "") == line }
}

func TestAProcessLives(t *testing.T) {
	t.Run("a stopped process may tidy up and starts again with the same log", func(t *testing.T) {
		p := shell(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
		within(t, "its first words", says(p, "up"))
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		if !says(p, "bye")() {
			t.Errorf("log %q does not end with its bye", p.Tail(5))
		}
		if p.Running() {
			t.Error("runs after Stop")
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		within(t, "its second life", says(p, "up"))
	})
	t.Run("one that ignores SIGTERM is killed, and that is said", func(t *testing.T) {
		p := shell(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
		within(t, "its first words", says(p, "up"))
		if err := p.Stop(); err == nil {
			t.Error("no word about the kill")
		}
		if p.Running() {
			t.Error("runs after Stop")
		}
	})
	t.Run("a crash is told with the end of the log", func(t *testing.T) {
		p := shell(t, "echo the disk is on fire; exit 3")
		<-p.Done()
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), "the disk is on fire") {
			t.Errorf("error %v does not show the log", err)
		}
	})
	t.Run("a process that runs cannot be started twice", func(t *testing.T) {
		p := shell(t, "sleep 60")
		if err := p.Start(); err == nil {
			t.Error("started twice")
		}
	})
	t.Run("a program that does not exist is an error", func(t *testing.T) {
		_, err := proc.Start(proc.Spec{Name: "x", Path: "/does/not/exist", Log: filepath.Join(t.TempDir(), "log")})
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want %v", err, os.ErrNotExist)
		}
	})
}

// orphanEnv makes this test binary play the parent that dies.
const orphanEnv = "KERF_TEST_ORPHAN_LOG"

func TestNothingIsLeftWhenTheParentDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	if log := os.Getenv(orphanEnv); log != "" {
		p, err := proc.Start(proc.Spec{Name: "child", Path: "/bin/sleep", Args: []string{"60"}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(strconv.Itoa(p.Pid()) + "\n") //nolint:errcheck // a lost line fails the parent
		select {}
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingIsLeftWhenTheParentDies$")
	parent.Env = append(os.Environ(), orphanEnv+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	within(t, "the child's end", func() bool { return gone(child) })
}

// gone says whether no process has the id any more; a dead one that no one has waited for counts as gone.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestPortsAreFreeAndDifferent(t *testing.T) {
	ports, err := proc.Ports(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		seen[p] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d different ports in %v, want 20", len(seen), ports)
	}
}
