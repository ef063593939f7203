package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// manifests reads Kubernetes' own objects, by the conversion that the watcher uses on a live cluster. Node pools and node
// classes are written as lines of the snapshot.
func (b *builder) manifests(text string) error {
	cluster := manifests.Cluster{}
	decoder := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		kjson.SerializerOptions{Yaml: true, Strict: true})
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader([]byte(text))))
	defer documents.Close() //nolint:errcheck // it reads from memory
	buffer := make([]byte, len(text)+1)
	for i := 1; ; i++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s, document %d: %w", Manifests, i, err)
		}
		if blank(buffer[:n]) {
			continue
		}
		object, err := runtime.Decode(decoder, buffer[:n])
		if err != nil {
			return fmt.Errorf("%s, document %d: %w", Manifests, i, err)
		}
		if err := cluster.Add(object, nil); err != nil {
			return fmt.Errorf("%s, document %d: %w", Manifests, i, err)
		}
	}
	// Objects' times are those of the pods that the lines make.
	events, err := cluster.Events(b.in.Now.Add(-time.Second))
	if err != nil {
		return fmt.Errorf("%s: %w", Manifests, err)
	}
	whole := wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{})
	request := convert.Request(b.in)
	in, err := convert.Input(whole, request.GetDecide())
	if err != nil {
		return fmt.Errorf("%s: %w", Manifests, err)
	}
	s, from := &b.in.Snapshot, in.Snapshot
	for _, c := range from.PodClasses {
		b.classes[c.ID] = true
	}
	s.PodClasses, s.DaemonSets, s.Nodes = from.PodClasses, from.DaemonSets, from.Nodes
	s.Namespaces, s.PodDisruptionBudgets = from.Namespaces, from.PodDisruptionBudgets
	for _, p := range from.Pods {
		b.addPod(p)
	}
	return nil
}
