package model

import "cmp"

// DeviceClaim is what one claim of dynamic resource allocation asks for. All of its requests are served from devices of
// one node, or none is.
type DeviceClaim struct {
	// Name is the claim's namespace and name where its pods share it; "" where each pod has a claim of its own.
	Name        string
	Requests    []DeviceRequest
	Constraints []DeviceConstraint
	// Allocated is a shared claim that has its devices already: its pods go where these are, and take nothing more.
	Allocated bool
	// Node is where the devices of an allocated claim are; "" when they belong to no single node.
	Node NodeName
	// Terms are from where the devices of an allocated claim can be reached when they belong to no single node:
	// alternatives, none means from everywhere.
	Terms []NodeAffinityTerm
}

// DeviceRequest is one request of a claim.
type DeviceRequest struct {
	Name string
	// Options are at least one; the first that is available is taken.
	Options []DeviceOption
}

// ExtendedRequest is devices that are claimed in the place of an extended resource.
type ExtendedRequest struct {
	// Resource is among the requests of the pods.
	Resource Resource
	// Devices are so many of one class.
	Devices DeviceOption
}

// DeviceOption is one way to serve a request.
type DeviceOption struct {
	// Name is the sub-request's; "" where the request has no alternatives.
	Name string
	// DeviceClass is for messages.
	DeviceClass string
	// Selector is the id of the selector that a device must match.
	Selector string
	// Count is how many devices; 0 means all of the node's that match, at least one.
	Count int32
}

// DeviceConstraint says that devices must have the same value of an attribute.
type DeviceConstraint struct {
	// Requests are those that it is about, as "request" or "request/option"; none means all of the claim.
	Requests  []string
	Attribute string
}

// NodeDevice is a device that a driver publishes for a node.
type NodeDevice struct {
	DeviceRef
	// Selectors are the ids of the selectors that the device matches, sorted.
	Selectors []string
	// OwnSelectors are those of Selectors that look at what tells the device from others of its make: another node of the
	// same type can't be expected to have such a device.
	OwnSelectors []string
	// FailingSelectors can't be evaluated for the device; the scheduler then gives up on the whole node.
	FailingSelectors []string
	// Attributes are those that constraints name, with their type before the value, such as "int:3".
	Attributes Labels
	// Unavailable devices are not given out: they are tainted, or taken by something that is no pod.
	Unavailable bool
	// Unsupported is the field of the device that Kerf does not plan with, and what is wrong with it; "" when none is.
	Unsupported string
	// IncompletePool is an entry that is no device and has no name: it stands for a pool that is not completely published.
	// Until it is, no one knows which devices "all" are.
	IncompletePool bool
}

// DeviceRef names a device of a node.
type DeviceRef struct {
	Driver string
	// Pool is the driver's pool.
	Pool string
	Name string
}

// Compare orders devices by driver, pool and name.
func (r DeviceRef) Compare(s DeviceRef) int {
	return cmp.Or(cmp.Compare(r.Driver, s.Driver), cmp.Compare(r.Pool, s.Pool), cmp.Compare(r.Name, s.Name))
}

// DeviceTemplate is what a pool's owner says that drivers will publish for its new nodes.
type DeviceTemplate struct {
	// InstanceTypes are those that it is about; none means all of the pool's.
	InstanceTypes []TypeName
	Devices       []NodeDevice
}
