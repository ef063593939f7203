// Package jobs runs what takes time, in workers, for one owner: the goroutine that asks for it also gets the result.
//
// Work has a key. What goes on is not begun twice, what has failed waits ever longer, and nothing is queued for longer
// than from one pass to the next: an owner that still wants the work asks again, so nothing is done that was given up
// meanwhile. What has failed is tried again in turn, and leaves slots for what is new. Start reading at Pool.Do.
package jobs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

// Kind is a kind of work, of which a limited number goes on at once.
type Kind int

// The kinds. Calls to Kubernetes are limited apart from the others, so that a slow AWS keeps no node from being tainted.
const (
	Other Kind = iota
	Launch
	Evict
	Kube
	// Open is of nodes that open, which wait for their pods.
	Open
	// Ask is of questions to the API server, which have a rate: changes of nodes are not to wait behind them.
	Ask
	// End is of instances that end: nothing else keeps them waiting.
	End
	// Tag is of instances that are given tags.
	Tag
)

const (
	kubeWorkers  = 20
	askWorkers   = 3 // an API server may read all pods of the cluster for each
	openWorkers  = 500
	otherWorkers = 10
	endWorkers   = 500 // they share calls
	tagWorkers   = 4
	// Timeout bounds one piece of work: a connection that hangs must not hang what it was for.
	Timeout = 2 * time.Minute
	// memory is how long a piece of work is remembered after it might have been repeated.
	memory = 5 * time.Minute
)

// Job is a piece of work.
type Job struct {
	Key  string
	Kind Kind
	// Queue lets the work begin between this pass and the next, once a slot is free. It is for what comes by the
	// thousand and harms no one where it is no longer wanted just then: by passes alone no more than all slots would be
	// filled in each.
	Queue bool
	// For is what the work is for, where its time in line is of interest: see Pool.Waited. "" where not.
	For string
	// Run is called by a worker; Done, if set, by the owner with Run's result.
	Run  func(context.Context) error
	Done func(error)
	// RepeatAfter is how long after a success the same work is not repeated: until its effect can be seen.
	RepeatAfter time.Duration
	// First and Most bound the pauses after failures, which double.
	First, Most time.Duration
}

// Pool is the work of one owner. All of its methods but Wait are called by the owner's goroutine alone.
type Pool struct {
	agenda *agenda.Agenda
	// tasks are what is known of each piece of work that goes on, or went on lately, by its key; of are the keys by
	// their last part.
	tasks map[string]*task
	of    map[string][]string
	slots map[Kind]*slots
	// results are what the owner calls when a worker has finished. Nothing is sent once the work's context has ended.
	results chan func()
	workers sync.WaitGroup
	tidied  time.Time
	// lines are how long the work for something has waited for slots.
	lines map[string]*line
}

// line is how long the work for something had waited for slots at the time when it was last asked for and found none; zero
// once it has begun. Asked is when someone last asked for the work, or how long it has waited.
type line struct {
	waited    time.Duration
	at, asked time.Time
}

// task is what the owner knows of a piece of work: it runs, or when it may run again.
type task struct {
	running bool
	fails   int // in a row
	notYet  time.Time
}

// New makes a pool that launches and evicts that much at once. It asks the agenda for passes when paused work may go on.
func New(a *agenda.Agenda, launches, evictions int) *Pool {
	kinds := map[Kind]*slots{}
	for kind, n := range map[Kind]int{Launch: launches, Evict: evictions, Kube: kubeWorkers, Open: openWorkers, Ask: askWorkers, Other: otherWorkers, End: endWorkers, Tag: tagWorkers} {
		kinds[kind] = newSlots(n)
	}
	return &Pool{agenda: a, tasks: map[string]*task{}, of: map[string][]string{}, slots: kinds, results: make(chan func()), lines: map[string]*line{}}
}

// Do begins the job, unless the same work goes on, has to wait, or too much of its kind goes on: then a later pass asks
// for it again if it is still wanted. It says whether it began the job.
func (p *Pool) Do(ctx context.Context, j Job) bool {
	t := p.tasks[j.Key]
	if t == nil {
		t = &task{}
		p.add(j.Key, t)
	}
	if t.running || !p.agenda.Due(t.notYet) {
		return false
	}
	slots := p.slots[j.Kind]
	if !slots.take(t, p.agenda) {
		if j.For != "" {
			p.stand(j.For)
		}
		slots.queue(waiting{ctx: ctx, job: j, task: t})
		return false // when the work that holds the slot ends, there is another pass
	}
	p.begin(waiting{ctx, j, t, t.fails > 0}, slots)
	return true
}

// begin begins work that has a slot.
func (p *Pool) begin(w waiting, s *slots) {
	p.leave(w.job.For)
	w.task.running = true
	p.Go(func() {
		err := run(w.ctx, w.job)
		s.give(w.again)
		p.Hand(w.ctx, func() {
			finish(w.job, w.task, err)
			for next, ok := s.next(p.agenda); ok; next, ok = s.next(p.agenda) {
				p.begin(next, s)
			}
		})
	})
}

// stand notes that the work for something waits for a slot, leave that it does no longer.
func (p *Pool) stand(what string) {
	l := p.lines[what]
	if l == nil {
		l = &line{}
		p.lines[what] = l
	}
	if !l.at.IsZero() {
		l.waited += p.agenda.Now().Sub(l.at)
	}
	l.at, l.asked = p.agenda.Now(), p.agenda.Now()
}

func (p *Pool) leave(what string) {
	if l := p.lines[what]; l != nil {
		l.at, l.asked = time.Time{}, p.agenda.Now()
	}
}

// Waited is how long the work for something has waited for slots. What was not asked for meanwhile has not waited.
func (p *Pool) Waited(what string) time.Duration {
	if l := p.lines[what]; l != nil {
		l.asked = p.agenda.Now()
		return l.waited
	}
	return 0
}

// run runs a job for as long as it may take.
func run(ctx context.Context, j Job) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return j.Run(ctx)
}

func finish(j Job, t *task, err error) {
	t.running = false
	if err == nil {
		t.fails, t.notYet = 0, time.Now().Add(j.RepeatAfter)
	} else {
		pause := j.Most
		if t.fails < 20 {
			pause = min(j.Most, j.First<<t.fails)
		}
		t.fails++
		t.notYet = time.Now().Add(pause)
	}
	if j.Done != nil {
		j.Done(err)
	}
}

// Go runs f in a goroutine that Wait waits for.
func (p *Pool) Go(f func()) { p.workers.Go(f) }

// Hand lets the owner call f, and says whether it will: not once ctx has ended. Workers call it.
func (p *Pool) Hand(ctx context.Context, f func()) bool {
	select {
	case p.results <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// Results are what the owner has to call.
func (p *Pool) Results() <-chan func() { return p.results }

// Wait waits for the workers to end. Their contexts must have ended.
func (p *Pool) Wait() { p.workers.Wait() }

// LogFailure is the Done of the job with that key if its failure only has to be known: the next pass asks for it again.
func (p *Pool) LogFailure(ctx context.Context, log *slog.Logger, key, what string, about ...slog.Attr) func(error) {
	return func(err error) {
		if err != nil && Telling(p.Fails(key)) {
			attrs := append([]slog.Attr{slog.String("work", what), slog.Any("error", err)}, about...)
			log.LogAttrs(ctx, slog.LevelWarn, "work failed", attrs...)
		}
	}
}

// Fails is how often in a row the work has failed.
func (p *Pool) Fails(key string) int {
	if t := p.tasks[key]; t != nil {
		return t.fails
	}
	return 0
}

// Telling says whether the last of so many failures in a row is worth a line in the log: the first is, the second, the
// fourth, the eighth and so on. What a webhook refuses of a thousand objects is tried again for days.
func Telling(fails int) bool { return fails&(fails-1) == 0 }

// Inherit lets work under a new key, if it is new, wait as long as a repetition of the old one would.
func (p *Pool) Inherit(key, from string) {
	if t := p.tasks[from]; t != nil && p.tasks[key] == nil {
		p.add(key, &task{fails: t.fails, notYet: t.notYet})
	}
}

func (p *Pool) add(key string, t *task) {
	p.tasks[key] = t
	last := lastPart(key)
	p.of[last] = append(p.of[last], key)
}

// lastPart is a key from its last slash on.
func lastPart(key string) string { return key[max(0, strings.LastIndexByte(key, '/')):] }

// Forget drops what is remembered of the work whose key has that as its last part, with the slash before it, and of the
// work for it.
func (p *Pool) Forget(last string) {
	delete(p.lines, last)
	for _, key := range p.of[last] {
		delete(p.tasks, key)
	}
	delete(p.of, last)
}

// Tidy forgets, from time to time, work that was not asked for in a while, because most is done once. It says whether it
// was time to.
func (p *Pool) Tidy() bool {
	now := p.agenda.Now()
	if now.Before(p.tidied.Add(memory)) {
		return false
	}
	p.tidied = now
	for key, t := range p.tasks {
		if t.running || !now.After(t.notYet.Add(memory)) {
			continue
		}
		delete(p.tasks, key)
		last := lastPart(key)
		if p.of[last] = slices.DeleteFunc(p.of[last], func(k string) bool { return k == key }); len(p.of[last]) == 0 {
			delete(p.of, last)
		}
	}
	// Who forgets what has ended knows its last name alone: each attempt of a launch of several has one of its own.
	maps.DeleteFunc(p.lines, func(_ string, l *line) bool { return now.After(l.asked.Add(memory)) })
	return true
}
