package ec2

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Launch starts one instance by an instant fleet over the request's offerings.
func (a *Adapter) Launch(ctx context.Context, r cloud.Request) (cloud.Instance, error) {
	if len(r.Offerings) == 0 {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w: it lists no offering", r.Claim, cloud.ErrInvalid)
	}
	types, err := a.typesByName(ctx)
	if err != nil {
		return cloud.Instance{}, err
	}
	groups, err := group(r, types)
	if err != nil {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", r.Claim, err)
	}

	out, err := a.createFleet(ctx, r, groups)
	if isNotFound(err) { // a launch template was deleted behind our back: make it again, once
		a.forgetTemplates(groups)
		out, err = a.createFleet(ctx, r, groups)
	}
	if err != nil {
		return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", r.Claim, launchError(err))
	}
	return launched(r, out)
}

func (a *Adapter) createFleet(ctx context.Context, r cloud.Request, groups []templateGroup) (*sdk.CreateFleetOutput, error) {
	for i := range groups {
		name, err := a.ensureTemplate(ctx, r, groups[i])
		if err != nil {
			return nil, err
		}
		groups[i].template = name
	}
	return a.ec2.CreateFleet(ctx, fleet(r, groups, a.instanceTags(r)))
}

// launchError keeps errors of ours and classifies EC2's; some quota errors come as an error of the call itself.
func launchError(err error) error {
	if _, ok := errors.AsType[*cloud.CapacityError](err); ok {
		return err
	}
	if code := codeOf(err); kindOf(code) == kindCapacity {
		return &cloud.CapacityError{Message: err.Error()}
	}
	return classify(err)
}

func launched(r cloud.Request, out *sdk.CreateFleetOutput) (cloud.Instance, error) {
	for _, f := range out.Instances {
		if len(f.InstanceIds) == 0 {
			continue
		}
		i := cloud.Instance{
			ID: f.InstanceIds[0], State: cloud.Pending, Claim: r.Claim, NodePool: r.NodePool, Class: r.Class.Name,
			InstanceType: model.TypeName(f.InstanceType), CapacityType: r.Offerings[0].CapacityType,
		}
		if f.Lifecycle == types.InstanceLifecycleSpot {
			i.CapacityType = model.Spot
		}
		if l := f.LaunchTemplateAndOverrides; l != nil && l.Overrides != nil {
			i.Zone = aws.ToString(l.Overrides.AvailabilityZone)
			i.ImageID = aws.ToString(l.Overrides.ImageId)
			if i.InstanceType == "" {
				i.InstanceType = model.TypeName(l.Overrides.InstanceType)
			}
			if i.Zone == "" {
				i.Zone = zoneOf(r.Class, aws.ToString(l.Overrides.SubnetId))
			}
		}
		if i.Zone == "" {
			return cloud.Instance{}, fmt.Errorf("launch claim %s: EC2 made %s and did not say in which zone", r.Claim, i.ID)
		}
		i.ProviderID = providerID(i.Zone, i.ID)
		return i, nil
	}
	return cloud.Instance{}, fmt.Errorf("launch claim %s: %w", r.Claim, fleetError(out.Errors, r.Offerings[0].CapacityType))
}

func zoneOf(c cloud.Class, subnet string) string {
	for _, s := range c.Subnets {
		if s.ID == subnet {
			return s.Zone
		}
	}
	return ""
}
