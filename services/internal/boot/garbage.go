package boot

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much garbage there may be before it is collected. Go's own rule, as much as there is in use, collects a small
// heap over and over, and leaves half of a large one garbage. Here it is garbageLeast, or a quarter of what is in use
// where that is more, and half of what is in use above garbageLarge, where collecting would be a third to a half of
// what a service computes.
const (
	garbageLeast = 4 << 20
	garbageLarge = 96 << 20
	// garbageLook is how often is asked whether a service rests. It does when it has allocated less than garbageRest
	// since the time before. What is left of its work is collected then, where garbageLeft of memory may come back:
	// else it would be held until the next. Less does not pay for marking all that is in use, and the next work takes
	// it from the kernel again, page by page.
	garbageLook = 5 * time.Second
	garbageRest = garbageLeast / 4
	garbageLeft = garbageLeast * 2
)

// garbagePercent is that as GOGC has it. It is no more than 200: GOGC counts for 4 MiB where there is less in use.
func garbagePercent(inUse uint64) int {
	if inUse > garbageLarge {
		return 50
	}
	return int(min(max(garbageLeast*100/max(inUse, 1), 25), 200))
}

// paceGC sets the percentage after each collection, and collects when the service rests, until ctx ends.
func paceGC(ctx context.Context) {
	figures := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, // garbage included
		{Name: "/memory/classes/heap/free:bytes"},    // not given back yet
	}
	collected := make(chan struct{}, 1)
	tellCollected(collected)
	look := time.NewTicker(garbageLook)
	defer look.Stop()
	percent, r := 0, rest{}
	for {
		metrics.Read(figures)
		if want := garbagePercent(figures[0].Value.Uint64()); want != percent { // setting it stops the world
			debug.SetGCPercent(want)
			percent = want
		}
		select {
		case <-ctx.Done():
			return
		case <-collected:
			tellCollected(collected)
			continue
		case <-look.C:
		}
		metrics.Read(figures)
		switch r.look(figures[0].Value.Uint64(), figures[1].Value.Uint64(), figures[2].Value.Uint64()+figures[3].Value.Uint64()) {
		case collectNothing:
		case collectTwice:
			runtime.GC()
			debug.FreeOSMemory() // it collects, too
		case collectOnce:
			debug.FreeOSMemory()
		}
	}
}

// rest is what was seen of a service at the last look.
type rest struct {
	// allocated is how much it had allocated since it started; rested says that it has rested before.
	allocated uint64
	rested    bool
}

// collection is what is to be done at a look.
type collection int

const (
	collectNothing collection = iota
	collectOnce
	// collectTwice is for the end of the start: what a sync.Pool holds outlives one collection, and the buffers of a
	// catalogue that was sent are megabytes.
	collectTwice
)

// look says what to collect where so many bytes are live, were allocated since the start, and are held, with garbage
// and what is free.
func (r *rest) look(live, allocated, held uint64) collection {
	rests := allocated-r.allocated < garbageRest
	r.allocated = allocated
	switch {
	case !rests:
		return collectNothing
	case !r.rested && allocated > garbageLeft:
		r.rested = true
		return collectTwice
	case held > live+garbageLeft:
		r.rested = true
		return collectOnce
	}
	return collectNothing
}

// tellCollected sends on c once, after the next collection: it makes garbage whose end is told.
func tellCollected(c chan<- struct{}) {
	runtime.AddCleanup(new([16]byte), func(c chan<- struct{}) { c <- struct{}{} }, c)
}
