package judge

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/kube"
)

// made is what has been made for a trial: no world changes it, and to make it again in each is most of the work.
type made struct {
	// pods have no node yet; running are as the case has them.
	pods    map[model.PodID]*kube.Pod
	running map[model.PodID]*kube.Pod
	// nodes are by name, those of claims by all that may differ from world to world.
	nodes   map[string]*kube.Node
	options map[model.ClassID][]option
	daemons map[*kube.Node][]*kube.Pod
}

func nothing() made {
	return made{
		pods: make(map[model.PodID]*kube.Pod), running: make(map[model.PodID]*kube.Pod), nodes: make(map[string]*kube.Node),
		options: make(map[model.ClassID][]option), daemons: make(map[*kube.Node][]*kube.Pod),
	}
}

// once makes what a key stands for when it is asked for first.
func once[K comparable, V any](all map[K]V, key K, make func() V) V {
	v, is := all[key]
	if !is {
		v = make()
		all[key] = v
	}
	return v
}

// again is a pod of the case, as if it had just been made again.
func (t *trial) again(id model.PodID) *kube.Pod {
	return once(t.made.pods, id, func() *kube.Pod {
		pod := t.pods[id]
		if pod == nil {
			if pod = t.virtual(id); pod == nil {
				return nil
			}
		}
		again := *pod
		again.Node, again.Terminating = "", false
		return kube.NewPod(&again, t.classes[pod.Class])
	})
}

// running is a pod as the case has it.
func (t *trial) running(p *model.Pod) *kube.Pod {
	return once(t.made.running, p.ID, func() *kube.Pod { return kube.NewPod(p, t.classes[p.Class]) })
}

// joined is a node of the case.
func (t *trial) joined(n *model.Node) *kube.Node {
	return once(t.made.nodes, string(n.Name), func() *kube.Node { return kube.NewNode(n) })
}
