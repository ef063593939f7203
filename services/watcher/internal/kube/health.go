package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/watches"
	"github.com/kerf-dev/kerf/services/watcher/internal/sight"
)

// everyResource stands for trouble that no single resource has.
const everyResource = ""

// health words what goes wrong between an informer and the API server, once for each kind of trouble. The informers
// themselves try again for ever.
type health struct {
	log   *slog.Logger
	sight *sight.Sight

	mu   sync.Mutex
	said map[string]string // the last trouble by resource
}

// failed is called by the informers' reflectors.
func (h *health) failed(ctx context.Context, resource string, err error) {
	if !watches.Trouble(ctx, err) {
		return
	}
	h.sight.Failed(resource, err)
	subject, trouble := resource, err.Error()
	if s := apierrors.APIStatus(nil); !errors.As(err, &s) {
		// Not the API server's word: all resources have the same trouble, each with words of its own.
		subject, trouble = everyResource, everyResource
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said == nil {
		h.said = map[string]string{}
	}
	if h.said[subject] == trouble {
		return
	}
	h.said[subject] = trouble
	h.log.WarnContext(ctx, "can't read from the API server; trying again", "resource", resource,
		"advice", advice(err), telemetry.KeyError, err)
}

// works notes that a resource has brought news, so that its next trouble is worth a line again.
func (h *health) works(resource string) {
	h.sight.Works(resource)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.said, resource)
	delete(h.said, everyResource)
}

// advice says what a user can do about it.
func advice(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "the API server does not serve this resource: install the CustomResourceDefinitions of deploy/crds"
	case apierrors.IsForbidden(err):
		return "grant get, list and watch, as deploy/rbac/rbac.yaml does"
	case apierrors.IsUnauthorized(err):
		return "the API server does not accept these credentials"
	default:
		return "check that the API server can be reached"
	}
}
