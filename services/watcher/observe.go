package watcher

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/watcher/internal/kube"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// ObserverConfig is what an Observer works with. Log and Now must be set.
type ObserverConfig struct {
	// Kubeconfig and Context say which cluster, as kubeconfig.Load has it.
	Kubeconfig, Context string
	// UserAgent is what the API server sees.
	UserAgent string
	// Client and Dynamic, if both are set, are used instead of Kubeconfig.
	Client  kubeclient.Reader
	Dynamic dynamic.Interface
	Log     *slog.Logger
	Now     func() time.Time
}

// Observer reads a cluster as the watcher does, and no more: it knows no planner and no actuator, and drives nothing. What
// an actuator would say of claims and node classes, its user has to make of the objects. Make it with NewObserver.
type Observer struct{ source *kube.Source }

// NewObserver sets an observer up; nothing is read before Run.
func NewObserver(cfg ObserverConfig) (*Observer, error) {
	client, dyn := cfg.Client, cfg.Dynamic
	if client == nil || dyn == nil {
		rest, err := kube.REST(cfg.Kubeconfig, cfg.Context, cfg.UserAgent)
		if err != nil {
			return nil, err
		}
		if client, dyn, err = kube.Clients(rest); err != nil {
			return nil, err
		}
	}
	source, err := kube.New(kube.Config{Client: client, Dynamic: dyn, Log: cfg.Log, Now: cfg.Now})
	if err != nil {
		return nil, err
	}
	return &Observer{source}, nil
}

// Run sends what the API server says until ctx is done; the first batch is whole. It starts goroutines and waits for them.
func (o *Observer) Run(ctx context.Context, out chan<- snapshot.Batch) error {
	return o.source.Run(ctx, out)
}

// NodePools lists the node pools as they are now, by name. They must not be changed.
func (o *Observer) NodePools() []*karpenterv1.NodePool { return o.source.Pools() }

// NodeClasses is NodePools for EC2NodeClasses.
func (o *Observer) NodeClasses() []*awsv1.EC2NodeClass { return o.source.Classes() }

// NodeClaims is NodePools for NodeClaims of any controller.
func (o *Observer) NodeClaims() []*karpenterv1.NodeClaim { return o.source.Claims() }
