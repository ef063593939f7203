package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

func TestAnInstanceLivesAndDiesByTheClock(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) {
		c.LaunchLatency, c.JoinLatency, c.TerminateLatency = 20*time.Second, 10*time.Second, 30*time.Second
	})
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	states := func() []string {
		var s []string
		for _, i := range w.describe(byID(id)) {
			s = append(s, string(i.State.Name))
		}
		return s
	}
	want := func(state string, joined bool) {
		t.Helper()
		if d := cmp.Diff([]string{state}, states()); d != "" {
			t.Error(d)
		}
		if got := w.state(id).Joined; got != joined {
			t.Errorf("%s: joined is %v", state, got)
		}
	}
	want("pending", false)
	w.advance(19 * time.Second)
	want("pending", false)
	w.advance(time.Second)
	want("running", false)
	w.advance(10 * time.Second)
	want("running", true)

	out := must(w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))(t)
	change := out.TerminatingInstances[0]
	if change.PreviousState.Name != "running" || change.CurrentState.Name != "shutting-down" || *change.CurrentState.Code != 32 {
		t.Errorf("change %v → %v", change.PreviousState.Name, change.CurrentState.Name)
	}
	must(w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))(t)
	want("shutting-down", true)
	w.advance(30 * time.Second)
	want("terminated", false)
	if d := cmp.Diff([]string{w.state(id).NodeName}, w.kubelet.left); d != "" {
		t.Error(d)
	}
	w.advance(time.Hour)
	_, err := w.ec2.DescribeInstances(t.Context(), byID(id))
	wantCode(t, err, "InvalidInstanceID.NotFound")
	for _, s := range w.State().Subnets {
		if s.Free != 8187 {
			t.Errorf("subnet %s has %d free addresses", s.ID, s.Free)
		}
	}
}

func TestWhatIsUnknownIsNamedAndNothingEnds(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	_, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-00000000000000001", id, "i-00000000000000002"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if !strings.Contains(err.Error(), "'i-00000000000000001, i-00000000000000002'") || w.state(id).State != "pending" {
		t.Errorf("%v, and the instance is %s; want both named, and nothing ended", err, w.state(id).State)
	}
}

func TestDescribeLagsBehindTheTruth(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.DescribeLag, c.LaunchLatency = 5*time.Second, time.Second })
	ctx := t.Context()
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	byTag := &ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("tag:" + fleetTag), Values: []string{claimName}}}}

	_, err := w.ec2.DescribeInstances(ctx, byID(id))
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if n := len(w.describe(byTag)); n != 0 {
		t.Errorf("%d instances seen too early", n)
	}
	w.advance(5 * time.Second) // the instance runs for four seconds now
	if s := w.describe(byTag)[0].State.Name; s != "pending" {
		t.Errorf("state %s", s)
	}
	w.advance(time.Second)
	if s := w.describe(byTag)[0].State.Name; s != "running" {
		t.Errorf("state %s", s)
	}
	must(w.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("n")}}}))(t)
	must(w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))(t)
	got := w.describe(byTag)[0]
	if got.State.Name != "running" || tag(got, "Name") != "" {
		t.Errorf("state %s, Name %q: seen too early", got.State.Name, tag(got, "Name"))
	}
	w.advance(5 * time.Second)
	if got = w.describe(byTag)[0]; got.State.Name != "shutting-down" || tag(got, "Name") != "n" {
		t.Errorf("state %s, Name %q", got.State.Name, tag(got, "Name"))
	}
}

func tag(i types.Instance, key string) string {
	for _, t := range i.Tags {
		if *t.Key == key {
			return *t.Value
		}
	}
	return ""
}

func TestABootCarriesWhatTheUserDataAskedFor(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "spot", 1, "m5.large"))[0]
	w.advance(time.Minute)
	if len(w.kubelet.boots) != 1 {
		t.Fatalf("%d boots: %s", len(w.kubelet.boots), w.state(id).JoinError)
	}
	const mib = 1 << 20
	// m5.large: 2 vCPU, 8192 MiB, of which 615 are lost; 29 pods reserve 255+11·29 MiB; the disk has 30 GiB.
	want := awssim.Boot{
		InstanceID: id, NodeName: "ip-10-0-32-4.ec2.internal", PrivateIP: "10.0.32.4", ProviderID: "aws:///us-east-1a/" + id,
		Region: "us-east-1", Zone: "us-east-1a", ZoneID: zoneID(t, "us-east-1a"), InstanceType: "m5.large", ImageID: w.image(),
		Arch: "amd64", OS: "linux", CapacityType: "spot", KubernetesVersion: "1.37",
		UserData: userdata.Node{
			ClusterName: cluster, Endpoint: "https://c1.example", CertificateAuthority: "Y2E=", ServiceCIDR: "10.100.0.0/16",
			MaxPods: 29, Labels: map[string]string{"type": "karpenter"},
			Taints:         []userdata.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}},
			KubeReserved:   map[string]string{"cpu": "70m", "memory": "574Mi", "ephemeral-storage": "1Gi"},
			SystemReserved: map[string]string{},
			EvictionHard:   map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
		},
		Capacity:    awssim.Resources{CPUMilli: 2000, MemoryBytes: 7577 * mib, EphemeralBytes: 30 << 30, Pods: 29, Devices: map[string]int64{}},
		Allocatable: awssim.Resources{CPUMilli: 1930, MemoryBytes: 6903 * mib, EphemeralBytes: 26 << 30, Pods: 29, Devices: map[string]int64{}},
	}
	if d := cmp.Diff(want, w.kubelet.boots[0]); d != "" {
		t.Error(d)
	}
}

func zoneID(t *testing.T, zone string) string {
	t.Helper()
	for _, z := range must(bundled())(t).Zones {
		if z.Name == zone {
			return z.ID
		}
	}
	t.Fatalf("no zone %s", zone)
	return ""
}

func TestJoining(t *testing.T) {
	cases := map[string]struct {
		change  func(*awssim.Config)
		data    string
		fails   int
		joined  bool
		because string
	}{
		"joins":                             {data: userData, joined: true},
		"joins once the API server is back": {data: userData, fails: 3, joined: true},
		"never without user data":           {data: "", because: "no part of type application/node.eks.aws: user data has no node configuration"},
		"never another cluster": {
			data: userData, change: func(c *awssim.Config) { c.Endpoint = "https://elsewhere.example" },
			because: "user data: API endpoint is https://c1.example, but the cluster's is https://elsewhere.example",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(cfg *awssim.Config) {
				if c.change != nil {
					c.change(cfg)
				}
			})
			w.kubelet.fails = c.fails
			id := w.launch(fleet(w.template(c.data), "on-demand", 1, "m5.large"))[0]
			w.advance(time.Minute)
			got := w.state(id)
			if got.Joined != c.joined || got.JoinError != c.because || got.State != "running" {
				t.Errorf("joined %v, %q, %s", got.Joined, got.JoinError, got.State)
			}
		})
	}
}

func TestNoMachineJoinsWhileKubeletsAreHeld(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	for _, held := range []bool{true, false} {
		w.HoldKubelets(held)
		w.advance(time.Minute)
		if got := w.state(id); got.Joined == held || got.State != "running" {
			t.Errorf("held %t: joined %t, %s", held, got.Joined, got.State)
		}
	}
}

func TestLeavingIsTriedUntilItIsDone(t *testing.T) {
	w := newWorld(t)
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	w.advance(time.Minute)
	w.kubelet.fails = 2
	must(0, w.Terminate(id))(t)
	w.advance(time.Minute)
	if d := cmp.Diff([]string{w.state(id).NodeName}, w.kubelet.left); d != "" {
		t.Error(d)
	}
}

func TestThrottlingRefillsWithTime(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) {
		c.Limits = map[string]awssim.Limit{"ec2:DescribeSubnets": {Burst: 2, PerSecond: 1}}
	})
	describe := func() error {
		_, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
		return err
	}
	for _, want := range []string{"", "", "RequestLimitExceeded"} {
		wantCode(t, describe(), want)
	}
	w.advance(time.Second)
	for _, want := range []string{"", "RequestLimitExceeded"} {
		wantCode(t, describe(), want)
	}
	calls := w.Calls()
	if calls.Counts["ec2:DescribeSubnets"] != 5 || calls.Errors["ec2:DescribeSubnets RequestLimitExceeded"] != 2 {
		t.Errorf("calls %v, errors %v", calls.Counts, calls.Errors)
	}
}

func TestFaultsAreUsedUp(t *testing.T) {
	w := newWorld(t)
	w.Fail(awssim.Fault{Action: "ec2:TerminateInstances", Code: "InternalError", Times: 1, After: true})
	w.Fail(awssim.Fault{Action: "ec2:DescribeInstances", Code: "UnauthorizedOperation", Times: 2})
	id := w.launch(fleet(w.template(userData), "on-demand", 1, "m5.large"))[0]
	for _, want := range []string{"UnauthorizedOperation", "UnauthorizedOperation", ""} {
		_, err := w.ec2.DescribeInstances(t.Context(), byID(id))
		wantCode(t, err, want)
	}
	_, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InternalError")
	if s := w.state(id).State; s != "shutting-down" {
		t.Errorf("state %s: the fault came before the effect", s)
	}
}
