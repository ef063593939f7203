package verify

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// rolling is for how long a rollout is left alone after the last pod of it was bound.
const rolling = 10 * time.Minute

// workload is whose pods some are.
type workload struct{ namespace, kind, name string }

func workloadOf(class *model.PodClass) workload {
	return workload{class.Namespace, class.OwnerKind, class.OwnerName}
}

// addHistory notes whose pods were moved by choice, and since when; and who is being rolled out.
func (c *checker) addHistory() {
	c.moved, c.rollouts = make(map[workload][]*model.DisruptionRecord), make(map[workload]time.Time)
	if len(c.plan.Disruptions) == 0 {
		return // nobody will ask
	}
	for i := range c.snap.Disruptions {
		r := &c.snap.Disruptions[i]
		if !voluntary(r.Reason) || r.RolledBack {
			continue
		}
		for _, w := range r.Workloads {
			key := workload{w.Namespace, w.Kind, w.Name}
			c.moved[key] = append(c.moved[key], r)
		}
	}
	newest := make(map[model.ClassID]time.Time)
	for i := range c.snap.Pods {
		p := &c.snap.Pods[i]
		if last, ok := newest[p.Class]; !p.Terminating && !virtual(p.ID) && (!ok || p.BindTime.After(last)) {
			newest[p.Class] = p.BindTime
		}
	}
	c.addRollouts(newest)
}

// addRollouts takes the classes that have live pods, and when the newest of these was bound.
func (c *checker) addRollouts(newest map[model.ClassID]time.Time) {
	last := make(map[workload]time.Time)
	revisions := make(map[workload]map[string]bool)
	for id, bound := range newest {
		class := c.classes[id]
		if class == nil || class.OwnerKind == "" || class.OwnerRevision == "" {
			continue // whose owner has no revisions is not rolled out
		}
		w := workloadOf(class)
		if revisions[w] == nil {
			revisions[w] = make(map[string]bool)
		}
		revisions[w][class.OwnerRevision] = true
		if bound.After(last[w]) {
			last[w] = bound
		}
	}
	for w, several := range revisions {
		if len(several) > 1 && c.in.Now.Sub(last[w]) < rolling {
			c.rollouts[w] = last[w]
		}
	}
}

// podRest is how long pods that were moved by choice are left alone.
func (c *checker) podRest() time.Duration {
	if r := c.in.Policy.PodRest; r != nil {
		return *r
	}
	return model.DefaultPodRest
}

// rested checks that the pods on a node are not moved by choice again too early, and not in the middle of a rollout.
//
// A pod that was made while a disruption that names its owner went on, or within a minute after that, is one of those moved:
// names tell nothing.
func (c *checker) rested(subject string, node *model.Node) {
	for _, p := range c.podsOn[node.Name] {
		class := c.class(p)
		if !c.movable(p) || class.OwnerKind == "" {
			continue
		}
		w := workloadOf(class)
		if c.rests(p, w) {
			c.fail(subject, "pod %s on node %s was moved at %s, and rests for %s", p.ID, node.Name, p.BindTime, c.podRest())
		}
		if last, ok := c.rollouts[w]; ok {
			c.fail(subject, "pod %s on node %s is of a workload that is being rolled out; its last pod was bound at %s", p.ID, node.Name, last)
		}
	}
}

// rests says whether a pod came in the place of one that was moved by choice, and has not rested since; or came later, maybe
// in the place of such a pod that ended for another reason.
func (c *checker) rests(p *model.Pod, w workload) bool {
	made := p.CreateTime
	if made.IsZero() {
		made = p.BindTime
	}
	if p.BindTime.IsZero() || c.in.Now.Sub(p.BindTime) >= c.podRest() {
		return false
	}
	for _, r := range c.moved[w] {
		if made.Before(r.AcceptTime) {
			continue
		}
		if r.EndTime.IsZero() || made.Sub(r.EndTime) <= time.Minute || c.in.Now.Sub(r.EndTime) < c.podRest() {
			return true
		}
	}
	return false
}
