package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

// TestTheAdapterOfAWSKeepsTheContractOfThePort opens AWS as the actuator does, over the wire, for the suite that the
// actuator's own fake passes too. It needs no control plane.
func TestTheAdapterOfAWSKeepsTheContractOfThePort(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	cloudtest.Suite(t, openWorld)
}

// TestLaunchesComeThroughWhatAWSHasNotHeardOfYet is of an AWS that sees templates and profiles only a while after they were
// made: a launch then made no instance, holds nothing against the class, and works with another token.
func TestLaunchesComeThroughWhatAWSHasNotHeardOfYet(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	w, _ := openWorldWith(t, func(c *awssim.Config) { c.TemplateLag, c.ProfileLag = 3*time.Second, 8*time.Second })
	class, err := w.Classes.Resolve(t.Context(), w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	r := cloud.Request{
		Claim: "default-1", NodePool: "default", Class: class, Spec: w.Spec,
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
	}
	for attempt := range 3 {
		r.Token = fmt.Sprint("token-", attempt)
		_, err := w.Cloud.Launch(t.Context(), r)
		if attempt == 2 && err == nil {
			return
		}
		if !errors.Is(err, cloud.ErrNoInstance) || errors.Is(err, cloud.ErrClassNotReady) || errors.Is(err, cloud.ErrInvalid) {
			t.Fatalf("attempt %d: error %v, want that no instance was made and nothing is wrong", attempt, err)
		}
		w.Advance(5 * time.Second)
	}
}

// boots notes what kubelets are started with.
type boots struct {
	mu  sync.Mutex
	all []awssim.Boot
}

func (b *boots) Join(_ context.Context, boot awssim.Boot) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, boot)
	return nil
}

func (b *boots) Leave(context.Context, string) error { return nil }

func (b *boots) last() (awssim.Boot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) == 0 {
		return awssim.Boot{}, false
	}
	return b.all[len(b.all)-1], true
}

// TestKubeletsStartWithWhatTheClassSays reads user data back as the images' boot programs do.
func TestKubeletsStartWithWhatTheClassSays(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	taints := []userdata.Taint{
		{Key: "karpenter.sh/unregistered", Effect: "NoExecute"},
		{Key: "team", Value: "a", Effect: "NoSchedule"},
		{Key: "team", Value: "a", Effect: "NoExecute"},
	}
	for name, change := range map[string]func(*cloud.ClassSpec){
		"AL2023 with a MIME message": func(s *cloud.ClassSpec) {
			s.UserData = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/sh\ntrue\n" +
				"--B\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5}}}\n--B--\n"
		},
		"Bottlerocket with settings": func(s *cloud.ClassSpec) {
			s.AMIFamily, s.ImageTerms = "Bottlerocket", []cloud.ImageTerm{{Alias: "bottlerocket@latest"}}
			s.UserData = "[settings.kubernetes]\nkube-api-qps = 30\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var kubelets boots
			w, _ := openWorldWith(t, func(c *awssim.Config) { c.Kubelet = &kubelets })
			change(&w.Spec)
			w.Spec.InstanceStoreRAID0 = true
			class, err := w.Classes.Resolve(t.Context(), w.Spec)
			if err != nil || !class.NotReady.OK() {
				t.Fatal(err, class.NotReady.Message)
			}
			r := cloud.Request{
				Claim: "default-1", Token: "t", NodePool: "default", Class: class, Spec: w.Spec, MaxPods: map[model.TypeName]int64{"m5d.large": 29},
				Offerings: []model.RankedOffering{{InstanceType: "m5d.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
				Labels:    model.Labels{{Key: "type", Value: "karpenter"}, {Key: "topology.kubernetes.io/zone", Value: "us-east-1a"}},
			}
			for _, n := range taints {
				effect, ok := model.ParseTaintEffect(n.Effect)
				if !ok {
					t.Fatal(n.Effect)
				}
				r.Taints = append(r.Taints, model.Taint{Key: n.Key, Value: n.Value, Effect: effect})
			}
			if _, err := w.Cloud.Launch(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			w.Advance(time.Minute)
			got, ok := kubelets.last()
			if !ok {
				t.Fatal("it never started")
			}
			n := got.UserData
			if n.MaxPods != 29 || !n.LocalStorageRAID0 || n.Labels["type"] != "karpenter" || !slices.Equal(n.Taints, taints) || got.Capacity.EphemeralBytes != 75e9 {
				t.Errorf("started with %+v and %d bytes of disk", n, got.Capacity.EphemeralBytes)
			}
		})
	}
}

func TestInstancesGoIntoTheSubnetWithTheMostFreeAddresses(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	const small, large = "subnet-0aaaaaaaaaaaaaaa1", "subnet-0dddddddddddddddd"
	w, server := openWorldWith(t, func(c *awssim.Config) {
		c.Subnets[0].CIDR = "10.0.32.0/24"
		c.Subnets = append(c.Subnets, awssim.Subnet{ID: large, Zone: "us-east-1a", CIDR: "10.0.128.0/20", Tags: c.Subnets[0].Tags})
	})
	class, err := w.Classes.Resolve(t.Context(), w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	launch := func(token string) (string, error) {
		_, err := w.Cloud.Launch(t.Context(), cloud.Request{
			Claim: model.ClaimID(token), Token: token, NodePool: "default", Class: class, Spec: w.Spec,
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
		})
		if err != nil {
			return "", err
		}
		w.Advance(time.Minute)
		all, err := w.Cloud.Instances(t.Context(), cloud.Some{Claim: model.ClaimID(token)})
		if err != nil || len(all) != 1 {
			t.Fatal(err, all)
		}
		return all[0].SubnetID, nil
	}
	for _, token := range []string{"1", "1", "2"} {
		if got, err := launch(token); got != large || err != nil {
			t.Fatalf("launched in %q, %v; want %s", got, err, large)
		}
	}
	if err := server.SetFreeAddresses(large, 0); err != nil {
		t.Fatal(err)
	}
	var short *cloud.CapacityError
	if _, err := launch("3"); !errors.Is(err, cloud.ErrNoInstance) || errors.As(err, &short) {
		t.Fatalf("error %v, want that no instance was made; the zone has another subnet", err)
	}
	if got, err := launch("4"); got != small || err != nil {
		t.Fatalf("launched in %q, %v; want %s once the other is full", got, err, small)
	}
	if err := server.SetFreeAddresses(small, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := launch("5"); !errors.As(err, &short) || len(short.Offerings) != 1 {
		t.Fatalf("error %v, want a shortage once all are full", err)
	}
}

func TestAdaptersAreAttachedToEachNetworkCard(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for name, want := range map[model.TypeName]int64{"p5.48xlarge": 32, "p6-b300.48xlarge": 16, "i7ie.48xlarge": 1, "g5.48xlarge": 1} {
		var kubelets boots
		w, _ := openWorldWith(t, func(c *awssim.Config) { c.Kubelet = &kubelets })
		class, err := w.Classes.Resolve(t.Context(), w.Spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Cloud.Launch(t.Context(), cloud.Request{
			Claim: "default-1", Token: "t", NodePool: "default", Class: class, Spec: w.Spec, EFA: true, MaxPods: map[model.TypeName]int64{name: 110},
			Offerings: []model.RankedOffering{{InstanceType: name, Zone: "us-east-1a", CapacityType: model.OnDemand}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
		if got, ok := kubelets.last(); !ok || got.Capacity.Devices["vpc.amazonaws.com/efa"] != want {
			t.Errorf("%s has %v, want %d adapters", name, got.Capacity.Devices, want)
		}
	}
}

// keepWire writes all that is sent and answered into a new file below $KERF_WIRE, a JSON value each; nil where that is
// not set. `make conformance` reads them.
func keepWire(t *testing.T) func(awssim.Exchange) {
	t.Helper()
	dir := os.Getenv("KERF_WIRE")
	if dir == "" {
		return nil
	}
	f, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // a value that is not whole is found when it is read
	var mu sync.Mutex
	to := json.NewEncoder(f)
	return func(x awssim.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		_ = to.Encode(x) // a call may outlive the test
	}
}

func openWorld(t *testing.T) cloudtest.World {
	t.Helper()
	w, _ := openWorldWith(t, func(*awssim.Config) {})
	return w
}

func openWorldWith(t *testing.T, change func(*awssim.Config)) (cloudtest.World, *awssim.Server) {
	t.Helper()
	const cluster = "test"
	cfg := awssim.Default(cluster)
	cfg.Record = keepWire(t)
	change(&cfg)
	clock := awssim.NewFakeClock(time.Now())
	cfg.Clock = clock
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	c, classes, market, queue, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: server.URL, Queue: cluster, Cluster: cluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	discovery := []cloud.SelectorTerm{{Tags: model.Labels{{Key: "karpenter.sh/discovery", Value: cluster}}}}
	return cloudtest.World{
		Cloud: c, Classes: classes, Market: market, Queue: queue, Checks: c.(cloud.Checks),
		Spec: cloud.ClassSpec{
			Name: "default", Role: "KerfNodeRole-" + cluster, SubnetTerms: discovery, SecurityGroupTerms: discovery,
			ImageTerms: []cloud.ImageTerm{{Alias: "al2023@latest"}}, AMIFamily: "AL2023",
			Metadata: cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
		},
		Exhaust: func(o model.RankedOffering) {
			server.SetStock(awssim.Pool{InstanceType: string(o.InstanceType), Zone: o.Zone, CapacityType: o.CapacityType.String()}, 0)
		},
		Limit: func(o model.RankedOffering, n int) {
			server.SetStock(awssim.Pool{InstanceType: string(o.InstanceType), Zone: o.Zone, CapacityType: o.CapacityType.String()}, int64(n))
		},
		Send: func(body string) {
			if err := server.SendRaw(body); err != nil {
				t.Error(err)
			}
		},
		Impair: func(id string, host bool) {
			if err := server.Impair(id, host); err != nil {
				t.Error(err)
			}
		},
		Advance: clock.Advance,
	}, server
}
