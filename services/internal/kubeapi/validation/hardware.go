package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

const (
	maxDevices    = 50
	maxInterfaces = 150
)

func validateHardware(spec *awsv1.EC2NodeClassSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateDevices(spec.BlockDeviceMappings, path.Child("blockDeviceMappings"))...)
	if p := spec.InstanceStorePolicy; p != nil && *p != awsv1.InstanceStoreRAID0 {
		errs = append(errs, field.NotSupported(path.Child("instanceStorePolicy"), *p, []awsv1.InstanceStorePolicy{awsv1.InstanceStoreRAID0}))
	}
	errs = append(errs, validateInterfaces(spec.NetworkInterfaces, path.Child("networkInterfaces"))...)
	errs = append(errs, validateMetadata(spec.MetadataOptions, path.Child("metadataOptions"))...)
	errs = append(errs, validateTracking(spec.ConnectionTracking, path.Child("connectionTracking"))...)
	if spec.CPUOptions != nil {
		at := path.Child("cpuOptions", "nestedVirtualization")
		errs = append(errs, oneOf(spec.CPUOptions.NestedVirtualization, at, "enabled", "disabled")...)
	}
	return errs
}

func validateDevices(devices []awsv1.BlockDeviceMapping, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(devices) > maxDevices {
		errs = append(errs, field.TooMany(path, len(devices), maxDevices))
	}
	root := -1
	for i, d := range devices {
		at := path.Index(i)
		if d.RootVolume && root >= 0 {
			errs = append(errs, field.Invalid(at.Child("rootVolume"), true,
				fmt.Sprintf("entry %d is the root volume already: at most one can be", root)))
		}
		if d.RootVolume && root < 0 {
			root = i
		}
		if d.EBS != nil {
			errs = append(errs, validateVolume(d.EBS, at.Child("ebs"))...)
		}
	}
	return errs
}

func validateVolume(v *awsv1.BlockDevice, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.SnapshotID != nil && *v.SnapshotID == "" {
		errs = append(errs, field.Invalid(path.Child("snapshotID"), "", "want a snapshot's id, or remove it"))
	}
	if v.SnapshotID == nil && v.VolumeSize == nil {
		errs = append(errs, field.Required(path.Child("volumeSize"), "set volumeSize or snapshotID"))
	}
	if v.VolumeSize != nil {
		if _, err := v.VolumeSize.GiB(); err != nil {
			errs = append(errs, field.Invalid(path.Child("volumeSize"), string(*v.VolumeSize), err.Error()))
		}
	}
	if r := v.VolumeInitializationRate; r != nil {
		at := path.Child("volumeInitializationRate")
		errs = append(errs, between(r, 100, 300, at)...)
		if v.SnapshotID == nil {
			errs = append(errs, field.Forbidden(at, "it needs snapshotID: set that, or remove it"))
		}
	}
	types := []string{"standard", "io1", "io2", "gp2", "gp3", "sc1", "st1"}
	return append(errs, oneOf(v.VolumeType, path.Child("volumeType"), types...)...)
}

func validateInterfaces(list []awsv1.NetworkInterface, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxInterfaces {
		errs = append(errs, field.TooMany(path, len(list), maxInterfaces))
	}
	type place struct{ card, device int32 }
	seen := map[place]bool{}
	efa := map[int32]int{}
	primary := len(list) == 0
	for i, n := range list {
		at := path.Index(i)
		errs = append(errs, atLeast(&n.NetworkCardIndex, 0, at.Child("networkCardIndex"))...)
		errs = append(errs, atLeast(&n.DeviceIndex, 0, at.Child("deviceIndex"))...)
		errs = append(errs, oneOf(&n.InterfaceType, at.Child("interfaceType"), awsv1.InterfaceOrdinary, awsv1.InterfaceEFAOnly)...)
		here := place{n.NetworkCardIndex, n.DeviceIndex}
		if seen[here] {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("card %d, device %d", here.card, here.device)))
		}
		seen[here] = true
		if n.InterfaceType == awsv1.InterfaceEFAOnly {
			if efa[n.NetworkCardIndex]++; efa[n.NetworkCardIndex] == 2 {
				errs = append(errs, field.Invalid(at.Child("interfaceType"), n.InterfaceType,
					fmt.Sprintf("card %d has an interface of type efa-only already: at most one", n.NetworkCardIndex)))
			}
		}
		primary = primary || here == place{} && n.InterfaceType == awsv1.InterfaceOrdinary
	}
	if !primary {
		errs = append(errs, field.Required(path, "the interface of card 0 and device 0, of type interface, is missing"))
	}
	return errs
}

func validateMetadata(m *awsv1.MetadataOptions, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, oneOf(m.HTTPEndpoint, path.Child("httpEndpoint"), "enabled", "disabled")...)
	errs = append(errs, oneOf(m.HTTPProtocolIPv6, path.Child("httpProtocolIPv6"), "enabled", "disabled")...)
	errs = append(errs, between(m.HTTPPutResponseHopLimit, 1, 64, path.Child("httpPutResponseHopLimit"))...)
	return append(errs, oneOf(m.HTTPTokens, path.Child("httpTokens"), "required", "optional")...)
}

func validateTracking(c *awsv1.ConnectionTracking, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	if c.TCPEstablishedTimeout == nil && c.UDPStreamTimeout == nil && c.UDPTimeout == nil {
		return field.ErrorList{field.Required(path, "set at least one timeout, or remove connectionTracking")}
	}
	errs := between(c.TCPEstablishedTimeout, 60, 432000, path.Child("tcpEstablishedTimeout"))
	errs = append(errs, between(c.UDPStreamTimeout, 60, 180, path.Child("udpStreamTimeout"))...)
	return append(errs, between(c.UDPTimeout, 30, 60, path.Child("udpTimeout"))...)
}

func oneOf(value *string, path *field.Path, want ...string) field.ErrorList {
	if value == nil || slices.Contains(want, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, want)}
}

func between[T int32 | int64](value *T, least, most T, path *field.Path) field.ErrorList {
	if value == nil || (*value >= least && *value <= most) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("want %d to %d", least, most))}
}

func atLeast(value *int32, least int32, path *field.Path) field.ErrorList {
	if value == nil || *value >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("want %d or more", least))}
}
