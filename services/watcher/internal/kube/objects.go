package kube

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Pools lists the node pools that can be read, by name. The objects belong to the informers: they must not be changed.
func (s *Source) Pools() []*karpenterv1.NodePool {
	return listed[*karpenterv1.NodePool](s.stores.pools)
}

// Classes is Pools for node classes.
func (s *Source) Classes() []*awsv1.EC2NodeClass {
	return listed[*awsv1.EC2NodeClass](s.stores.nodeClasses)
}

// Claims is Pools for node claims.
func (s *Source) Claims() []*karpenterv1.NodeClaim {
	return listed[*karpenterv1.NodeClaim](s.stores.nodeClaims)
}

func listed[T metav1.Object](s cache.Store) []T {
	var out []T
	for _, o := range s.List() {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}
