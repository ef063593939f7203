// Package karpenterv1alpha1 holds the Go types of the karpenter.sh/v1alpha1 API
// that Kerf serves: NodeOverlay, with the meaning of its prices.
//
// The CustomResourceDefinition in deploy/crds is generated from the markers in
// this package. Rules that must also hold for manifests that never saw an API
// server are in package validation.
//
// The package must not know any cloud, client or file: it is types and pure
// functions. Start reading at NodeOverlay.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
// +versionName=v1alpha1
package karpenterv1alpha1
