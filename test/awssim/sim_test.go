package awssim_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/test/awssim"
)

const (
	cluster   = "c1"
	subnetA   = "subnet-0aaaaaaaaaaaaaaa1"
	subnetB   = "subnet-0bbbbbbbbbbbbbbb2"
	al2023    = "/aws/service/eks/optimized-ami/1.37/amazon-linux-2023/x86_64/standard/recommended/image_id"
	profile   = "profile-1"
	role      = "KerfNodeRole-" + cluster
	userData  = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {name: c1, apiServerEndpoint: https://c1.example, certificateAuthority: Y2E=, cidr: 10.100.0.0/16}\n  kubelet:\n    config:\n      maxPods: 29\n      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]\n    flags: [\"--node-labels=type=karpenter\"]\n"
	fleetTag  = "kerf.dev/claim"
	claimName = "claim-1"
)

// world is a simulator on a fake clock with a client of each service.
type world struct {
	*awssim.Server
	t       *testing.T
	clock   *awssim.FakeClock
	kubelet *recorder
	aws     aws.Config

	ec2     *ec2.Client
	sqs     *sqs.Client
	ssm     *ssm.Client
	iam     *iam.Client
	eks     *eks.Client
	pricing *pricing.Client
}

var bundled = sync.OnceValues(catalog.Bundled)

// newWorld starts a simulator whose Config the caller may change first. Clients do not retry.
func newWorld(t *testing.T, change ...func(*awssim.Config)) *world {
	t.Helper()
	types, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: awssim.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), kubelet: &recorder{}}
	c := awssim.Default(cluster)
	c.Catalog, c.Clock, c.Kubelet = types, w.clock, w.kubelet
	for _, f := range change {
		f(&c)
	}
	if w.Server, err = awssim.Start("127.0.0.1:0", c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	w.aws = aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(w.URL), Retryer: func() aws.Retryer { return retryBrokenConnections() },
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	}
	w.ec2, w.sqs, w.ssm = ec2.NewFromConfig(w.aws), sqs.NewFromConfig(w.aws), ssm.NewFromConfig(w.aws)
	w.iam, w.eks, w.pricing = iam.NewFromConfig(w.aws), eks.NewFromConfig(w.aws), pricing.NewFromConfig(w.aws)
	return w
}

// retryBrokenConnections repeats only what the note at send in server.go is about; all errors of the services get
// through at once.
func retryBrokenConnections() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.RateLimiter = 5, ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
		o.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			return aws.BoolTernary(strings.Contains(err.Error(), "use of closed network connection"))
		})}
	})
}

func (w *world) advance(d time.Duration) {
	w.t.Helper()
	if err := w.Advance(d); err != nil {
		w.t.Fatal(err)
	}
}

// image is the recommended AL2023 image for amd64.
func (w *world) image() string {
	w.t.Helper()
	out := must(w.ssm.GetParameter(w.t.Context(), &ssm.GetParameterInput{Name: aws.String(al2023)}))(w.t)
	return *out.Parameter.Value
}

// template makes an instance profile with its role and a launch template with the user data, and returns its name.
func (w *world) template(data string) string {
	w.t.Helper()
	ctx := w.t.Context()
	if _, err := w.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(profile)}); err == nil {
		must(w.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(profile), RoleName: aws.String(role)}))(w.t)
	}
	name := "lt-" + fmt.Sprint(len(w.State().LaunchTemplates))
	must(w.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: aws.String(w.image()), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(data))),
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(profile)},
			SecurityGroupIds:   []string{"sg-0123456789abcdef0"},
			BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
				DeviceName: aws.String("/dev/xvda"),
				Ebs:        &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(30), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true)},
			}},
			MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired},
		},
	}))(w.t)
	return name
}

// fleet is a request for n instances of the types in subnet A.
func fleet(template, capacityType string, n int32, instanceTypes ...string) *ec2.CreateFleetInput {
	var overrides []types.FleetLaunchTemplateOverridesRequest
	for _, it := range instanceTypes {
		overrides = append(overrides, types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceType(it), SubnetId: aws.String(subnetA),
		})
	}
	return &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
			Overrides:                   overrides,
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: &n, DefaultTargetCapacityType: types.DefaultTargetCapacityType(capacityType),
		},
		TagSpecifications: []types.TagSpecification{{
			ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String(fleetTag), Value: aws.String(claimName)}},
		}},
	}
}

// launch makes a fleet that must succeed and returns its instance ids.
func (w *world) launch(in *ec2.CreateFleetInput) []string {
	w.t.Helper()
	out := must(w.ec2.CreateFleet(w.t.Context(), in))(w.t)
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	if len(ids) == 0 {
		w.t.Fatalf("no instance: %v", summary(out))
	}
	return ids
}

// describe is what DescribeInstances says about ids.
func (w *world) describe(in *ec2.DescribeInstancesInput) []types.Instance {
	w.t.Helper()
	var all []types.Instance
	p := ec2.NewDescribeInstancesPaginator(w.ec2, in)
	for p.HasMorePages() {
		for _, r := range must(p.NextPage(w.t.Context()))(w.t).Reservations {
			all = append(all, r.Instances...)
		}
	}
	return all
}

func (w *world) state(id string) awssim.InstanceState {
	w.t.Helper()
	for _, i := range w.State().Instances {
		if i.ID == id {
			return i
		}
	}
	w.t.Fatalf("instance %s is not in the world", id)
	return awssim.InstanceState{}
}

func byID(ids ...string) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{InstanceIds: ids}
}

// summary shows a fleet's answer in few words.
func summary(out *ec2.CreateFleetOutput) []string {
	var s []string
	for _, i := range out.Instances {
		s = append(s, fmt.Sprintf("%d %s %s", len(i.InstanceIds), i.InstanceType, aws.ToString(i.LaunchTemplateAndOverrides.Overrides.SubnetId)))
	}
	for _, e := range out.Errors {
		s = append(s, fmt.Sprintf("%s %s", aws.ToString(e.ErrorCode), e.LaunchTemplateAndOverrides.Overrides.InstanceType))
	}
	return s
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// code is an API error's code, empty for success.
func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("error code %q, want %q", got, want)
	}
}

// recorder is a Kubelet that remembers. The next calls fail as often as fails says.
type recorder struct {
	mu    sync.Mutex
	boots []awssim.Boot
	left  []string
	fails int
}

func (r *recorder) Join(_ context.Context, b awssim.Boot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails--
		return errors.New("the API server is away")
	}
	r.boots = append(r.boots, b)
	return nil
}

func (r *recorder) Leave(_ context.Context, nodeName string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails--
		return errors.New("the API server is away")
	}
	r.left = append(r.left, nodeName)
	return nil
}
