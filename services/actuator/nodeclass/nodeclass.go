// Package nodeclass turns a user's EC2NodeClass into the actuator's values: what the cloud adapter launches with, and the
// settings that shape instance types.
//
// It must never ask AWS for anything, and never drop a field in silence: what this version of Kerf does not carry out is
// refused with an error that names the field, or, where nothing is launched, noted. Start at Spec.
package nodeclass

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// Spec reads a defaulted and validated object. hash is the object's static hash. The error joins one entry per field.
func Spec(o *awsv1.EC2NodeClass, hash string) (cloud.ClassSpec, error) {
	out, unsupported, errs := read(o, hash)
	for _, u := range unsupported {
		errs = append(errs, errors.New(u.why))
	}
	if len(errs) > 0 {
		return cloud.ClassSpec{Name: model.NodeClassName(o.Name)}, fmt.Errorf("EC2NodeClass %s: %w", o.Name, errors.Join(errs...))
	}
	return out, nil
}

// ForPlan reads what a plan without launches needs of a class. What Kerf launches nothing with is no error then; notes
// say it, a sentence each, and what the plan makes of it.
func ForPlan(o *awsv1.EC2NodeClass, hash string) (s instancetype.Settings, notes []string, err error) {
	spec, unsupported, errs := read(o, hash)
	if len(errs) > 0 {
		return instancetype.Settings{}, nil, errors.Join(errs...)
	}
	for _, u := range unsupported {
		notes = append(notes, u.why+"; "+u.plan)
	}
	return Settings(spec), append(notes, familyNotes(o.Family())...), nil
}

// familyNotes are what to know of a family that a plan can't show.
func familyNotes(f awsv1.AMIFamily) []string {
	switch f {
	case awsv1.FamilyAL2:
		return []string{"spec.amiFamily: AL2: EKS publishes no newer images for it since November 2025, and none for Kubernetes 1.33 and later"}
	case awsv1.FamilyWindows2019, awsv1.FamilyWindows2022, awsv1.FamilyWindows2025:
		return []string{"spec.amiFamily: " + string(f) + ": the prices are those of Linux; the licence of Windows comes on top"}
	default:
		return nil
	}
}

// unsupported is what a class may say and this version does not carry out.
type unsupported struct {
	why  string // with the field before it
	plan string // what a plan makes of it
}

// planWithout is about what does not change which nodes a plan buys, as far as the catalogue tells.
const planWithout = "the plan is made as if it were not set"

func read(o *awsv1.EC2NodeClass, hash string) (cloud.ClassSpec, []unsupported, []error) {
	s := o.Spec
	out := cloud.ClassSpec{
		Name: model.NodeClassName(o.Name), UID: string(o.UID), Generation: o.Generation, Hash: hash,
		Role: s.Role, InstanceProfile: deref(s.InstanceProfile), UserData: deref(s.UserData),
		Tags: model.LabelsOf(s.Tags), AssociatePublicIP: s.AssociatePublicIPAddress,
		DetailedMonitoring: deref(s.DetailedMonitoring), InstanceStoreRAID0: s.InstanceStorePolicy != nil,
		Metadata: metadata(s.MetadataOptions), AMIFamily: string(o.Family()),
	}
	not := refused(o)
	var errs []error
	fail := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.%s: %w", name, err))
		}
	}
	for _, t := range s.SubnetSelectorTerms {
		out.SubnetTerms = append(out.SubnetTerms, cloud.SelectorTerm{Tags: model.LabelsOf(t.Tags), ID: t.ID})
	}
	for _, t := range s.SecurityGroupSelectorTerms {
		out.SecurityGroupTerms = append(out.SecurityGroupTerms, cloud.SelectorTerm{Tags: model.LabelsOf(t.Tags), ID: t.ID, Name: t.Name})
	}
	for _, t := range s.AMISelectorTerms {
		out.ImageTerms = append(out.ImageTerms, cloud.ImageTerm{
			Alias: t.Alias, ID: t.ID, Name: t.Name, Owner: t.Owner, SSMParameter: t.SSMParameter, Tags: model.LabelsOf(t.Tags),
		})
	}
	kubelet, left, err := kubelet(s, o.Family())
	fail("kubelet", err)
	if left != "" {
		not = append(not, unsupported{"spec.kubelet: " + left, "the plan is made without them"})
	}
	out.Kubelet = kubelet
	out.BlockDevices, err = blockDevices(s.BlockDeviceMappings)
	fail("blockDeviceMappings", err)
	return out, not, errs
}

// refused lists what is set and what this version does not carry out.
func refused(o *awsv1.EC2NodeClass) []unsupported {
	s := o.Spec
	var out []unsupported
	no := func(name string, set bool, plan string) {
		if set {
			out = append(out, unsupported{"spec." + name + ": this version of Kerf does not support it; remove it", plan})
		}
	}
	no("capacityReservationSelectorTerms", len(s.CapacityReservationSelectorTerms) > 0, "the plan buys at spot and on-demand prices only")
	no("placementGroupSelector", s.PlacementGroupSelector != nil, planWithout)
	no("ipPrefixCount", s.IPPrefixCount != nil, planWithout)
	no("networkInterfaces", len(s.NetworkInterfaces) > 0, "the plan is made as if each node had its type's own interfaces")
	no("connectionTracking", s.ConnectionTracking != nil, planWithout)
	no("cpuOptions", s.CPUOptions != nil, planWithout)
	no("context", s.Context != nil, planWithout)
	for i, m := range s.BlockDeviceMappings {
		no(fmt.Sprintf("blockDeviceMappings[%d].ebs.volumeInitializationRate", i), m.EBS != nil && m.EBS.VolumeInitializationRate != nil, planWithout)
	}
	switch f := o.Family(); f {
	case awsv1.FamilyAL2023, awsv1.FamilyBottlerocket, awsv1.FamilyCustom:
	default:
		out = append(out, unsupported{
			fmt.Sprintf("spec.amiFamily: this version of Kerf does not support %s; use AL2023, Bottlerocket or Custom", f),
			"the plan is made as if it did",
		})
	}
	return out
}

func metadata(m *awsv1.MetadataOptions) cloud.MetadataOptions {
	out := cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1}
	if m == nil {
		return out
	}
	out.HTTPEndpoint = cmp.Or(deref(m.HTTPEndpoint), out.HTTPEndpoint)
	out.HTTPProtocolIPv6 = cmp.Or(deref(m.HTTPProtocolIPv6), out.HTTPProtocolIPv6)
	out.HTTPTokens = cmp.Or(deref(m.HTTPTokens), out.HTTPTokens)
	if m.HTTPPutResponseHopLimit != nil {
		out.HopLimit = int32(*m.HTTPPutResponseHopLimit)
	}
	return out
}

// kubelet reads the settings that Kerf carries out; left says which it would have to pass on, "" where there are none.
func kubelet(s awsv1.EC2NodeClassSpec, f awsv1.AMIFamily) (out cloud.Kubelet, left string, err error) {
	k, errs := awsv1.ParseKubelet(s.Kubelet, field.NewPath("spec", "kubelet"))
	if len(errs) > 0 {
		return out, "", errs.ToAggregate()
	}
	if len(k.Extra) > 0 {
		left = fmt.Sprintf("this version of Kerf does not carry out %s; remove them, or set them in spec.userData", strings.Join(k.Extra, ", "))
	} else if f == awsv1.FamilyBottlerocket && (k.PodsPerCore != nil || len(k.EvictionSoft) > 0 ||
		k.EvictionMaxPodGracePeriod != nil || k.ImageGCHighThresholdPercent != nil || k.ImageGCLowThresholdPercent != nil ||
		k.CPUCFSQuota != nil || len(k.ClusterDNS) > 0) {
		left = "for Bottlerocket this version of Kerf carries out maxPods, kubeReserved, " +
			"systemReserved and evictionHard only; set the others in spec.userData"
	}
	return cloud.Kubelet{
		MaxPods: wide(k.MaxPods), PodsPerCore: wide(k.PodsPerCore), KubeReserved: k.KubeReserved,
		SystemReserved: k.SystemReserved, EvictionHard: k.EvictionHard, EvictionSoft: k.EvictionSoft,
		EvictionSoftGracePeriod: k.EvictionSoftGracePeriod, EvictionMaxPodGracePeriod: k.EvictionMaxPodGracePeriod,
		ClusterDNS: k.ClusterDNS, ImageGCHighThreshold: k.ImageGCHighThresholdPercent,
		ImageGCLowThreshold: k.ImageGCLowThresholdPercent, CPUCFSQuota: k.CPUCFSQuota,
	}, left, nil
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	w := int64(*n)
	return &w
}

const gib = 1 << 30

func blockDevices(mappings []awsv1.BlockDeviceMapping) ([]cloud.BlockDevice, error) {
	var out []cloud.BlockDevice
	for i, m := range mappings {
		if m.DeviceName == nil || m.EBS == nil {
			return nil, fmt.Errorf("entry %d: deviceName and ebs are needed", i)
		}
		e := m.EBS
		d := cloud.BlockDevice{
			DeviceName: *m.DeviceName, Root: m.RootVolume, VolumeType: cmp.Or(deref(e.VolumeType), "gp3"),
			IOPS: deref(e.IOPS), Throughput: deref(e.Throughput), Encrypted: e.Encrypted,
			KMSKeyID: deref(e.KMSKeyID), SnapshotID: deref(e.SnapshotID), DeleteOnTermination: e.DeleteOnTermination,
		}
		if e.VolumeSize != nil {
			size, err := e.VolumeSize.GiB()
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i, err)
			}
			d.VolumeBytes = int64(size) * gib
		}
		out = append(out, d)
	}
	return out, nil
}

// Settings are the parts of the class that change what an instance type offers to pods.
func Settings(s cloud.ClassSpec) instancetype.Settings {
	return instancetype.Settings{
		AMIFamily: s.AMIFamily, MaxPods: s.Kubelet.MaxPods, PodsPerCore: s.Kubelet.PodsPerCore,
		KubeReserved: s.Kubelet.KubeReserved, SystemReserved: s.Kubelet.SystemReserved, EvictionHard: s.Kubelet.EvictionHard,
		RAID0: s.InstanceStoreRAID0, EphemeralStorageBytes: ephemeralBytes(s),
	}
}

// ephemeralBytes is the size of the disk that pods write to: the mapping marked as root, or the family's own device, or
// for Custom the last; 0 leaves the default of 20 GiB.
func ephemeralBytes(s cloud.ClassSpec) int64 {
	if len(s.BlockDevices) == 0 {
		return 0
	}
	device := "/dev/xvda"
	if s.AMIFamily == string(awsv1.FamilyBottlerocket) {
		device = "/dev/xvdb"
	}
	if s.AMIFamily == string(awsv1.FamilyCustom) {
		device = s.BlockDevices[len(s.BlockDevices)-1].DeviceName
	}
	var size int64
	for _, d := range s.BlockDevices {
		if d.DeviceName == device {
			size = d.VolumeBytes
		}
	}
	for _, d := range s.BlockDevices {
		if d.Root {
			size = d.VolumeBytes
		}
	}
	return size
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
