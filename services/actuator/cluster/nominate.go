package cluster

import (
	"context"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Nominator brings pods without a node to where they are expected: it binds them, or tells the scheduler.
// Implementations are safe for concurrent use.
type Nominator interface { //nolint:interfacebloat // two ways to the same end, and what both need
	// CanNominate says whether the cluster lets Kerf do either, whether it may bind, and in words what speaks for or
	// against it. An error means that it could not be found out now.
	CanNominate(ctx context.Context) (can, bind bool, why string, err error)
	// Unbound returns a pod that has no node, as the caches hold it; false where there is none of that name.
	Unbound(id model.PodID) (UnboundPod, bool)
	// Waiting are the pods without a node of the controller with that uid, those first that were made first.
	Waiting(owner string) []UnboundPod
	// Bindable says of a pod without a node whether nothing but the labels, taints and capacity of a node and the pods
	// around decide whether it may run there, and what it asks for. It is false of pods with volumes, devices or host
	// ports.
	Bindable(id model.PodID) (requests model.Amounts, is bool)
	// Bind binds pods, each on its own, and returns those that it has left alone. Left are those that the node refuses,
	// those that are not as they were seen any more, because the scheduler was quicker, say, or all where Kerf may not
	// bind pods. Wait are those that have a rule about other pods, or others about them, which does not hold now: it
	// may once these have nodes. The error joins those that failed; these are left, too.
	Bind(ctx context.Context, list []Nomination) (left, wait []Nomination, err error)
	// Nominees are the pods without a node that Kerf has nominated, sorted by id.
	Nominees() []UnboundPod
	// Nominate writes nominations, each on its own; the error joins those that failed. A pod that is not as it was seen any
	// more is left alone: it has a node, another nomination, or is another pod of that name. That is no error.
	Nominate(ctx context.Context, list []Nomination) error
}

// UnboundPod is a pod without a node.
type UnboundPod struct {
	ID  model.PodID
	UID string
	// Owner is the uid of the controller that makes it; "" for none.
	Owner string
	// Nominated is the node that the pod is nominated to; "" for none. ByKerf says that Kerf did that. Other
	// nominations are preemption's, and not to be touched.
	Nominated model.NodeName
	ByKerf    bool
}

// Nomination is what a pod's nomination is to be brought to.
type Nomination struct {
	// Pod is as it was seen.
	Pod UnboundPod
	// Node is where it is to be nominated to; "" takes the nomination away.
	Node model.NodeName
}
