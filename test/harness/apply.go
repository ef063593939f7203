package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager names the tests in what they apply.
const fieldManager = "kerf-test"

// kindTimeout is how long an object may wait for its kind, which a definition applied just before it brings.
const kindTimeout = 15 * time.Second

// applier applies manifests. Its mapper remembers the kinds that the server has and is asked by one at a time.
type applier struct {
	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
	client dynamic.Interface
}

func newApplier(config *rest.Config) (*applier, error) {
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &applier{mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)), client: client}, nil
}

// Apply applies YAML documents as the admin, in their order, by server-side apply; objects without a namespace go to
// "default". A document may use a kind that a document before it defines.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	objects, err := decode(manifests)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	for i := range objects {
		o := &objects[i]
		if err := c.applier.apply(ctx, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// ApplyFile is Apply for a file, or for all *.yaml of a folder in the order of their names, its kustomization left out.
func (c *Cluster) ApplyFile(ctx context.Context, path string) error {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			return err
		}
		slices.Sort(files)
		files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "kustomization.yaml" })
	}
	for _, file := range files {
		manifests, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("apply: %w", err)
		}
		if err := c.Apply(ctx, manifests); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func decode(manifests []byte) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var o unstructured.Unstructured
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(o.Object) > 0 { // else only comments between two separators
			objects = append(objects, o)
		}
	}
}

func (a *applier) apply(ctx context.Context, o *unstructured.Unstructured) error {
	mapping, err := a.mapping(ctx, o.GroupVersionKind())
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if o.GetNamespace() == "" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
		resource = a.client.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	_, err = resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// mapping asks which resource holds the kind, and asks the server anew for as long as a new kind may need to appear.
func (a *applier) mapping(ctx context.Context, kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var mapping *meta.RESTMapping
	err := Until(ctx, "the API server to know "+kind.String(), kindTimeout, func(context.Context) (string, bool) {
		m, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			a.mapper.Reset()
			return err.Error(), false
		}
		mapping = m
		return "", true
	})
	return mapping, err
}
