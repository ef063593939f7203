package verify

import (
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
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

// newDisruptions notes whose pods were moved by choice, and since when; and which workloads are being rolled out.
func newDisruptions(f *facts.Facts, r *facts.Report, p *pdbs) *disruptions {
	d := &disruptions{f: f, r: r, pdbs: p, moved: make(map[workload][]*model.DisruptionRecord), rollouts: make(map[workload]time.Time)}
	if len(f.Plan.Disruptions) > 0 {
		d.addHistory()
	}
	return d
}

func (d *disruptions) addHistory() {
	for i := range d.f.Cluster.Snapshot.Disruptions {
		r := &d.f.Cluster.Snapshot.Disruptions[i]
		if !r.Reason.ByChoice() || r.RolledBack {
			continue
		}
		for _, w := range r.Workloads {
			key := workload{w.Namespace, w.Kind, w.Name}
			d.moved[key] = append(d.moved[key], r)
		}
	}
	newest := make(map[model.ClassID]time.Time)
	for i := range d.f.Cluster.Snapshot.Pods {
		p := &d.f.Cluster.Snapshot.Pods[i]
		if last, ok := newest[p.Class]; !p.Terminating && !facts.Virtual(p.ID) && (!ok || p.BindTime.After(last)) {
			newest[p.Class] = p.BindTime
		}
	}
	d.addRollouts(newest)
}

// addRollouts takes the classes that have live pods, and when the newest of these was bound.
func (d *disruptions) addRollouts(newest map[model.ClassID]time.Time) {
	last := make(map[workload]time.Time)
	revisions := make(map[workload]map[string]bool)
	for id, bound := range newest {
		class := d.f.Cluster.Classes[id]
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
		if len(several) > 1 && d.f.Input.Now.Sub(last[w]) < rolling {
			d.rollouts[w] = last[w]
		}
	}
}

// rested checks that the pods on a node are not moved by choice again too early, and not in the middle of a rollout.
//
// A pod that was made while a disruption that names its owner went on, or within a minute after that, is one of those moved:
// names tell nothing.
func (d *disruptions) rested(subject string, node *model.Node) {
	for _, p := range d.f.Cluster.PodsOn[node.Name] {
		class := d.f.Cluster.Class(p)
		if !d.f.Cluster.Movable(p) || class.OwnerKind == "" {
			continue
		}
		w := workloadOf(class)
		if d.rests(p, w) {
			d.r.Fail(subject, "pod %s on node %s was moved at %s, and rests for %s", p.ID, node.Name, p.BindTime, podRest(&d.f.Input.Policy))
		}
		if last, ok := d.rollouts[w]; ok {
			d.r.Fail(subject, "pod %s on node %s is of a workload that is being rolled out; its last pod was bound at %s", p.ID, node.Name, last)
		}
	}
}

// rests says whether a pod came in the place of one that was moved by choice, and has not rested since; or came later, maybe
// in the place of such a pod that ended for another reason.
func (d *disruptions) rests(p *model.Pod, w workload) bool {
	made := p.CreateTime
	if made.IsZero() {
		made = p.BindTime
	}
	if p.BindTime.IsZero() || d.f.Input.Now.Sub(p.BindTime) >= podRest(&d.f.Input.Policy) {
		return false
	}
	for _, r := range d.moved[w] {
		if made.Before(r.AcceptTime) {
			continue
		}
		if r.EndTime.IsZero() || made.Sub(r.EndTime) <= time.Minute || d.f.Input.Now.Sub(r.EndTime) < podRest(&d.f.Input.Policy) {
			return true
		}
	}
	return false
}
