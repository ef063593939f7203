package model

import (
	"strconv"
	"strings"
	"time"
)

// BufferID is "namespace/name" of a CapacityBuffer.
type BufferID string

// The ids of virtual pods stand between FirstVirtual and AfterVirtual ("0" is what comes after "/"), with at most those of
// pods in a namespace of that name among them.
const (
	FirstVirtual PodID = "buffer/"
	AfterVirtual PodID = "buffer0"
)

// Pod is the id of the k-th of the virtual pods that planners plan for in a buffer's place: "buffer/namespace/name/number",
// which no object has.
func (b BufferID) Pod(k int64) PodID {
	return FirstVirtual + PodID(b) + "/" + PodID(strconv.FormatInt(k, 10))
}

// Buffer is whose virtual pod has the id; not ok where none has.
func (id PodID) Buffer() (b BufferID, ok bool) {
	rest, found := strings.CutPrefix(string(id), string(FirstVirtual))
	end := strings.LastIndexByte(rest, '/')
	if !found || end < 0 || !strings.Contains(rest[:end], "/") {
		return "", false
	}
	return BufferID(rest[:end]), true
}

// Virtual says whether the id is that of a buffer's pod, which never exists.
func (id PodID) Virtual() bool {
	_, ok := id.Buffer()
	return ok
}

// Object is the pod that the id names; not ok where it names none, as that of a virtual pod.
func (id PodID) Object() (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(string(id), "/")
	if !ok || strings.Contains(name, "/") {
		return "", "", false
	}
	return namespace, name, true
}

// CapacityBuffer is capacity for pods that do not exist yet.
type CapacityBuffer struct {
	ID BufferID
	// Generation is the object's, and TemplateGeneration that of its PodTemplate; 0 where they are not known.
	Generation, TemplateGeneration int64
	// Class is that of its pods; "" where NotReady is set.
	Class ClassID
	// Replicas is how many pods there shall be capacity for.
	Replicas int64
	// OneShot capacity is used up by pods, and not made again: each live pod of the buffer's namespace with the labels
	// of its class that was created after the buffer takes the place of one of the Replicas.
	OneShot    bool
	CreateTime time.Time
	// StartTime is when the capacity begins to be wanted; zero means at once.
	StartTime time.Time
	// ExpireTime is when it ends to be wanted; zero means never.
	ExpireTime time.Time
	// NotReady is why it asks for nothing; OK when it is well.
	NotReady Reason
}
