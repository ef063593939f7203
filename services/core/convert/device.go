package convert

import (
	"slices"
	"strconv"
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (r *reader) deviceClaim(field string, c *clusterpb.DeviceClaim) model.DeviceClaim {
	out := model.DeviceClaim{
		Name: c.GetName(), Allocated: c.GetAllocated(), Node: model.NodeName(c.GetNode()),
		Terms: r.affinity(field+".terms", c.GetTerms()),
	}
	switch {
	case out.Allocated && out.Name == "":
		r.bad(field+".allocated", "is set without a name: only a shared claim is allocated before its pods are bound")
	case !out.Allocated && (out.Node != "" || len(out.Terms) > 0):
		r.bad(field, "has a place and is not allocated")
	}
	for i, q := range c.GetRequests() {
		out.Requests = append(out.Requests, r.deviceRequest(field+".requests["+strconv.Itoa(i)+"]", q))
	}
	for i, k := range c.GetConstraints() {
		at := field + ".constraints[" + strconv.Itoa(i) + "]"
		out.Constraints = append(out.Constraints, model.DeviceConstraint{
			Requests: r.requestRefs(at+".requests", k.GetRequests()), Attribute: r.required(at+".attribute", k.GetAttribute()),
		})
	}
	return out
}

func (r *reader) deviceRequest(field string, q *clusterpb.DeviceRequest) model.DeviceRequest {
	out := model.DeviceRequest{Name: r.required(field+".name", q.GetName())}
	if len(q.GetOptions()) == 0 {
		r.bad(field+".options", "are missing")
	}
	for i, o := range q.GetOptions() {
		out.Options = append(out.Options, r.deviceOption(field+".options["+strconv.Itoa(i)+"]", o))
	}
	return out
}

func (r *reader) deviceOption(field string, o *clusterpb.DeviceOption) model.DeviceOption {
	if o != nil && o.Count != nil && o.GetCount() < 1 {
		r.bad(field+".count", "%d is below 1; leave it out for all devices that match", o.GetCount())
	}
	return model.DeviceOption{
		Name: o.GetName(), DeviceClass: o.GetDeviceClass(), Selector: r.required(field+".selector", o.GetSelector()), Count: o.GetCount(),
	}
}

func (r *reader) extendedRequest(field string, q *clusterpb.ExtendedRequest, requests model.Amounts) model.ExtendedRequest {
	if q.GetDevices().GetCount() == 0 {
		r.bad(field+".devices.count", "is missing: so many devices are claimed as of the resource are asked for")
	}
	if name := q.GetResource(); name != "" && requests.Value(model.Resource(name)) == 0 {
		r.bad(field+".resource", "%s is not among the requests", name)
	}
	return model.ExtendedRequest{
		Resource: model.Resource(r.required(field+".resource", q.GetResource())), Devices: r.deviceOption(field+".devices", q.GetDevices()),
	}
}

func writeDeviceClaim(c model.DeviceClaim) *clusterpb.DeviceClaim {
	return &clusterpb.DeviceClaim{
		Name: c.Name, Allocated: c.Allocated, Node: string(c.Node), Terms: writeAffinity(c.Terms),
		Requests: write(c.Requests, func(q model.DeviceRequest) *clusterpb.DeviceRequest {
			return &clusterpb.DeviceRequest{Name: q.Name, Options: write(q.Options, writeDeviceOption)}
		}),
		Constraints: write(c.Constraints, func(k model.DeviceConstraint) *clusterpb.DeviceConstraint {
			return &clusterpb.DeviceConstraint{Requests: write(k.Requests, DeviceRequestRef), Attribute: k.Attribute}
		}),
	}
}

func writeDeviceOption(o model.DeviceOption) *clusterpb.DeviceOption {
	out := &clusterpb.DeviceOption{Name: o.Name, DeviceClass: o.DeviceClass, Selector: o.Selector}
	if o.Count > 0 {
		out.Count = new(o.Count)
	}
	return out
}

// devices reads a node's devices, or those of a template; their order is their meaning.
func (r *reader) devices(field string, in []*clusterpb.NodeDevice) []model.NodeDevice {
	var out []model.NodeDevice
	seen := make(map[model.DeviceRef]bool, len(in))
	for i, d := range in {
		at := field + "[" + strconv.Itoa(i) + "]"
		ref := model.DeviceRef{Driver: r.required(at+".driver", d.GetDriver()), Pool: d.GetPool(), Name: d.GetName()}
		if d.GetIncompletePool() != (d.GetName() == "") {
			r.bad(at+".name", "%q contradicts incomplete_pool %t: devices have names, and what is no device has none", d.GetName(), d.GetIncompletePool())
		}
		if seen[ref] {
			r.bad(at, "is device %s of driver %s and pool %q once more", ref.Name, ref.Driver, ref.Pool)
		}
		seen[ref] = true
		out = append(out, model.NodeDevice{
			DeviceRef: ref, Selectors: r.strings(at+".selectors", d.GetSelectors()),
			OwnSelectors:     r.strings(at+".own_selectors", d.GetOwnSelectors()),
			FailingSelectors: r.strings(at+".failing_selectors", d.GetFailingSelectors()),
			Attributes:       r.attributes(at+".attributes", d.GetAttributes()),
			Unavailable:      d.GetUnavailable(), Unsupported: d.GetUnsupported(),
			IncompletePool: d.GetIncompletePool(),
		})
	}
	return out
}

func writeDevice(d model.NodeDevice) *clusterpb.NodeDevice {
	return &clusterpb.NodeDevice{
		Driver: d.Driver, Pool: d.Pool, Name: d.Name, Selectors: d.Selectors, OwnSelectors: d.OwnSelectors,
		FailingSelectors: d.FailingSelectors, Attributes: write(d.Attributes, writeAttribute), Unavailable: d.Unavailable, Unsupported: d.Unsupported,
		IncompletePool: d.IncompletePool,
	}
}

// requestRefs reads names of requests as "request" or "request/option", sorted and unique.
func (r *reader) requestRefs(field string, in []*clusterpb.DeviceRequestRef) []string {
	return r.strings(field, write(in, func(q *clusterpb.DeviceRequestRef) string {
		if r.required(field+".request", q.GetRequest()); strings.Contains(q.GetRequest(), "/") {
			r.bad(field+".request", "%q has a slash, as no request's name has; an option goes into option", q.GetRequest())
		}
		if q.GetOption() == "" {
			return q.GetRequest()
		}
		return q.GetRequest() + "/" + q.GetOption()
	}))
}

// DeviceRequestRef is what "request" or "request/option" names.
func DeviceRequestRef(name string) *clusterpb.DeviceRequestRef {
	request, option, _ := strings.Cut(name, "/")
	return &clusterpb.DeviceRequestRef{Request: request, Option: option}
}

// attributes reads a device's attributes; the type goes before the value, so that values of two types are never equal.
func (r *reader) attributes(field string, in []*clusterpb.DeviceAttribute) model.Labels {
	return r.labels(field, write(in, func(a *clusterpb.DeviceAttribute) *clusterpb.Label {
		out := &clusterpb.Label{Key: a.GetName()}
		switch v := a.GetValue().(type) {
		case *clusterpb.DeviceAttribute_IntValue:
			out.Value = "int:" + strconv.FormatInt(v.IntValue, 10)
		case *clusterpb.DeviceAttribute_BoolValue:
			out.Value = "bool:" + strconv.FormatBool(v.BoolValue)
		case *clusterpb.DeviceAttribute_StringValue:
			out.Value = "string:" + v.StringValue
		case *clusterpb.DeviceAttribute_VersionValue:
			out.Value = "version:" + v.VersionValue
		default:
			r.bad(field, "has %q without a value", a.GetName())
		}
		return out
	}))
}

func writeAttribute(l model.Label) *clusterpb.DeviceAttribute {
	out := &clusterpb.DeviceAttribute{Name: l.Key}
	kind, value, ok := strings.Cut(l.Value, ":")
	number, err := strconv.ParseInt(value, 10, 64)
	switch {
	case kind == "int" && err == nil:
		out.Value = &clusterpb.DeviceAttribute_IntValue{IntValue: number}
	case kind == "bool":
		out.Value = &clusterpb.DeviceAttribute_BoolValue{BoolValue: value == "true"}
	case kind == "version":
		out.Value = &clusterpb.DeviceAttribute_VersionValue{VersionValue: value}
	case kind == "string" && ok:
		out.Value = &clusterpb.DeviceAttribute_StringValue{StringValue: value}
	default:
		out.Value = &clusterpb.DeviceAttribute_StringValue{StringValue: l.Value}
	}
	return out
}

func (r *reader) deviceTemplate(field string, t *clusterpb.DeviceTemplate) model.DeviceTemplate {
	return model.DeviceTemplate{
		InstanceTypes: names[model.TypeName](r, field+".instance_types", t.GetInstanceTypes()),
		Devices:       r.devices(field+".devices", t.GetDevices()),
	}
}

func writeDeviceTemplate(t model.DeviceTemplate) *clusterpb.DeviceTemplate {
	return &clusterpb.DeviceTemplate{InstanceTypes: texts(t.InstanceTypes), Devices: write(t.Devices, writeDevice)}
}

// deviceRefs reads the devices of a pod, sorted.
func (r *reader) deviceRefs(field string, in []*clusterpb.DeviceRef) []model.DeviceRef {
	var out []model.DeviceRef
	for i, d := range in {
		at := field + "[" + strconv.Itoa(i) + "]"
		out = append(out, model.DeviceRef{
			Driver: r.required(at+".driver", d.GetDriver()), Pool: d.GetPool(), Name: r.required(at+".name", d.GetName()),
		})
	}
	slices.SortFunc(out, model.DeviceRef.Compare)
	return slices.Compact(out)
}

func writeDeviceRef(d model.DeviceRef) *clusterpb.DeviceRef {
	return &clusterpb.DeviceRef{Driver: d.Driver, Pool: d.Pool, Name: d.Name}
}

// named is a node's labels with its name among them; see model.KeyNodeName.
func named(name string, labels model.Labels) model.Labels {
	if name == "" {
		return labels
	}
	out := append(slices.Clone(labels), model.Label{Key: model.KeyNodeName, Value: name})
	sortBy(out, func(l *model.Label) string { return l.Key })
	return out
}

func unnamed(labels model.Labels) model.Labels {
	return slices.DeleteFunc(slices.Clone(labels), func(l model.Label) bool { return l.Key == model.KeyNodeName })
}
