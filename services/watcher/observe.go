package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient"
	"github.com/kerf-dev/kerf/services/watcher/internal/kube"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// firstAnswer is how long an API server may take for the first answer.
const firstAnswer = 10 * time.Second

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
type Observer struct {
	source  *kube.Source
	dynamic dynamic.Interface
}

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
	return &Observer{source, dyn}, nil
}

// Run sends what the API server says until ctx is done; the first batch is whole. It starts goroutines and waits for them.
// An API server that can't be asked for node pools at first is an error: informers would try again for ever.
func (o *Observer) Run(ctx context.Context, out chan<- snapshot.Batch) error {
	if err := o.ask(ctx); err != nil {
		return err
	}
	return o.source.Run(ctx, out)
}

func (o *Observer) ask(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	_, err := o.dynamic.Resource(karpenterv1.NodePoolGVR()).List(within, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsNotFound(err):
		return errors.New("the cluster has no NodePools: the definitions of Karpenter, or of Kerf, are not installed there")
	case within.Err() != nil:
		return fmt.Errorf("the API server has not answered for %s", firstAnswer)
	default:
		return fmt.Errorf("list node pools: %w", err)
	}
}

// NodePools lists the node pools as they are now, by name. They must not be changed.
func (o *Observer) NodePools() []*karpenterv1.NodePool { return o.source.Pools() }

// NodeClasses is NodePools for EC2NodeClasses.
func (o *Observer) NodeClasses() []*awsv1.EC2NodeClass { return o.source.Classes() }

// NodeClaims is NodePools for NodeClaims of any controller.
func (o *Observer) NodeClaims() []*karpenterv1.NodeClaim { return o.source.Claims() }
