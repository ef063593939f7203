// Package proc runs programs beside a test or the demo: it starts them, writes what they say to a file, stops or kills
// them, starts them again on the same terms, and sees to it that none is left over when the test itself dies.
//
// It knows nothing of what the programs are; package harness runs a cluster with it, the demo its services. Start
// reading at Start.
package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name is what messages call it.
	Name string
	// Path is the program and Args its arguments, without the program itself.
	Path string
	Args []string
	// Env is added to this process's environment and wins over it.
	Env []string
	// Dir is the working directory; empty: this process's.
	Dir string
	// Log is the file that its output is appended to, over all restarts.
	Log string
	// Grace is how long Stop waits after SIGTERM before SIGKILL; zero: ten seconds.
	Grace time.Duration
}

// Process is a program that was started and perhaps ended, was killed, or was started again. Safe for concurrent use.
type Process struct {
	spec Spec

	mu  sync.Mutex
	run *run
}

// run is one life of the process. done is closed when it has ended; err may be read after that.
type run struct {
	pid  int
	done chan struct{}
	err  error
}

// Start runs the program and returns once it exists; whether it is ready is its own matter.
func Start(spec Spec) (*Process, error) {
	if spec.Grace == 0 {
		spec.Grace = 10 * time.Second
	}
	p := &Process{spec: spec}
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Start runs the program again after it has ended. It is an error while it still runs.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && !ended(p.run) {
		return fmt.Errorf("start %s: it runs already, pid %d", p.spec.Name, p.run.pid)
	}
	log, err := os.OpenFile(p.spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	cmd := exec.Command(p.spec.Path, p.spec.Args...) //nolint:gosec // running what it is told is its purpose; Stop ends it
	cmd.Dir, cmd.Env = p.spec.Dir, append(os.Environ(), p.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	r := &run{done: make(chan struct{})}
	started := make(chan error)
	go live(cmd, r, log, started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	p.run = r
	return nil
}

// live starts the program and waits for its end. Both happen on one thread that nothing else uses: the kernel sends the
// parent-death signal when the thread that started the child ends, not when the whole process does.
func live(cmd *exec.Cmd, r *run, log io.Closer, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer log.Close()      //nolint:errcheck // the child has its own descriptor
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	r.pid = cmd.Process.Pid
	started <- nil
	r.err = cmd.Wait()
	close(r.done)
}

// Stop asks the program to end, and kills it when its grace is over. Stopping what has ended is no error.
func (p *Process) Stop() error {
	r := p.current()
	if ended(r) {
		return nil
	}
	if err := signal(r, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.spec.Name, err)
	}
	timer := time.NewTimer(p.spec.Grace)
	defer timer.Stop()
	select {
	case <-r.done:
		return nil
	case <-timer.C:
		if err := p.Kill(); err != nil {
			return err
		}
		return fmt.Errorf("stop %s: still there %s after SIGTERM, killed; its log: %s", p.spec.Name, p.spec.Grace, p.spec.Log)
	}
}

// Kill ends the program as a crash would, with SIGKILL, and returns when it is gone.
func (p *Process) Kill() error {
	r := p.current()
	if ended(r) {
		return nil
	}
	if err := signal(r, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p.spec.Name, err)
	}
	<-r.done
	return nil
}

// Restart stops the program if it runs and starts it again.
func (p *Process) Restart() error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.Start()
}

// Running says whether the program is alive.
func (p *Process) Running() bool { return !ended(p.current()) }

// Pid is the process id of the latest life.
func (p *Process) Pid() int { return p.current().pid }

// Done is closed when the present life of the program ends.
func (p *Process) Done() <-chan struct{} { return p.current().done }

// Err is nil while the program runs and after it ended with code 0; else it says how it ended and shows the end of its log.
func (p *Process) Err() error {
	r := p.current()
	if !ended(r) || r.err == nil {
		return nil
	}
	return fmt.Errorf("%s ended: %w; the end of %s:\n%s", p.spec.Name, r.err, p.spec.Log, strings.Join(p.Tail(15), "\n"))
}

// Name is what the spec calls the program.
func (p *Process) Name() string { return p.spec.Name }

// Log is the path of the file that holds what the program wrote.
func (p *Process) Log() string { return p.spec.Log }

// tailWindow is how far back Tail looks, in bytes.
const tailWindow = 64 << 10

// Tail is the last n lines of the log, or fewer; unreadable is none.
func (p *Process) Tail(n int) []string {
	f, err := os.Open(p.spec.Log)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailWindow), tailWindow))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

func ended(r *run) bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// signal reaches the program's whole process group; that it is gone already is no error.
func signal(r *run, sig syscall.Signal) error {
	if err := syscall.Kill(-r.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
