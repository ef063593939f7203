package objects

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Pool reads a NodePool. One that can't be read is a value too, with the reason: it must not vanish, or its nodes would
// look like those of no pool.
func Pool(o *unstructured.Unstructured) cluster.Pool {
	return cluster.Pool{NodePool: reader.UnstructuredNodePool(o), Terminating: o.GetDeletionTimestamp() != nil}
}

// Class reads an EC2NodeClass, with the reason where it can't be read.
func Class(o *unstructured.Unstructured) cluster.Class {
	c := reader.UnstructuredNodeClass(o)
	out := cluster.Class{
		Spec:        cloud.ClassSpec{Name: model.NodeClassName(o.GetName()), UID: string(o.GetUID()), Generation: o.GetGeneration()},
		Terminating: o.GetDeletionTimestamp() != nil,
		Invalid:     c.NotReady, InvalidWhy: c.Why,
	}
	if !c.NotReady.OK() {
		return out
	}
	spec, err := nodeclass.Spec(c.Object, c.Hash)
	if err != nil {
		out.Invalid, out.InvalidWhy = reader.InvalidClass(o.GetName(), err), awsv1.ReasonInvalidSpec
		if errors.Is(err, nodeclass.ErrPodsPerCore) {
			out.InvalidWhy = awsv1.ReasonUnsupportedKubeletConfiguration
		}
		return out
	}
	out.Spec = spec
	return out
}
