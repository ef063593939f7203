// Package karpenterv1 holds the Go types of the karpenter.sh/v1 API that Kerf
// serves, NodePool and NodeClaim, with their defaults and drift hash.
//
// The CustomResourceDefinitions in deploy/crds are generated from the markers
// in this package, so a field, its default and its schema rules stand in one
// place. Rules that a schema can't express, or that must also hold for
// manifests that never saw an API server, are in package
// validation.
//
// The package must not know any cloud, client or file: it is types and pure
// functions. Start reading at NodePool.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
// +versionName=v1
package karpenterv1
