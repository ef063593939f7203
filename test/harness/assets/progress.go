package assets

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// progress shows how far a compile is: on a terminal one line that renews itself, elsewhere a line every half minute.
type progress struct {
	out   *os.File
	title string
	total int // 0: unknown
	live  bool
	began time.Time
	done  atomic.Int64
	quit  chan struct{}
	ended chan struct{}
}

// startProgress prints the first line and starts the goroutine that prints the rest; stop ends it.
func startProgress(out *os.File, title string, total int) *progress {
	p := &progress{
		out: out, title: title, total: total, live: terminal(out), began: time.Now(),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}
	every := 30 * time.Second
	if p.live {
		every = 200 * time.Millisecond
	}
	go p.loop(every)
	return p
}

func (p *progress) loop(every time.Duration) {
	defer close(p.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.print()
		}
	}
}

func (p *progress) print() {
	if p.live {
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.line())
		return
	}
	fmt.Fprintln(p.out, p.line())
}

func (p *progress) line() string {
	done, elapsed := int(p.done.Load()), time.Since(p.began).Round(time.Second)
	switch {
	case p.total == 0 && done == 0:
		return fmt.Sprintf("  %s  %s", p.title, elapsed)
	case p.total == 0:
		return fmt.Sprintf("  %s  %d  %s", p.title, done, elapsed)
	case done >= p.total:
		return fmt.Sprintf("  %s  %d packages compiled, linking  %s", p.title, p.total, elapsed)
	default:
		return fmt.Sprintf("  %s  %d of %d packages compiled  %s", p.title, done, p.total, elapsed)
	}
}

// stop ends the printing; with keep the last word is that the work is done and how long it took, else a live line is wiped.
func (p *progress) stop(keep bool) {
	close(p.quit)
	<-p.ended
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	if keep {
		fmt.Fprintf(p.out, "  %s  built in %s (%d packages compiled)\n", p.title,
			time.Since(p.began).Round(time.Second), p.done.Load())
	}
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
