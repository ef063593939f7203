package manifest

import (
	"errors"
	"slices"

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
		if r.options.Assume {
			users[name].pools = r.ownClasses(classes[name], users[name].pools)
		}
		err := legacy.MoveKubelet(classes[name], users[name].ref, users[name].pools)
		if poolErr, ok := errors.AsType[*legacy.PoolError](err); ok {
			r.fail(r.placeOf(poolErr.Pool, users[name].first), "NodePool "+poolErr.Pool, poolErr.Problem.Field, poolErr.Problem.ErrorBody())
		}
	}
}

// ownClasses gives pools that want other kubelet settings than the pools beside them a class each, and returns the others.
func (r *reader) ownClasses(class *awsv1.EC2NodeClass, pools []legacy.PoolKubelet) []legacy.PoolKubelet {
	if class == nil {
		return pools
	}
	own := legacy.OwnClasses(class, pools)
	for _, e := range slices.Clone(r.read) {
		pool, ok := e.object.(*karpenterv1.NodePool)
		if !ok || own[pool.Name] == nil {
			continue
		}
		copied := own[pool.Name]
		pool.Spec.Template.Spec.NodeClassRef.Name = copied.Name
		r.warn(e.place, e.name, "spec.template.spec.kubelet", "other pools of EC2NodeClass "+class.Name+" have other settings; assumed: a class of its own, "+copied.Name)
		r.add(entry{place: e.place, name: awsv1.KindEC2NodeClass + " " + copied.Name, object: copied})
	}
	return slices.DeleteFunc(pools, func(p legacy.PoolKubelet) bool { return own[p.Pool] != nil })
}

func (r *reader) placeOf(pool string, fallback entry) Place {
	for _, e := range r.read {
		if p, ok := e.object.(*karpenterv1.NodePool); ok && p.Name == pool {
			return e.place
		}
	}
	return fallback.place
}
