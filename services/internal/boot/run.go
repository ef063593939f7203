package boot

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Task is work that lasts as long as the service does.
type Task struct {
	Name string // for errors
	// Run returns when its context is done. A nil return before that ends this
	// task alone; an error ends all.
	Run func(context.Context) error
}

// Run runs the tasks, each in a goroutine, until ctx is done or one fails, then
// cancels the others, waits for all, and returns the first failure with the name
// of its task. Being cancelled is not a failure.
func Run(ctx context.Context, tasks ...Task) error {
	g := newGroup(ctx)
	for _, t := range tasks {
		g.start(g.ctx, t)
	}
	return g.wait()
}

// group is an errgroup whose context is at hand.
type group struct {
	*errgroup.Group
	ctx context.Context //nolint:containedctx // the life of the group itself
}

func newGroup(ctx context.Context) group {
	g, ctx := errgroup.WithContext(ctx)
	return group{g, ctx}
}

func (g group) start(ctx context.Context, t Task) {
	g.Go(func() error {
		err := t.Run(ctx)
		if err == nil || (ctx.Err() != nil && errors.Is(err, context.Canceled)) {
			return nil
		}
		return fmt.Errorf("%s: %w", t.Name, err)
	})
}

func (g group) wait() error { return g.Wait() }
