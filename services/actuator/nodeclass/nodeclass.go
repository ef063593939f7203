// Package nodeclass turns a user's EC2NodeClass into the actuator's values: what the cloud adapter launches with, and the
// settings that shape instance types.
//
// It must never ask AWS for anything, and never drop a field in silence: what can't be carried out is refused with an error
// that names the field, or, where nothing is launched, noted. Start at Spec.
package nodeclass

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// ErrPodsPerCore is what Spec returns, wrapped, for a setting that the family's nodes can't be given.
var ErrPodsPerCore = errors.New("spec.kubelet.podsPerCore: Bottlerocket has no such setting; set maxPods")

// Spec reads a defaulted and validated object. hash is the object's static hash. The error joins one entry per field.
func Spec(o *awsv1.EC2NodeClass, hash string) (cloud.ClassSpec, error) {
	out, errs := read(o, hash)
	if noPodsPerCore(out) {
		errs = append(errs, ErrPodsPerCore)
	}
	if len(errs) > 0 {
		return cloud.ClassSpec{Name: model.NodeClassName(o.Name)}, fmt.Errorf("EC2NodeClass %s: %w", o.Name, errors.Join(errs...))
	}
	return out, nil
}

// ForPlan reads what a plan without launches needs of a class. What Kerf launches nothing with is no error then; notes
// say it, a sentence each, and what the plan makes of it.
func ForPlan(o *awsv1.EC2NodeClass, hash string) (s instancetype.Settings, notes []string, err error) {
	spec, errs := read(o, hash)
	if len(errs) > 0 {
		return instancetype.Settings{}, nil, errors.Join(errs...)
	}
	if noPodsPerCore(spec) {
		notes = append(notes, ErrPodsPerCore.Error()+"; the plan is made without it")
	}
	if _, err := userdata.Render(userdata.Of(spec)); err != nil {
		said := strings.TrimPrefix(err.Error(), cloud.ErrInvalid.Error()+": ")
		notes = append(notes, said+"; Kerf launches nothing with it; the plan is made as if it were not set")
	}
	notes = append(notes, awsAlone(spec)...)
	return Settings(spec), append(notes, familyNotes(o.Family())...), nil
}

func noPodsPerCore(s cloud.ClassSpec) bool {
	return s.AMIFamily == string(awsv1.FamilyBottlerocket) && s.Kubelet.PodsPerCore != nil
}

// awsAlone are what AWS would have to be asked for, which no plan does.
func awsAlone(s cloud.ClassSpec) (notes []string) {
	note := func(set bool, text string) {
		if set {
			notes = append(notes, text)
		}
	}
	note(len(s.Reservations) > 0, "spec.capacityReservationSelectorTerms: the plan knows no reservations, and buys at spot and on-demand prices alone")
	note(s.PlacementGroup != cloud.PlacementGroupTerm{}, "spec.placementGroupSelector: the plan is made as if it were not set")
	return notes
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

func read(o *awsv1.EC2NodeClass, hash string) (cloud.ClassSpec, []error) {
	s := o.Spec
	out := cloud.ClassSpec{
		Name: model.NodeClassName(o.Name), UID: string(o.UID), Generation: o.Generation, Hash: hash,
		Role: s.Role, InstanceProfile: deref(s.InstanceProfile), UserData: deref(s.UserData),
		Tags: model.LabelsOf(s.Tags), AssociatePublicIP: s.AssociatePublicIPAddress,
		DetailedMonitoring: deref(s.DetailedMonitoring), InstanceStoreRAID0: s.InstanceStorePolicy != nil,
		Metadata: metadata(s.MetadataOptions), AMIFamily: string(o.Family()),
		IPPrefixCount: s.IPPrefixCount, ConnectionTracking: tracking(s.ConnectionTracking), Context: deref(s.Context),
	}
	if g := s.PlacementGroupSelector; g != nil {
		out.PlacementGroup = cloud.PlacementGroupTerm{Name: g.Name, ID: g.ID}
	}
	if c := s.CPUOptions; c != nil {
		out.NestedVirtualization = deref(c.NestedVirtualization)
	}
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
	for _, t := range s.CapacityReservationSelectorTerms {
		out.Reservations = append(out.Reservations, cloud.ReservationTerm{
			Tags: model.LabelsOf(t.Tags), ID: t.ID, OwnerID: t.OwnerID, MatchesLaunches: t.InstanceMatchCriteria,
		})
	}
	for _, n := range s.NetworkInterfaces {
		out.NetworkInterfaces = append(out.NetworkInterfaces, cloud.NetworkInterface{
			Card: n.NetworkCardIndex, Device: n.DeviceIndex, EFAOnly: n.InterfaceType == awsv1.InterfaceEFAOnly,
		})
	}
	var err error
	out.Kubelet, err = kubelet(s)
	fail("kubelet", err)
	out.BlockDevices, err = blockDevices(s.BlockDeviceMappings)
	fail("blockDeviceMappings", err)
	return out, errs
}

func tracking(c *awsv1.ConnectionTracking) cloud.ConnectionTracking {
	if c == nil {
		return cloud.ConnectionTracking{}
	}
	seconds := func(n *int32) time.Duration { return time.Duration(deref(n)) * time.Second }
	return cloud.ConnectionTracking{
		TCPEstablished: seconds(c.TCPEstablishedTimeout), UDPStream: seconds(c.UDPStreamTimeout), UDP: seconds(c.UDPTimeout),
	}
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

func kubelet(s awsv1.EC2NodeClassSpec) (cloud.Kubelet, error) {
	k, errs := awsv1.ParseKubelet(s.Kubelet, field.NewPath("spec", "kubelet"))
	if len(errs) > 0 {
		return cloud.Kubelet{}, errs.ToAggregate()
	}
	return cloud.Kubelet{
		MaxPods: wide(k.MaxPods), MaxPodsFormula: k.MaxPodsFormula, PodsPerCore: wide(k.PodsPerCore), KubeReserved: k.KubeReserved,
		SystemReserved: k.SystemReserved, EvictionHard: k.EvictionHard, EvictionSoft: k.EvictionSoft,
		EvictionSoftGracePeriod: k.EvictionSoftGracePeriod, EvictionMaxPodGracePeriod: k.EvictionMaxPodGracePeriod,
		ClusterDNS: k.ClusterDNS, ImageGCHighThreshold: k.ImageGCHighThresholdPercent,
		ImageGCLowThreshold: k.ImageGCLowThresholdPercent, CPUCFSQuota: k.CPUCFSQuota, Extra: extra(k),
	}, nil
}

func extra(k awsv1.Kubelet) (out []cloud.KubeletField) {
	for _, name := range k.ExtraNames() {
		out = append(out, cloud.KubeletField{Name: name, JSON: string(k.Extra[name])})
	}
	return out
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
			InitializationRate: deref(e.VolumeInitializationRate),
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
		AMIFamily: s.AMIFamily, MaxPods: s.Kubelet.MaxPods, MaxPodsFormula: s.Kubelet.MaxPodsFormula, PodsPerCore: s.Kubelet.PodsPerCore,
		KubeReserved: s.Kubelet.KubeReserved, SystemReserved: s.Kubelet.SystemReserved, EvictionHard: s.Kubelet.EvictionHard,
		RAID0: s.InstanceStoreRAID0, EphemeralStorageBytes: ephemeralBytes(s), BlockDevices: int64(len(s.BlockDevices)), Interfaces: interfaces(s.NetworkInterfaces),
		PublicAddress: deref(s.AssociatePublicIP), Prefixes: int64(deref(s.IPPrefixCount)), Nitro: s.ConnectionTracking != cloud.ConnectionTracking{}, NestedVirtualization: s.NestedVirtualization == "enabled",
	}
}

func interfaces(all []cloud.NetworkInterface) []instancetype.Interface {
	var out []instancetype.Interface
	for _, n := range all {
		out = append(out, instancetype.Interface{Card: int64(n.Card), Device: int64(n.Device), EFAOnly: n.EFAOnly})
	}
	return out
}

// ephemeralBytes is the size of the disk that pods write to: the mapping marked as root, or the family's own device, or
// for Custom the last; 0 leaves the default of 20 GiB.
func ephemeralBytes(s cloud.ClassSpec) int64 {
	if len(s.BlockDevices) == 0 {
		return 0
	}
	var device string
	switch awsv1.AMIFamily(s.AMIFamily) {
	case awsv1.FamilyAL2, awsv1.FamilyAL2023:
		device = "/dev/xvda"
	case awsv1.FamilyBottlerocket:
		device = "/dev/xvdb"
	case awsv1.FamilyWindows2019, awsv1.FamilyWindows2022, awsv1.FamilyWindows2025:
		device = "/dev/sda1"
	case awsv1.FamilyCustom:
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
