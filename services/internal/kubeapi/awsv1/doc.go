// Package awsv1 holds the Go types of the karpenter.k8s.aws/v1 API that Kerf
// serves, EC2NodeClass, with its defaults and drift hash.
//
// The CustomResourceDefinition in deploy/crds is generated from the markers in
// this package. Rules that a schema can't express, or that must also hold for
// manifests that never saw an API server, are in package
// validation.
//
// The package must not know any client, file or AWS call: it is types and pure
// functions. Start reading at EC2NodeClass.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
// +versionName=v1
package awsv1
