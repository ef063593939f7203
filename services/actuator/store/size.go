package store

import "github.com/kerf-dev/kerf/services/core/model"

// MaxBytes is about how much one Batch should hold, as ClaimBytes and DisruptionBytes count. It is below what etcd takes
// in one request, 1.5 MiB unless its operator says otherwise: a batch that etcd refuses would be tried again for ever.
const MaxBytes = 5 << 18 // 1.25 MiB

// At most so much an object takes beside its lists, and an entry of a list beside its text.
const (
	bytesEach  = 1 << 10
	bytesEntry = 16
)

// ClaimBytes is about how many bytes a claim takes at most.
func ClaimBytes(c model.Claim) int {
	n := bytesEach + len(c.Failure.Message) + len(c.Failure.Remedy) + len(c.Drifted.Message) + texts(c.Pods)
	for _, a := range c.Arrivals {
		n += bytesEntry + len(a.OwnerUID)
	}
	for _, o := range c.Offerings {
		n += bytesEntry + len(o.InstanceType) + len(o.Zone) + len(o.CapacityType.String())
	}
	for _, r := range c.Requirements {
		n += bytesEntry + len(r.Key) + texts(r.Values)
	}
	for _, list := range []model.Labels{c.Labels, c.Annotations} {
		for _, l := range list {
			n += bytesEntry + len(l.Key) + len(l.Value)
		}
	}
	for _, list := range [][]model.Taint{c.Taints, c.StartupTaints} {
		for _, t := range list {
			n += bytesEntry + len(t.Key) + len(t.Value) + len(t.Effect.String())
		}
	}
	for _, list := range []model.Amounts{c.Requests, c.Capacity, c.Allocatable} {
		for _, a := range list {
			n += bytesEntry + len(a.Resource)
		}
	}
	return n
}

// DisruptionBytes is about how many bytes a disruption takes at most.
func DisruptionBytes(d model.DisruptionRecord) int {
	n := bytesEach + texts(d.Pods)
	for _, w := range d.Workloads {
		n += bytesEntry + len(w.Namespace) + len(w.Kind) + len(w.Name) + len(w.UID) + len(w.Revision)
	}
	for _, list := range [][]model.ClaimID{d.Candidates, d.Replacements} {
		for _, id := range list {
			n += bytesEntry + len(id)
		}
	}
	return n
}

func texts[S ~string](list []S) int {
	n := 0
	for _, s := range list {
		n += bytesEntry + len(s)
	}
	return n
}
