package shadow

import (
	"context"

	"github.com/kerf-dev/kerf/services/watcher"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Observed is the Source that the watcher's observer is.
func Observed(o *watcher.Observer) Source { return observed{o} }

type observed struct{ o *watcher.Observer }

// Run implements Source.
func (s observed) Run(ctx context.Context, out chan<- snapshot.Batch) error { return s.o.Run(ctx, out) }

// Objects implements Source.
func (s observed) Objects() Objects {
	return Objects{Pools: s.o.NodePools(), Classes: s.o.NodeClasses(), Claims: s.o.NodeClaims()}
}
