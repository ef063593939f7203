// Package wire turns snapshots into messages, and the inventory's messages into objects of a snapshot.
//
// It cuts a snapshot or a delta into parts that a stream can carry, and says which kinds of objects come from where. Every
// payload of a snapshot is a message, and its hash is made here. It must never know a Kubernetes object. Start reading at
// Parts.
package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// MaxPartBytes is how large a part may grow: a mebibyte, less what the message around it takes.
const MaxPartBytes = 1<<20 - 1<<10

// entryBytes is the most that a list entry takes beside its own bytes: tag and length.
const entryBytes = 8

// Header is what a snapshot says beside its objects.
type Header struct {
	Cluster string
}

// Whole is a snapshot as one message.
func Whole(s snapshot.Snapshot, h Header) *clusterpb.Snapshot {
	out := header(s, h)
	for _, k := range snapshot.Kinds() {
		for _, o := range s.Objects(k) {
			appendMessage(out, message(o))
		}
	}
	return out
}

// Parts cuts a snapshot into messages of at most maxBytes, and says of each whether it is the last; the first has the
// header. There is at least one. An object that is larger by itself travels alone. A part is made when it is asked for:
// all of them together are several times as large as the snapshot.
func Parts(s snapshot.Snapshot, h Header, maxBytes int) iter.Seq2[*clusterpb.Snapshot, bool] {
	return func(yield func(*clusterpb.Snapshot, bool) bool) {
		c := cutter{max: maxBytes, part: header(s, h)}
		for _, k := range snapshot.Kinds() {
			for _, o := range s.Objects(k) {
				if full := c.add(o); full != nil && !yield(full, false) {
					return
				}
			}
		}
		yield(c.part, true)
	}
}

// DeltaParts cuts a delta into messages of at most maxBytes, at least one. Each has both revisions; the first has the
// header, and removals come before what is new.
func DeltaParts(d snapshot.Delta, h Header, maxBytes int) []*clusterpb.Delta {
	first := &clusterpb.Snapshot{
		Revision: d.Revision, InventoryRevision: d.InventoryRevision, Cluster: h.Cluster, ObserveTime: stamp(d.ObserveTime),
	}
	out := removedParts(d, maxBytes)
	c := cutter{max: maxBytes, part: first}
	if len(out) > 0 {
		out[0].Upserted, c.part = first, &clusterpb.Snapshot{}
	}
	var upserted []*clusterpb.Snapshot
	for _, o := range d.Upserted {
		if full := c.add(o); full != nil {
			upserted = append(upserted, full)
		}
	}
	if len(d.Upserted) > 0 || len(out) == 0 {
		for _, part := range append(upserted, c.part) {
			out = append(out, &clusterpb.Delta{BaseRevision: d.Base, Revision: d.Revision, Upserted: part})
		}
	}
	return out
}

func removedParts(d snapshot.Delta, maxBytes int) []*clusterpb.Delta {
	var out []*clusterpb.Delta
	size := maxBytes
	for _, key := range d.Removed {
		n := len(key.ID) + entryBytes
		if size+n > maxBytes {
			out = append(out, &clusterpb.Delta{BaseRevision: d.Base, Revision: d.Revision, Removed: &clusterpb.Removed{}})
			size = 0
		}
		appendRemoved(out[len(out)-1].GetRemoved(), key)
		size += n
	}
	return out
}

// cutter fills one part after another.
type cutter struct {
	max  int
	part *clusterpb.Snapshot
	size int
}

// add returns the part before where it has no room for the object; nil where it has.
func (c *cutter) add(o snapshot.Object) (full *clusterpb.Snapshot) {
	m := message(o)
	if m == nil {
		return nil
	}
	n := proto.Size(m) + entryBytes
	if c.size > 0 && c.size+n > c.max {
		full = c.part
		c.part, c.size = &clusterpb.Snapshot{}, 0
	}
	appendMessage(c.part, m)
	c.size += n
	return full
}

func header(s snapshot.Snapshot, h Header) *clusterpb.Snapshot {
	return &clusterpb.Snapshot{
		Revision: s.Revision, InventoryRevision: s.InventoryRevision, Cluster: h.Cluster, ObserveTime: stamp(s.ObserveTime),
	}
}

// appendMessage puts an object's message into the list for its kind; every message of a kind has the same type.
func appendMessage(s *clusterpb.Snapshot, m proto.Message) {
	switch m := m.(type) {
	case *clusterpb.PodClass:
		s.PodClasses = append(s.PodClasses, m)
	case *clusterpb.Pod:
		s.Pods = append(s.Pods, m)
	case *clusterpb.DaemonSet:
		s.DaemonSets = append(s.DaemonSets, m)
	case *clusterpb.Node:
		s.Nodes = append(s.Nodes, m)
	case *clusterpb.Namespace:
		s.Namespaces = append(s.Namespaces, m)
	case *clusterpb.PodDisruptionBudget:
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, m)
	case *clusterpb.NodePool:
		s.NodePools = append(s.NodePools, m)
	case *clusterpb.NodeClass:
		s.NodeClasses = append(s.NodeClasses, m)
	case *clusterpb.Catalog:
		s.Catalogs = append(s.Catalogs, m)
	case *clusterpb.Offering:
		s.Offerings = append(s.Offerings, m)
	case *clusterpb.Claim:
		s.Claims = append(s.Claims, m)
	case *clusterpb.Notice:
		s.Notices = append(s.Notices, m)
	case *clusterpb.DisruptionRecord:
		s.Disruptions = append(s.Disruptions, m)
	case *clusterpb.NodeOverlay:
		s.NodeOverlays = append(s.NodeOverlays, m)
	case *clusterpb.CapacityBuffer:
		s.CapacityBuffers = append(s.CapacityBuffers, m)
	}
}

func appendRemoved(r *clusterpb.Removed, key snapshot.Key) {
	if key.Kind == snapshot.Offering {
		r.Offerings = append(r.Offerings, convert.OfferingRef(key.ID))
		return
	}
	if list := removedList(r, key.Kind); list != nil {
		*list = append(*list, key.ID)
	}
}

func removedList(r *clusterpb.Removed, k snapshot.Kind) *[]string {
	switch k {
	case snapshot.PodClass:
		return &r.PodClasses
	case snapshot.Pod:
		return &r.Pods
	case snapshot.DaemonSet:
		return &r.DaemonSets
	case snapshot.Node:
		return &r.Nodes
	case snapshot.Namespace:
		return &r.Namespaces
	case snapshot.PodDisruptionBudget:
		return &r.PodDisruptionBudgets
	case snapshot.NodePool:
		return &r.NodePools
	case snapshot.NodeClass:
		return &r.NodeClasses
	case snapshot.Catalog:
		return &r.Catalogs
	case snapshot.Claim:
		return &r.Claims
	case snapshot.Notice:
		return &r.Notices
	case snapshot.Disruption:
		return &r.Disruptions
	case snapshot.NodeOverlay:
		return &r.NodeOverlays
	case snapshot.CapacityBuffer:
		return &r.CapacityBuffers
	default:
		return nil
	}
}

// InventoryKinds are the kinds that the actuator owns.
func InventoryKinds() []snapshot.Kind {
	return []snapshot.Kind{
		snapshot.NodeClass, snapshot.Catalog, snapshot.Offering, snapshot.Claim, snapshot.Notice, snapshot.Disruption,
	}
}

// KubernetesKinds are the kinds that the API server owns.
func KubernetesKinds() []snapshot.Kind {
	return []snapshot.Kind{
		snapshot.Pod, snapshot.DaemonSet, snapshot.Node, snapshot.Namespace, snapshot.PodDisruptionBudget, snapshot.NodePool,
		snapshot.NodeOverlay, snapshot.CapacityBuffer,
	}
}

// InventoryObjects are the objects that an inventory message brings, by kind.
func InventoryObjects(s *clusterpb.Snapshot) []snapshot.Object {
	out := make([]snapshot.Object, 0, len(s.GetNodeClasses())+len(s.GetCatalogs())+len(s.GetOfferings())+len(s.GetClaims())+
		len(s.GetNotices())+len(s.GetDisruptions()))
	for _, m := range s.GetNodeClasses() {
		out = append(out, Object(snapshot.NodeClass, m.GetName(), m))
	}
	for _, m := range s.GetCatalogs() {
		out = append(out, Object(snapshot.Catalog, m.GetId(), m))
	}
	for _, m := range s.GetOfferings() {
		out = append(out, Object(snapshot.Offering, convert.OfferingID(m), m))
	}
	for _, m := range s.GetClaims() {
		out = append(out, Object(snapshot.Claim, m.GetId(), m))
	}
	for _, m := range s.GetNotices() {
		out = append(out, Object(snapshot.Notice, m.GetId(), m))
	}
	for _, m := range s.GetDisruptions() {
		out = append(out, Object(snapshot.Disruption, m.GetId(), m))
	}
	return out
}

// InventoryRemoved are the objects that an inventory message takes away.
func InventoryRemoved(r *clusterpb.Removed) []snapshot.Key {
	var out []snapshot.Key
	if r == nil {
		return nil
	}
	for _, k := range InventoryKinds() {
		ids := convert.RemovedOfferings(r)
		if k != snapshot.Offering {
			ids = *removedList(r, k)
		}
		for _, id := range ids {
			out = append(out, snapshot.Key{Kind: k, ID: id})
		}
	}
	return out
}

// packed are the bytes of a catalog, or of an offering, of which there are thousands. The messages have five to ten
// times as many, and are wanted only when another planner is told everything.
type packed string

// message is an object's message; nil where it has none.
func message(o snapshot.Object) proto.Message {
	switch p := o.Payload.(type) {
	case packed:
		var m proto.Message = &clusterpb.Catalog{}
		if o.Kind == snapshot.Offering {
			m = &clusterpb.Offering{}
		}
		if err := proto.Unmarshal([]byte(p), m); err != nil {
			return nil // it was a message before it was packed
		}
		return m
	case proto.Message:
		return p
	}
	return nil
}

// Object wraps a message for the snapshot. Its hash is that of the message's bytes, which a message without maps has
// only one form of within one binary.
func Object(k snapshot.Kind, id string, m proto.Message) snapshot.Object {
	data, hash := encode(m)
	o := snapshot.Object{Kind: k, ID: id, Hash: hash, Payload: m}
	if k == snapshot.Catalog || k == snapshot.Offering {
		o.Payload = packed(data)
	}
	return o
}

// Class gives a class of pods its id and wraps it.
func Class(c *clusterpb.PodClass) *snapshot.Object {
	c.Id = ""
	_, h := encode(c)
	c.Id = "c-" + hex.EncodeToString(h[:])
	return &snapshot.Object{Kind: snapshot.PodClass, ID: c.GetId(), Hash: h, Payload: c}
}

func encode(m proto.Message) ([]byte, snapshot.Hash) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		// Only a string that is not UTF-8 does this, and the API server's JSON has none. An id then stands for the content.
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return data, snapshot.Hash(sum[:16])
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
