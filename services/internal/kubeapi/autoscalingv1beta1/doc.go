// Package autoscalingv1beta1 holds the Go types of the autoscaling.x-k8s.io/v1beta1
// API that Kerf serves: CapacityBuffer, with its defaults and the
// arithmetic of its size.
//
// The CustomResourceDefinition in deploy/crds is generated from the markers in
// this package. Rules that must also hold for manifests that never saw an API
// server are in package validation.
//
// The package must not know any cloud, client or file: it is types and pure
// functions. Start reading at CapacityBuffer.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.x-k8s.io
// +versionName=v1beta1
package autoscalingv1beta1
