package model

import "time"

// BufferID is "namespace/name" of a CapacityBuffer.
type BufferID string

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
