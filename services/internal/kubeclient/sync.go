package kubeclient

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Synced says whether an informer has read all objects of a resource.
type Synced struct {
	Resource string
	Has      cache.InformerSynced
}

const (
	firstWord = 10 * time.Second // how long objects are waited for in silence
	nextWord  = time.Minute
)

// WaitForSync waits until all informers have read their objects, or until ctx ends, and says whether they have. When
// that takes long, a line in the log names what is missing, every minute: where nothing listens at the API server's
// address, informers themselves try again without a word.
func WaitForSync(ctx context.Context, log *slog.Logger, informers []Synced) bool {
	all := make([]cache.InformerSynced, len(informers))
	for i, informer := range informers {
		all[i] = informer.Has
	}
	synced := make(chan struct{})
	defer close(synced)
	go func() {
		for wait := firstWord; ; wait = nextWord {
			select {
			case <-synced:
				return
			case <-ctx.Done():
				return
			case <-time.After(wait):
				log.InfoContext(ctx, "waiting for the API server", "missing", missing(informers))
			}
		}
	}()
	return cache.WaitForCacheSync(ctx.Done(), all...)
}

func missing(informers []Synced) []string {
	var resources []string
	for _, informer := range informers {
		if !informer.Has() {
			resources = append(resources, informer.Resource)
		}
	}
	return resources
}
