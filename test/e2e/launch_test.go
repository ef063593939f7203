package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

// TestTwoThousandInstancesWithinAnAccountsLimits makes 2,000 instances by 40 launches at once, gives a part of them
// their tags, and ends each by itself, all at once, with AWS's limits on calls. What is refused is tried again by the
// SDK, and would be seen here.
func TestTwoThousandInstancesWithinAnAccountsLimits(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	const launches, each, tagged = 40, 50, 150
	cfg := awssim.Default("test")
	cfg.Limits = awssim.RealLimits()
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	ec2, classes, _, _, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{Region: "us-east-1", Endpoint: server.URL, Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	spec := openRoles(t).spec
	class, err := classes.Resolve(t.Context(), spec)
	if err != nil || !class.NotReady.OK() {
		t.Fatal(err, class.NotReady.Message)
	}
	var mu sync.Mutex
	var made []cloud.Instance
	var failed []error
	note := func(list []cloud.Instance, err error) {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, list...)
		if err != nil {
			failed = append(failed, err)
		}
	}
	all := func(n int, do func(ctx context.Context, k int) ([]cloud.Instance, error)) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var done sync.WaitGroup
		for k := range n {
			done.Go(func() { note(do(ctx, k)) })
		}
		done.Wait()
	}
	types, zones := []model.TypeName{"m5.large", "c5.large", "m5.xlarge", "c5.xlarge", "r5.large", "m6i.large"}, "abc"
	all(launches, func(ctx context.Context, k int) ([]cloud.Instance, error) {
		name := types[k%len(types)]
		return ec2.Launch(ctx, cloud.Request{
			Count: each, Token: fmt.Sprint("token-", k), NodePool: "default", Class: class, Spec: spec, MaxPods: map[model.TypeName]int64{name: 4},
			Offerings: []model.RankedOffering{{InstanceType: name, Zone: "us-east-1" + zones[k%3:][:1], CapacityType: model.OnDemand}},
		})
	})
	first := made
	all(tagged, func(ctx context.Context, k int) ([]cloud.Instance, error) {
		i := first[k]
		i.Claim = model.ClaimID(fmt.Sprint("claim-", k))
		return nil, ec2.Tag(ctx, i)
	})
	all(len(first), func(ctx context.Context, k int) ([]cloud.Instance, error) {
		return nil, ec2.Terminate(ctx, first[k].ID)
	})
	ids := map[string]bool{}
	for _, i := range first {
		ids[i.ID] = true
	}
	calls, n := server.Calls(), 0
	for action, k := range calls.Counts {
		if strings.HasPrefix(action, "ec2:") {
			n += k
		}
	}
	perLaunch := float64(n+launches*each-tagged) / (launches * each)
	t.Logf("%d instances made and ended; %d calls failed; %.2f EC2 calls for each, tags included; refused: %v; %v",
		len(ids), len(failed), perLaunch, calls.Errors, calls.Counts)
	for action, refused := range calls.Errors { // the clocks of the two buckets differ by a moment
		if strings.Contains(action, "RequestLimitExceeded") && refused > 3 {
			t.Errorf("%s: %d refused", action, refused)
		}
	}
	if err := errors.Join(failed...); err != nil || len(ids) != launches*each || perLaunch > 1.2 {
		t.Errorf("%d instances, %.2f calls for each, %v", len(ids), perLaunch, err)
	}
}

// TestATemplateThatWasDeletedIsMadeAgain deletes the launch template between two launches behind the actuator's back.
func TestATemplateThatWasDeletedIsMadeAgain(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	conf, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion("us-east-1"), awsconfig.WithBaseEndpoint(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	raw := sdk.NewFromConfig(conf)
	r := cloud.Request{
		NodePool: "default", Class: resolved(t, w), Spec: w.Spec,
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
	}
	for k, fleets := range []int{1, 2} {
		r.Claim, r.Token = model.ClaimID(fmt.Sprint("default-", k)), fmt.Sprint(k)
		before := server.Calls().Counts["ec2:CreateFleet"]
		if made, err := w.Cloud.Launch(t.Context(), r); err != nil || len(made) != 1 {
			t.Fatalf("%d instances, %v; want one", len(made), err)
		}
		if n := server.Calls().Counts["ec2:CreateFleet"] - before; n != fleets {
			t.Errorf("launch %d: %d fleets were asked for, want %d", k, n, fleets)
		}
		list, err := raw.DescribeLaunchTemplates(t.Context(), &sdk.DescribeLaunchTemplatesInput{})
		if err != nil || len(list.LaunchTemplates) != 1 {
			t.Fatal(err, list)
		}
		if _, err := raw.DeleteLaunchTemplate(t.Context(), &sdk.DeleteLaunchTemplateInput{LaunchTemplateId: list.LaunchTemplates[0].LaunchTemplateId}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatALaunchIsToldByEachCode has CreateFleet fail by what EC2 says on the wire.
func TestWhatALaunchIsToldByEachCode(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	r := cloud.Request{
		Claim: "default-1", NodePool: "default", Class: resolved(t, w), Spec: w.Spec,
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
	}
	var short *cloud.CapacityError
	for code, want := range map[string]func(error) bool{
		"UnauthorizedOperation":       func(err error) bool { return errors.Is(err, cloud.ErrUnauthorized) },
		"InvalidParameterValue":       func(err error) bool { return errors.Is(err, cloud.ErrInvalid) },
		"InvalidSubnetID.NotFound":    func(err error) bool { return errors.Is(err, cloud.ErrClassNotReady) },
		"VcpuLimitExceeded":           func(err error) bool { return errors.As(err, &short) },
		"MaxFleetCountExceeded":       func(err error) bool { return errors.As(err, &short) && len(short.Offerings) == 1 },
		"IdempotentParameterMismatch": func(err error) bool { return errors.Is(err, cloud.ErrTokenMismatch) },
		"IncorrectInstanceState":      func(err error) bool { return errors.Is(err, cloud.ErrNoInstance) },
	} {
		r.Token = code
		server.Fail(awssim.Fault{Action: "ec2:CreateFleet", Code: code})
		made, err := w.Cloud.Launch(t.Context(), r)
		if len(made) > 0 || err == nil || !want(err) || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %d instances, error %v", code, len(made), err)
		}
	}
	// An answer that is lost is asked for again by the SDK under the same token, and makes no second instance.
	server.Fail(awssim.Fault{Action: "ec2:CreateFleet", Code: awssim.CodeDrop, After: true})
	r.Token = "lost"
	if _, err := w.Cloud.Launch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	if all, err := w.Cloud.Instances(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d instances, %v; want one", len(all), err)
	}
}

// TestAnotherClustersInstancesAreNotSeen has two clusters in one account, whose names begin alike.
func TestAnotherClustersInstancesAreNotSeen(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	other, _, _, _, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: server.URL, Cluster: "test-2",
		API: actuator.APIConfig{Endpoint: "https://api", CABase64: "Y2E=", ServiceCIDR: "172.20.0.0/16", KubernetesVersion: "1.36"},
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.Cloud.Launch(t.Context(), cloud.Request{
		Claim: "default-1", Token: "1", NodePool: "default", Class: resolved(t, w), Spec: w.Spec,
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
	})
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	w.Advance(time.Minute)
	for _, some := range [][]cloud.Some{nil, {{Instance: made[0].ID}}, {{Claim: "default-1"}}, {{Launch: "1"}}} {
		theirs, err := other.Instances(t.Context(), some...)
		ours, failed := w.Cloud.Instances(t.Context(), some...)
		if err != nil || failed != nil || len(theirs) != 0 || len(ours) != 1 {
			t.Errorf("%v: the other cluster sees %d, %v; its own %d, %v", some, len(theirs), err, len(ours), failed)
		}
	}
}
