// Package fenced keeps a leader that leads no longer from doing anything in AWS or Kubernetes: each call that changes
// something asks the store first. A process that was paused, and whose successor has decided otherwise meanwhile, is
// stopped by it though it has nothing to write.
//
// It must never know what a call is for. What is only read is not asked about. Start reading at Leads, then
// Cloud.
package fenced

import (
	"context"
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

// Leads asks the store whether the leader still leads: nil when it does. It is called by many goroutines.
type Leads func(context.Context) error

func (l Leads) first(ctx context.Context, call func() error) error {
	if err := l(ctx); err != nil {
		return fmt.Errorf("not done, because it is not certain that this leader still leads: %w", err)
	}
	return call()
}

// answered is first for a call that has an answer.
func answered[T any](ctx context.Context, l Leads, call func() (T, error)) (answer T, err error) {
	err = l.first(ctx, func() (err error) {
		answer, err = call()
		return err
	})
	return answer, err
}

// Cloud fences what launches and ends instances.
func Cloud(next cloud.Cloud, l Leads) cloud.Cloud { return fencedCloud{next, l} }

type fencedCloud struct {
	cloud.Cloud
	leads Leads
}

// Launch implements cloud.Cloud.
func (f fencedCloud) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	return answered(ctx, f.leads, func() ([]cloud.Instance, error) { return f.Cloud.Launch(ctx, r) })
}

// Tag implements cloud.Cloud.
func (f fencedCloud) Tag(ctx context.Context, i cloud.Instance) error {
	return f.leads.first(ctx, func() error { return f.Cloud.Tag(ctx, i) })
}

// Terminate implements cloud.Cloud.
func (f fencedCloud) Terminate(ctx context.Context, ids ...string) error {
	return f.leads.first(ctx, func() error { return f.Cloud.Terminate(ctx, ids...) })
}

// Classes fences what is made and deleted for classes.
func Classes(next cloud.Classes, l Leads) cloud.Classes { return fencedClasses{next, l} }

type fencedClasses struct {
	cloud.Classes
	leads Leads
}

// Resolve implements cloud.Classes. It may make an instance profile.
func (f fencedClasses) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return answered(ctx, f.leads, func() (cloud.Class, error) { return f.Classes.Resolve(ctx, s) })
}

// Release implements cloud.Classes.
func (f fencedClasses) Release(ctx context.Context, s cloud.ClassSpec) error {
	return f.leads.first(ctx, func() error { return f.Classes.Release(ctx, s) })
}

// Sweep implements cloud.Classes.
func (f fencedClasses) Sweep(ctx context.Context, unused time.Duration) ([]string, error) {
	return answered(ctx, f.leads, func() ([]string, error) { return f.Classes.Sweep(ctx, unused) })
}

// Cluster fences what changes nodes, pods and what users see.
func Cluster(next cluster.Cluster, l Leads) cluster.Cluster { return fencedCluster{next, l} }

type fencedCluster struct {
	cluster.Cluster
	leads Leads
}

// UpdateNode implements cluster.Cluster.
func (f fencedCluster) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	return f.leads.first(ctx, func() error { return f.Cluster.UpdateNode(ctx, c) })
}

// Evict implements cluster.Cluster.
func (f fencedCluster) Evict(ctx context.Context, e cluster.Eviction) error {
	return f.leads.first(ctx, func() error { return f.Cluster.Evict(ctx, e) })
}

// Publish implements cluster.Cluster.
func (f fencedCluster) Publish(ctx context.Context, p cluster.Publication) error {
	return f.leads.first(ctx, func() error { return f.Cluster.Publish(ctx, p) })
}

// Nominator fences what binds pods: a node that a successor drains meanwhile would take them. Nominations it lets pass:
// they are hints, which the successor takes back, and written many times a second.
func Nominator(next cluster.Nominator, l Leads) cluster.Nominator {
	if next == nil {
		return nil
	}
	return fencedNominator{next, l}
}

type fencedNominator struct {
	cluster.Nominator
	leads Leads
}

// Bind implements cluster.Nominator.
func (f fencedNominator) Bind(ctx context.Context, list []cluster.Nomination) (left, wait []cluster.Nomination, err error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	left = list
	err = f.leads.first(ctx, func() (err error) {
		left, wait, err = f.Nominator.Bind(ctx, list)
		return err
	})
	return left, wait, err
}

// Replicas fences what says which pods are deleted first.
func Replicas(next cluster.Replicas, l Leads) cluster.Replicas {
	if next == nil {
		return nil
	}
	return fencedReplicas{next, l}
}

type fencedReplicas struct {
	cluster.Replicas
	leads Leads
}

// Cost implements cluster.Replicas.
func (f fencedReplicas) Cost(ctx context.Context, list []cluster.Replica) error {
	return f.leads.first(ctx, func() error { return f.Replicas.Cost(ctx, list) })
}
