package bench

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/test/bench/workload"
)

// Phase is what a part of the work took. CPU is user and system time of the whole process, garbage collection included.
type Phase struct {
	WallMs   float64
	CPUMs    float64
	AllocMiB float64
	// PeakHeapMiB is the most that was seen in use, garbage that is not yet collected included; BaseHeapMiB is what was in
	// use before.
	PeakHeapMiB float64
	BaseHeapMiB float64
	Mallocs     uint64
}

// measure runs f after a garbage collection and says what it took.
func measure(f func() error) (Phase, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := watchHeap()
	cpu, err := cpuTime()
	if err != nil {
		peak.stop()
		return Phase{}, err
	}
	wall := time.Now()
	err = f()
	took := time.Since(wall)
	used, cpuErr := cpuTime()
	top := peak.stop()
	runtime.ReadMemStats(&after)
	if err == nil {
		err = cpuErr
	}
	return Phase{
		WallMs: milliseconds(took), CPUMs: milliseconds(used - cpu),
		AllocMiB:    float64(after.TotalAlloc-before.TotalAlloc) / float64(workload.MiB),
		PeakHeapMiB: float64(max(top, after.HeapAlloc)) / float64(workload.MiB), BaseHeapMiB: float64(before.HeapAlloc) / float64(workload.MiB),
		Mallocs: after.Mallocs - before.Mallocs,
	}, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// heapWatch looks at the heap every few milliseconds, from a goroutine that stop ends.
type heapWatch struct {
	peak atomic.Uint64
	done chan struct{}
	wait sync.WaitGroup
}

// watchHeap starts the goroutine of a heapWatch.
func watchHeap() *heapWatch {
	const every = 5 * time.Millisecond
	w := &heapWatch{done: make(chan struct{})}
	w.wait.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			w.peak.Store(max(w.peak.Load(), sample[0].Value.Uint64()))
			select {
			case <-tick.C:
			case <-w.done:
				return
			}
		}
	})
	return w
}

func (w *heapWatch) stop() uint64 {
	close(w.done)
	w.wait.Wait()
	return w.peak.Load()
}
