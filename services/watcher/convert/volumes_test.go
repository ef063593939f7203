package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
)

func claim(name string, edits ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func boundTo(pv string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = pv
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
}

func selected(node string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Annotations = map[string]string{"volume.kubernetes.io/selected-node": node}
	}
}

func ofClass(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func volume(name string, source corev1.PersistentVolumeSource, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	if len(terms) > 0 {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return pv
}

func storageClass(name, provisioner string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	for _, z := range zones {
		sc.AllowedTopologies = append(sc.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.ebs.csi.aws.com/zone", Values: []string{z}}},
		})
	}
	return sc
}

func TestVolumes(t *testing.T) {
	late, early := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	ebs := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}
	inZone := func(key, z string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(key, corev1.NodeSelectorOpIn, z)}}
	}
	by := func(driver string, zones ...string) []*clusterpb.VolumeTopology {
		v := &clusterpb.VolumeTopology{Name: "shop/data", Driver: driver}
		for _, z := range zones {
			v.Terms = append(v.Terms, &clusterpb.NodeAffinityTerm{Requirements: []*clusterpb.Requirement{req(zone, opIn, z)}})
		}
		return []*clusterpb.VolumeTopology{v}
	}
	topology := func(zones ...string) []*clusterpb.VolumeTopology { return by("ebs.csi.aws.com", zones...) }
	attached := []*clusterpb.Amount{{Resource: "ebs.csi.aws.com", Value: 1}}
	alone := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	efs := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "efs.csi.aws.com"}}
	mounts := func(driver string) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}
	}
	going := func(v *corev1.PersistentVolume) *corev1.PersistentVolume {
		v.DeletionTimestamp = new(metav1.NewTime(start()))
		return v
	}
	deleting := func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(metav1.NewTime(start())) }

	for name, tc := range map[string]struct {
		refs        []runtime.Object
		volumes     []*clusterpb.VolumeTopology
		attachments []*clusterpb.Amount
		unsupported string
	}{
		"a bound volume is where its node affinity says": {
			refs:    []runtime.Object{claim("data", boundTo("v")), volume("v", ebs, inZone("topology.ebs.csi.aws.com/zone", "b"))},
			volumes: topology("b"), attachments: attached,
		},
		"a volume that goes, and is attached to no other node": {
			refs:        []runtime.Object{claim("data", boundTo("v")), going(volume("v", ebs, inZone(zone, "b")))},
			unsupported: "spec.volumes[0]: persistent volume v of claim data is being deleted, and is attached to no node any more",
		},
		"a volume that goes once its claim does, of a driver that attaches none": {
			refs:    []runtime.Object{claim("data", boundTo("v")), going(volume("v", efs)), mounts("efs.csi.aws.com")},
			volumes: by("efs.csi.aws.com"), attachments: []*clusterpb.Amount{{Resource: "efs.csi.aws.com", Value: 1}},
		},
		"a volume that goes once its claim does, and that nothing attaches": {
			refs: []runtime.Object{claim("data", boundTo("v")), going(volume("v", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}))},
		},
		"a volume with alternatives": {
			refs:    []runtime.Object{claim("data", boundTo("v")), volume("v", ebs, inZone(zone, "b"), inZone(zone, "c"))},
			volumes: topology("b", "c"), attachments: attached,
		},
		"a volume with an alternative that asks for nothing": {
			refs:    []runtime.Object{claim("data", boundTo("v")), volume("v", ebs, inZone(zone, "b"), corev1.NodeSelectorTerm{})},
			volumes: topology("b"), attachments: attached,
		},
		"a volume that no node reaches": {
			refs: []runtime.Object{claim("data", boundTo("v")), volume("v", ebs, corev1.NodeSelectorTerm{})},
			unsupported: "spec.volumes[0]: persistent volume v: spec.nodeAffinity.required.nodeSelectorTerms: no term can match a node; " +
				"a term needs at least one expression",
		},
		"a volume of the old plugin": {
			refs: []runtime.Object{claim("data", boundTo("v")), func() *corev1.PersistentVolume {
				v := volume("v", corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}})
				v.Labels = map[string]string{"failure-domain.beta.kubernetes.io/zone": "a"}
				return v
			}()},
			volumes: topology("a"), attachments: attached,
		},
		"a volume whose label says less than its node affinity": {
			refs: []runtime.Object{claim("data", boundTo("v")), func() *corev1.PersistentVolume {
				v := volume("v", ebs, inZone(zone, "b"), corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					expr(zone, corev1.NodeSelectorOpIn, "b", "c"),
				}})
				v.Labels = map[string]string{"topology.kubernetes.io/zone": "b"}
				return v
			}()},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Driver: "ebs.csi.aws.com", Terms: []*clusterpb.NodeAffinityTerm{
				{Requirements: []*clusterpb.Requirement{req(zone, opIn, "b")}},
				{Requirements: []*clusterpb.Requirement{req(zone, opIn, "b"), req(zone, opIn, "b", "c")}},
			}}},
			attachments: attached,
		},
		"a local volume is on its host": {
			refs: []runtime.Object{claim("data", boundTo("v")), volume("v", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}},
				corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					expr("kubernetes.io/hostname", corev1.NodeSelectorOpIn, "n"), expr(zone, corev1.NodeSelectorOpIn, "a"),
				}})},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Terms: []*clusterpb.NodeAffinityTerm{
				{Requirements: []*clusterpb.Requirement{req("kubernetes.io/hostname", opIn, "n"), req(zone, opIn, "a")}},
			}}},
		},
		"a claim for one pod at a time": {
			refs:    []runtime.Object{claim("data", alone, boundTo("v")), volume("v", ebs)},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Driver: "ebs.csi.aws.com", Exclusive: true}}, attachments: attached,
		},
		"a file system that everyone reaches, for one pod at a time": {
			refs:    []runtime.Object{claim("data", alone, boundTo("v")), volume("v", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}})},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Exclusive: true}},
		},
		"a file system that everyone reaches": {
			refs: []runtime.Object{claim("data", boundTo("v")), volume("v", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}})},
		},
		"a volume to be made where the pod runs": {
			refs:    []runtime.Object{claim("data", ofClass("gp3")), storageClass("gp3", "ebs.csi.aws.com", late, "a", "b")},
			volumes: topology("a", "b"), attachments: attached,
		},
		"a volume that is being made for a node": {
			refs: []runtime.Object{claim("data", ofClass("gp3"), selected("n1")), storageClass("gp3", "ebs.csi.aws.com", late, "a", "b")},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Driver: "ebs.csi.aws.com", Terms: []*clusterpb.NodeAffinityTerm{
				{Requirements: []*clusterpb.Requirement{req("field:metadata.name", opIn, "n1"), req(zone, opIn, "a")}},
				{Requirements: []*clusterpb.Requirement{req("field:metadata.name", opIn, "n1"), req(zone, opIn, "b")}},
			}}},
			attachments: attached,
		},
		"a volume that is being made for a node, of a class that allows all": {
			refs: []runtime.Object{claim("data", ofClass("gp3"), selected("n1")), storageClass("gp3", "ebs.csi.aws.com", late)},
			volumes: []*clusterpb.VolumeTopology{{Name: "shop/data", Driver: "ebs.csi.aws.com", Terms: []*clusterpb.NodeAffinityTerm{
				{Requirements: []*clusterpb.Requirement{req("field:metadata.name", opIn, "n1")}},
			}}},
			attachments: attached,
		},
		"a volume to be made where the class allows nothing": {
			refs: []runtime.Object{claim("data", ofClass("gp3")), func() *storagev1.StorageClass {
				sc := storageClass("gp3", "ebs.csi.aws.com", late)
				sc.AllowedTopologies = []corev1.TopologySelectorTerm{{}}
				return sc
			}()},
			unsupported: "spec.volumes[0]: storage class gp3: allowedTopologies: no term can match a node; a term needs at least one expression",
		},
		"a volume to be made anywhere, of the default class": {
			refs: []runtime.Object{claim("data"), func() *storagev1.StorageClass {
				sc := storageClass("gp2", "kubernetes.io/aws-ebs", late)
				sc.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
				return sc
			}()},
			volumes: topology(), attachments: attached,
		},
		"a claim that is not there":  {unsupported: "spec.volumes[0]: persistent volume claim data is not there"},
		"a claim that goes":          {refs: []runtime.Object{claim("data", deleting)}, unsupported: "spec.volumes[0]: persistent volume claim data is being deleted"},
		"a claim without its volume": {refs: []runtime.Object{claim("data", boundTo("v"))}, unsupported: "spec.volumes[0]: persistent volume v of claim data is not there"},
		"a claim that lost its volume": {
			refs:        []runtime.Object{claim("data", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })},
			unsupported: "spec.volumes[0]: persistent volume claim data has lost its volume",
		},
		"a claim that is being bound": {
			refs:        []runtime.Object{claim("data", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" })},
			unsupported: "spec.volumes[0]: persistent volume claim data is still being bound to volume v",
		},
		"a class that binds at once": {
			refs:        []runtime.Object{claim("data", ofClass("fast")), storageClass("fast", "x.example.com", early)},
			unsupported: "spec.volumes[0]: persistent volume claim data waits for its volume: storage class fast binds at once, not with the pod",
		},
		"no class and no default": {
			refs:        []runtime.Object{claim("data")},
			unsupported: "spec.volumes[0]: persistent volume claim data names no storage class, and the cluster has no default",
		},
		"a class that is not there": {
			refs:        []runtime.Object{claim("data", ofClass("x"))},
			unsupported: "spec.volumes[0]: storage class x of persistent volume claim data is not there",
		},
		"a claim that wants no class": {
			refs:        []runtime.Object{claim("data", ofClass(""))},
			unsupported: "spec.volumes[0]: persistent volume claim data has no storage class and is not bound",
		},
		"a provisioner of another cloud": {
			refs:        []runtime.Object{claim("data", ofClass("pd")), storageClass("pd", "kubernetes.io/gce-pd", late)},
			unsupported: "spec.volumes[0]: storage class pd: provisioner kubernetes.io/gce-pd is built into Kubernetes and not planned for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(func(p *corev1.Pod) {
				source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
				p.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: source}, {Name: "twice", VolumeSource: source}}
			})
			_, class := convertPod(t, p, tc.refs...)
			if diff := cmp.Diff(tc.volumes, class.GetVolumes(), protocmp.Transform()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.attachments, class.GetVolumeAttachments(), protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("attachments (-want +got):\n%s", diff)
			}
			if class.GetUnsupported() != tc.unsupported {
				t.Errorf("unsupported %q, want %q", class.GetUnsupported(), tc.unsupported)
			}
		})
	}
}

func TestEphemeralVolumeStandsForItsClaim(t *testing.T) {
	class := "gp3"
	p := pod(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
		}}}}
	})
	sc := storageClass("gp3", "ebs.csi.aws.com", storagev1.VolumeBindingWaitForFirstConsumer, "a")
	ebs := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}
	inB := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(zone, corev1.NodeSelectorOpIn, "b")}}
	made := func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: p.Name, UID: p.UID, Controller: new(true)}}
	}
	for name, tc := range map[string]struct {
		refs              []runtime.Object
		zone, unsupported string
	}{
		"before the claim is made": {refs: []runtime.Object{sc}, zone: "a"},
		"once the claim is bound":  {refs: []runtime.Object{sc, claim("web-0-scratch", made, boundTo("v")), volume("v", ebs, inB)}, zone: "b"},
		"a claim that someone else has made": {
			refs:        []runtime.Object{sc, claim("web-0-scratch", boundTo("v")), volume("v", ebs, inB)},
			unsupported: "spec.volumes[0]: persistent volume claim web-0-scratch is there, but was not made for the pod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := convertPod(t, p, tc.refs...)
			var want []*clusterpb.VolumeTopology
			if tc.zone != "" {
				want = []*clusterpb.VolumeTopology{{Driver: "ebs.csi.aws.com", Terms: []*clusterpb.NodeAffinityTerm{
					{Requirements: []*clusterpb.Requirement{req(zone, opIn, tc.zone)}},
				}}}
			}
			if diff := cmp.Diff(want, got.GetVolumes(), protocmp.Transform()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			if got.GetUnsupported() != tc.unsupported {
				t.Errorf("unsupported %q, want %q", got.GetUnsupported(), tc.unsupported)
			}
		})
	}
}

// TestAStatefulSetIsOneClass makes sure that pods that have volumes of their own do not have classes of their own, as long
// as their volumes can be reached from the same places.
func TestAStatefulSetIsOneClass(t *testing.T) {
	ebs := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}
	in := func(z string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(zone, corev1.NodeSelectorOpIn, z)}}
	}
	refs := []runtime.Object{
		claim("data-db-0", boundTo("v0")), volume("v0", ebs, in("a")),
		claim("data-db-1", boundTo("v1")), volume("v1", ebs, in("a")),
		claim("data-db-2", boundTo("v2")), volume("v2", ebs, in("b")),
		claim("shared", boundTo("v3")), volume("v3", ebs, in("a")),
	}
	db := func(name string, claims ...string) *corev1.Pod {
		return pod(func(p *corev1.Pod) {
			p.Name = name
			for _, c := range claims {
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
				}})
			}
		})
	}
	class := func(p *corev1.Pod) string {
		_, c := convertPod(t, p, refs...)
		return c.GetId()
	}
	first := class(db("db-0", "data-db-0", "shared"))
	if got := class(db("db-1", "shared", "data-db-1")); got != first {
		t.Error("two pods with a volume each in one zone have two classes")
	}
	if got := class(db("db-2", "data-db-2", "shared")); got == first {
		t.Error("pods with volumes in two zones share a class")
	}
	_, c := convertPod(t, db("db-0", "data-db-0", "shared"), refs...)
	if n := c.GetVolumeAttachments()[0].GetValue(); n != 2 {
		t.Errorf("%d attachments, want both volumes", n)
	}
	if v := c.GetVolumes(); len(v) != 2 || v[0].GetName() != "" || v[1].GetName() != "shop/shared" || v[1].GetDriver() != "ebs.csi.aws.com" {
		t.Errorf("volumes %v, want one without a name, and the shared one by its name", v)
	}
}
