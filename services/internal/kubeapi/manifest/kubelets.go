package manifest

import (
	"errors"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/legacy"
)

// moveKubelets puts the kubelet settings of old pools into the node classes that
// they name, class by class in the order in which pools name them.
func (r *reader) moveKubelets() {
	classes := map[string]*awsv1.EC2NodeClass{}
	for _, e := range r.read {
		if class, ok := e.object.(*awsv1.EC2NodeClass); ok {
			classes[class.Name] = class
		}
	}
	type user struct {
		ref   karpenterv1.NodeClassReference
		pools []legacy.PoolKubelet
		first entry
	}
	var order []string
	users := map[string]*user{}
	for _, e := range r.read {
		pool, ok := e.object.(*karpenterv1.NodePool)
		if !ok || !e.isOldPool {
			continue
		}
		ref := pool.Spec.Template.Spec.NodeClassRef
		u := users[ref.Name]
		if u == nil {
			u = &user{ref: ref, first: e}
			users[ref.Name] = u
			order = append(order, ref.Name)
		}
		u.pools = append(u.pools, legacy.PoolKubelet{Pool: pool.Name, Kubelet: e.kubelet})
		if e.kubelet != nil {
			r.warn(e.place, e.name, "spec.template.spec.kubelet", "is now spec.kubelet of EC2NodeClass "+ref.Name)
		}
	}
	for _, name := range order {
		err := legacy.MoveKubelet(classes[name], users[name].ref, users[name].pools)
		if poolErr, ok := errors.AsType[*legacy.PoolError](err); ok {
			r.fail(r.placeOf(poolErr.Pool, users[name].first), "NodePool "+poolErr.Pool, poolErr.Problem.Field, poolErr.Problem.ErrorBody())
		}
	}
}

func (r *reader) placeOf(pool string, fallback entry) Place {
	for _, e := range r.read {
		if p, ok := e.object.(*karpenterv1.NodePool); ok && p.Name == pool {
			return e.place
		}
	}
	return fallback.place
}
