package convert

import (
	"fmt"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// PoolFacts are what is known of a node pool beside its own object. The zero value knows nothing.
type PoolFacts struct {
	// Problem is what was wrong when the object was read; nil when nothing was.
	Problem error
	// NodeClasses says which EC2NodeClass objects exist; nil where that is not known.
	NodeClasses func(name string) bool
	// Devices are the rules by which the pool's declared devices are read; nil reads none.
	Devices *device.Rules
}

// NodePool converts a pool as package reader reads it, with its devices. It is not ready either when it is being deleted,
// or when its class does not exist.
func NodePool(p *karpenterv1.NodePool, facts PoolFacts) snapshot.Object {
	out := core.NodePool(reader.NodePool(p, facts.Problem))
	notReady := func(code clusterpb.ReasonCode, format string, args ...any) {
		if out.GetNotReady() == nil {
			out.NotReady = &clusterpb.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: &clusterpb.ObjectRef{Kind: "nodepool", Name: out.GetName()}}
		}
	}
	const invalid = clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID
	if p.DeletionTimestamp != nil {
		out.NotReady = nil // whatever is wrong with it
		notReady(clusterpb.ReasonCode_REASON_CODE_BEING_DELETED, "the pool is being deleted")
	}
	var err error
	if out.Devices, err = device.Templates(p.Annotations[labels.Devices], facts.Devices); err != nil {
		notReady(invalid, "metadata.annotations[%s]: %s", labels.Devices, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if class := out.GetNodeClass(); facts.NodeClasses != nil && !facts.NodeClasses(class) {
		notReady(clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_FOUND,
			"spec.template.spec.nodeClassRef.name: there is no EC2NodeClass %s", class)
	}
	return wire.Object(snapshot.NodePool, out.GetName(), out)
}
