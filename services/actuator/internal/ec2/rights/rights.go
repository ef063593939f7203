// Package rights asks EC2 whether the credentials may launch what a node class says, before the first launch does: by
// dry runs of the calls that a launch is made of.
//
// Only a clear refusal counts. Where EC2 can't tell now, or is asked too much, the class is taken to be allowed, as a
// launch will tell. It must never know what a class selects. Start reading at Checker.Check.
package rights

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// For how long an answer holds: of one that speaks against launches, DeniedFor. A right that is taken away is told by
// the next launch.
const (
	allowedFor = 12 * time.Hour
	DeniedFor  = 2 * time.Minute
	unsureFor  = 10 * time.Minute
)

// tries is how many types and subnets are tried: a rule of the account may forbid some of them alone.
const tries = 3

// Checker asks, and remembers the answers. Safe for concurrent use.
type Checker struct {
	EC2 *sdk.Client
	Log *slog.Logger
	Now func() time.Time

	mu    sync.Mutex
	known map[string]answer
}

type answer struct {
	key    string // what was asked about
	denied *cloud.Finding
	until  time.Time
}

// Launch is the launch that is asked about.
type Launch struct {
	Class string
	// Profile is the instance profile that the class names; "" where Kerf has made one for it, which EC2 may not know yet.
	Profile string
	// Key is another one whenever the answer may be another one.
	Key    string
	Tags   []types.Tag // of what the launch makes
	Groups []string    // ids of security groups
	// Kinds are tried one by one, until one is allowed.
	Kinds []Kind
	// Remove removes what a kind's Make has made.
	Remove func(ctx context.Context, template string) error
}

// Kind is a launch from one image.
type Kind struct {
	Places []Place
	// Make makes the launch template.
	Make func(ctx context.Context) (template string, err error)
}

// Place is where an instance would be.
type Place struct{ InstanceType, Subnet string }

// Check returns what is not allowed; nil where nothing speaks against a launch.
func (c *Checker) Check(ctx context.Context, l Launch) *cloud.Finding {
	c.mu.Lock()
	last, there := c.known[l.Class]
	c.mu.Unlock()
	if there && last.key == l.Key && c.Now().Before(last.until) {
		return last.denied
	}
	if len(l.Kinds) == 0 {
		return nil
	}
	denied, unsure := c.ask(ctx, l)
	now := answer{key: l.Key, denied: denied, until: c.Now().Add(allowedFor)}
	switch {
	case denied != nil:
		now.until = c.Now().Add(DeniedFor)
	case unsure != nil:
		now.until = c.Now().Add(unsureFor)
		c.Log.InfoContext(ctx, "EC2 does not tell whether launches are allowed", "class", l.Class, "error", unsure)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]answer{}
	}
	c.known[l.Class] = now
	return denied
}

// ask goes through the kinds until one is allowed: a rule of the account may forbid the types of one of them. What is
// said is of the first. unsure is why it can't be told.
func (c *Checker) ask(ctx context.Context, l Launch) (denied *cloud.Finding, unsure error) {
	for _, k := range l.Kinds {
		no, why := c.askKind(ctx, l, k)
		if no == nil {
			return nil, why
		}
		if denied == nil {
			denied = no
		}
		if no.Reason != awsv1.ReasonRunInstancesAuthFailed {
			break // which does not depend on types
		}
	}
	return denied, nil
}

// askKind goes through the calls of a launch.
func (c *Checker) askKind(ctx context.Context, l Launch, k Kind) (denied *cloud.Finding, unsure error) {
	template, err := k.Make(ctx)
	if err != nil {
		return verdict(awsv1.ReasonCreateLaunchTemplateAuthFailed, "ec2:CreateLaunchTemplate", err)
	}
	defer func() {
		if err := l.Remove(ctx, template); err != nil {
			c.Log.WarnContext(ctx, "remove a launch template that was made to ask for rights", "template", template, "error", err)
		}
	}()
	if denied, unsure = verdict(awsv1.ReasonCreateFleetAuthFailed, "ec2:CreateFleet", c.fleet(ctx, l, k, template)); denied != nil {
		return denied, nil
	}
	var unsureRun error
	for _, p := range k.Places[:min(tries, len(k.Places))] {
		if denied, unsureRun = verdict(awsv1.ReasonRunInstancesAuthFailed, "ec2:RunInstances", c.run(ctx, l, template, p)); denied == nil {
			break // one that may be launched is enough
		}
	}
	if denied == nil && l.Profile != "" && (awserror.Of(unsure) == awserror.Profile || awserror.Of(unsureRun) == awserror.Profile) {
		return new(NoProfile(l.Profile)), nil
	}
	if unsure == nil {
		unsure = unsureRun
	}
	return denied, unsure
}

// NoProfile is the finding that EC2 does not know the instance profile that a class names.
func NoProfile(name string) cloud.Finding {
	return cloud.Finding{
		Condition: awsv1.ConditionInstanceProfileReady, Reason: awsv1.ReasonInstanceProfileNotFound, Field: "instanceProfile",
		Message: "EC2 knows no instance profile " + name,
	}
}

// verdict reads the answer to a dry run, which is an error in any case.
func verdict(reason, call string, err error) (denied *cloud.Finding, unsure error) {
	switch {
	case err == nil || awserror.Code(err) == "DryRunOperation":
		return nil, nil
	case awserror.Of(err) == awserror.Unauthorized:
		return &cloud.Finding{
			Condition: awsv1.ConditionValidationSucceeded, Reason: reason,
			Message: "the actuator's credentials do not allow " + call + ": " + cloud.ErrorText(err),
		}, nil
	default:
		return nil, err
	}
}

func (c *Checker) fleet(ctx context.Context, l Launch, k Kind, template string) error {
	config := types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
			LaunchTemplateName: aws.String(template), Version: aws.String("$Latest"),
		},
	}
	for _, p := range k.Places {
		config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
			InstanceType: types.InstanceType(p.InstanceType), SubnetId: aws.String(p.Subnet),
		})
	}
	in := &sdk.CreateFleetInput{
		DryRun: aws.Bool(true), Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{config},
	}
	for _, kind := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet} {
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: kind, Tags: l.Tags})
	}
	_, err := c.EC2.CreateFleet(ctx, in)
	return err
}

func (c *Checker) run(ctx context.Context, l Launch, template string, p Place) error {
	in := &sdk.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: types.InstanceType(p.InstanceType),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String(template), Version: aws.String("$Latest")},
		// The template has interfaces without a subnet, beside which EC2 takes no subnet of the instance.
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(p.Subnet), Groups: l.Groups,
		}},
	}
	for _, kind := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface} {
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: kind, Tags: l.Tags})
	}
	_, err := c.EC2.RunInstances(ctx, in)
	return err
}
