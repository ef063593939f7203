package kube

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// wrote remembers the resource version of the last write to each object, so that a cached copy from before it is known
// to be old. Safe for concurrent use; the zero value remembers nothing.
type wrote struct {
	mu       sync.Mutex
	versions map[objectKey]string
}

type objectKey struct {
	resource schema.GroupVersionResource
	name     string
}

func (w *wrote) note(r schema.GroupVersionResource, o *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = make(map[objectKey]string)
	}
	w.versions[objectKey{r, o.GetName()}] = o.GetResourceVersion()
}

// after says whether something was written after the copy was read. A copy that has seen the write ends the memory of it.
func (w *wrote) after(r schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := objectKey{r, o.GetName()}
	last, ok := w.versions[key]
	if !ok {
		return false
	}
	if n, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last); err != nil || n < 0 {
		return true
	}
	delete(w.versions, key)
	return false
}

func (w *wrote) forget(r schema.GroupVersionResource, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, objectKey{r, name})
}
