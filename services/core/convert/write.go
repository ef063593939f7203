package convert

import (
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// NodePool writes a pool.
func NodePool(p model.NodePool) *clusterpb.NodePool { return writePool(p) }

// Amounts writes quantities.
func Amounts(a model.Amounts) []*clusterpb.Amount { return writeAmounts(a) }

// Labels writes labels or annotations.
func Labels(l model.Labels) []*clusterpb.Label { return writeLabels(l) }

// Requirements writes requirements that all must hold.
func Requirements(list []model.Requirement) []*clusterpb.Requirement { return writeRequirements(list) }

// Taints writes taints.
func Taints(list []model.Taint) []*clusterpb.Taint { return writeTaints(list) }

// Tolerations writes tolerations.
func Tolerations(list []model.Toleration) []*clusterpb.Toleration { return writeTolerations(list) }

// Selector writes a selector; nil stays nil.
func Selector(s *model.Selector) *clusterpb.LabelSelector { return writeSelector(s) }

// NodeAffinity writes terms of which one must hold.
func NodeAffinity(list []model.NodeAffinityTerm) []*clusterpb.NodeAffinityTerm {
	return writeAffinity(list)
}

// Volumes writes from where volumes can be reached.
func Volumes(list []model.VolumeTopology) []*clusterpb.VolumeTopology { return writeVolumes(list) }

// Catalog writes the shapes of instance types.
func Catalog(c model.Catalog) *clusterpb.Catalog { return writeCatalog(c) }
