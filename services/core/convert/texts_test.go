package convert_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

// large is a snapshot as it comes over the wire, in parts: nodes of 40 types, each with a claim that was offered 60
// types, and ten pods.
func large(tb testing.TB, nodes int) [][]byte {
	tb.Helper()
	label := func(key, value string) *clusterpb.Label { return &clusterpb.Label{Key: key, Value: value} }
	amounts := func(cpu int64) []*clusterpb.Amount {
		return []*clusterpb.Amount{
			{Resource: "cpu", Value: cpu}, {Resource: "ephemeral-storage", Value: 20 << 30}, {Resource: "memory", Value: cpu << 21}, {Resource: "pods", Value: 58},
		}
	}
	at := timestamppb.New(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	var parts [][]byte
	for i := range nodes {
		s := &clusterpb.Snapshot{}
		name, size, zone := fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250), fmt.Sprintf("m%d.%dxlarge", 5+i%4, 1+i%10), fmt.Sprintf("us-east-1%c", 'a'+i%3)
		labels := []*clusterpb.Label{
			label("beta.kubernetes.io/arch", "amd64"), label("beta.kubernetes.io/os", "linux"), label("karpenter.k8s.aws/instance-category", "m"),
			label("karpenter.k8s.aws/instance-cpu", fmt.Sprint(4*(1+i%10))), label("karpenter.k8s.aws/instance-family", size[:2]),
			label("karpenter.k8s.aws/instance-generation", size[1:2]), label("karpenter.k8s.aws/instance-hypervisor", "nitro"),
			label("karpenter.k8s.aws/instance-memory", fmt.Sprint(16384*(1+i%10))), label("karpenter.sh/capacity-type", "on-demand"),
			label("karpenter.sh/nodepool", "default"), label("kubernetes.io/arch", "amd64"), label("kubernetes.io/hostname", name),
			label("kubernetes.io/os", "linux"), label("node.kubernetes.io/instance-type", size), label("topology.kubernetes.io/zone", zone),
		}
		claim := &clusterpb.Claim{
			Id: fmt.Sprintf("default-%05d", i), NodePool: "default", NodeClass: "default", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED,
			PoolHash: "1234567890123456789", ClassHash: "9876543210987654321", InstanceType: size, Zone: zone, CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND,
			Node: name, Labels: labels, Requests: amounts(1000), Capacity: amounts(4000), Allocatable: amounts(3920), CreateTime: at, ImageId: "ami-0123456789abcdef0",
		}
		for k := range 60 {
			claim.Offerings = append(claim.Offerings, &clusterpb.RankedOffering{
				InstanceType: fmt.Sprintf("c%d.%dxlarge", 5+k%4, 1+k), Zone: zone, CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, PriceMicroUsdPerHour: int64(96000 + k),
			})
		}
		s.Claims = append(s.Claims, claim)
		s.Nodes = append(s.Nodes, &clusterpb.Node{
			Name: name, Claim: claim.GetId(), ProviderId: fmt.Sprintf("aws:///%s/i-%017x", zone, i), Labels: labels, Allocatable: amounts(3920), Capacity: amounts(4000), Ready: true, CreateTime: at,
		})
		for k := range 10 {
			s.Pods = append(s.Pods, &clusterpb.Pod{
				Id: fmt.Sprintf("shop/web-%d-7d4b9c6f5-%05d", k, i), Uid: fmt.Sprintf("5f0c7b1e-0000-4000-8000-%012x", i*10+k), ClassId: fmt.Sprintf("c-%016x", k),
				Node: name, Phase: clusterpb.PodPhase_POD_PHASE_RUNNING, CreateTime: at, BindTime: at, Ready: true,
			})
		}
		part, err := proto.Marshal(s)
		if err != nil {
			tb.Fatal(err)
		}
		parts = append(parts, part)
	}
	return parts
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkHeld is what the heap holds of a snapshot of 2,000 nodes and 20,000 pods that came over the wire.
func BenchmarkHeld(b *testing.B) {
	parts := large(b, 2000)
	for name, share := range map[string]bool{"copies": false, "shared": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				var out model.Snapshot
				var texts convert.Texts
				for _, part := range parts {
					var s clusterpb.Snapshot
					if err := proto.Unmarshal(part, &s); err != nil {
						b.Fatal(err)
					}
					if share {
						texts.Share(&s)
					}
					m, err := convert.Part(&s)
					if err != nil {
						b.Fatal(err)
					}
					out.Append(&m)
				}
				b.StopTimer()
				b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
				runtime.KeepAlive(out)
				runtime.KeepAlive(&texts)
				b.StartTimer()
			}
		})
	}
}

func TestATextThatIsRepeatedIsHeldOnce(t *testing.T) {
	var texts convert.Texts
	var read []model.Snapshot
	for _, part := range large(t, 4) { // each part and each delta is a message of its own
		var shared, plain clusterpb.Snapshot
		for _, s := range []*clusterpb.Snapshot{&shared, &plain} {
			if err := proto.Unmarshal(part, s); err != nil {
				t.Fatal(err)
			}
		}
		texts.Share(&shared)
		if !proto.Equal(&shared, &plain) {
			t.Error("sharing changed what a message says")
		}
		m, err := convert.Part(&shared)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, m)
	}
	same := func(what, a, b string) {
		t.Helper()
		if a != b || unsafe.StringData(a) != unsafe.StringData(b) {
			t.Errorf("%s %q and %q are two copies", what, a, b)
		}
	}
	for i, s := range read {
		first := read[0]
		same("label", s.Nodes[0].Labels[0].Key, first.Nodes[0].Labels[0].Key)
		same("resource", string(s.Nodes[0].Capacity[0].Resource), string(first.Claims[0].Requests[0].Resource))
		same("node", string(s.Pods[3].Node), string(s.Nodes[0].Name))
		same("class", string(s.Pods[0].Class), string(first.Pods[0].Class))
		same("type", string(s.Claims[0].Offerings[7].InstanceType), string(first.Claims[0].Offerings[7].InstanceType))
		if i == 3 {
			same("zone", s.Claims[0].Zone, first.Claims[0].Zone)
		}
	}
}
