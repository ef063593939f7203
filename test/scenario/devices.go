package scenario

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// deviceDriver is the driver of all devices that name no other; its pools are the nodes.
const deviceDriver = "devices.example.com"

// deviceClaim reads "[CLAIM:] REQUEST=[N*]SELECTOR|[N*]SELECTOR … same=ATTRIBUTE": what one claim of dynamic resource
// allocation asks for. N may be all.
func (s *statement) deviceClaim(namespace, text string) model.DeviceClaim {
	var out model.DeviceClaim
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case strings.HasSuffix(word, ":") && out.Name == "" && len(out.Requests) == 0:
			out.Name = namespace + "/" + strings.TrimSuffix(word, ":")
		case !ok || name == "" || value == "":
			s.fail("devices=%q is not of the form \"gpu=a100|2*t4 same=pcie-root\"", text)
		case name == "same":
			out.Constraints = append(out.Constraints, model.DeviceConstraint{Attribute: value})
		default:
			out.Requests = append(out.Requests, s.deviceRequest(name, value))
		}
	}
	return out
}

func (s *statement) deviceRequest(name, text string) model.DeviceRequest {
	out := model.DeviceRequest{Name: name}
	options := strings.Split(text, "|")
	for _, option := range options {
		count, selector, ok := strings.Cut(option, "*")
		if !ok {
			count, selector = "1", option
		}
		o := model.DeviceOption{DeviceClass: selector, Selector: selector}
		if len(options) > 1 {
			o.Name = selector
		}
		if count != "all" {
			n, err := atoi(count)
			if err != nil || n < 1 || n > 32 {
				s.fail("%q is not a number of devices from 1 to 32, or all", count)
			}
			o.Count = int32(n)
		}
		out.Options = append(out.Options, o)
	}
	return out
}

// extendedRequests reads RESOURCE=SELECTOR: the device class of the selector stands for a resource that the pod asks for.
func (s *statement) extendedRequests(requests model.Amounts) []model.ExtendedRequest {
	var out []model.ExtendedRequest
	for _, l := range s.labels("extended") {
		n := requests.Value(model.Resource(l.Key))
		if n < 1 || n > 32 {
			s.fail("extended=%s: the pod asks for %d of that, want 1 to 32", l.Key, n)
		}
		out = append(out, model.ExtendedRequest{
			Resource: model.Resource(l.Key), Devices: model.DeviceOption{DeviceClass: l.Value, Selector: l.Value, Count: int32(n)},
		})
	}
	return out
}

// nodeDevices reads "NAME of=SELECTORS attributes=k=v driver=DRIVER unavailable", repeated.
func (s *statement) nodeDevices(pool string) []model.NodeDevice {
	var out []model.NodeDevice
	for _, text := range s.texts("device") {
		s.sub("device", text, func(in *statement) { out = append(out, in.nodeDevice(pool)) })
	}
	return out
}

func (s *statement) nodeDevice(pool string) model.NodeDevice {
	d := model.NodeDevice{
		DeviceRef:   model.DeviceRef{Driver: s.text("driver", deviceDriver), Pool: pool, Name: s.name},
		Selectors:   s.list("of"),
		Attributes:  s.labels("attributes"),
		Unavailable: s.is("unavailable"),
	}
	slices.Sort(d.Selectors)
	return d
}

// deviceTemplates are what a pool's owner says of new nodes' devices: as for a node, and "types=TYPES" where not all types
// of the pool have a device.
func (s *statement) deviceTemplates() []model.DeviceTemplate {
	var out []model.DeviceTemplate
	for _, text := range s.texts("device") {
		s.sub("device", text, func(in *statement) {
			types := in.typeNames("types")
			i := slices.IndexFunc(out, func(t model.DeviceTemplate) bool { return slices.Equal(t.InstanceTypes, types) })
			if i < 0 {
				i = len(out)
				out = append(out, model.DeviceTemplate{InstanceTypes: types})
			}
			out[i].Devices = append(out[i].Devices, in.nodeDevice("new"))
		})
	}
	return out
}

func (s *statement) typeNames(key string) []model.TypeName {
	var out []model.TypeName
	for _, name := range s.list(key) {
		out = append(out, model.TypeName(name))
	}
	slices.Sort(out)
	return out
}
