package ec2

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/budget"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

func isNotFound(err error) bool {
	k := awserror.Of(err)
	return k == awserror.NotFound || k == awserror.Template
}

func isExists(err error) bool { return awserror.Of(err) == awserror.Exists }

// classify wraps an SDK error in the sentinel that callers act on; what is none of them stays as it is.
func classify(err error) error {
	if waits := (*budget.WaitError)(nil); errors.As(err, &waits) {
		return fmt.Errorf("%w: %w", cloud.ErrThrottled, err)
	}
	if sentinel := sentinelOf(awserror.Of(err)); sentinel != nil {
		return fmt.Errorf("%w: %w", sentinel, err)
	}
	return err
}

func sentinelOf(k awserror.Kind) error {
	switch k {
	case awserror.Throttled:
		return cloud.ErrThrottled
	case awserror.Unauthorized:
		return cloud.ErrUnauthorized
	case awserror.Invalid:
		return cloud.ErrInvalid
	case awserror.Mismatch:
		return cloud.ErrTokenMismatch
	default:
		return nil
	}
}

// launchError sorts an error of the launch's calls, errors of ours kept: quotas too come as an error of the call
// itself, and what is not there is what the class selects.
func launchError(err error, r cloud.Request) error {
	if _, ok := errors.AsType[*cloud.CapacityError](err); ok {
		return err
	}
	switch awserror.Of(err) {
	case awserror.Market:
		return &cloud.CapacityError{Offerings: []model.Shortage{{InstanceType: shortage.Everything, CapacityType: r.Offerings[0].CapacityType}}, Message: err.Error()}
	case awserror.Capacity, awserror.Addresses, awserror.Quota:
		return &cloud.CapacityError{Message: err.Error()}
	case awserror.NotFound:
		return fmt.Errorf("%w: %w", cloud.ErrClassNotReady, err)
	case awserror.Later, awserror.Template:
		return fmt.Errorf("%w: %w", cloud.ErrNoInstance, err)
	case awserror.Profile:
		return fmt.Errorf("%w: %w", profileError(r), err)
	default:
		return classify(err)
	}
}

// profileError is what it means that EC2 does not know the launch's instance profile.
func profileError(r cloud.Request) error {
	if r.Spec.InstanceProfile != "" {
		return cloud.ErrClassNotReady
	}
	return cloud.ErrNoInstance // IAM has just made it
}

// unknownProfile says that EC2 made nothing, and that it does not know the instance profile.
func unknownProfile(out *sdk.CreateFleetOutput, err error) bool {
	if err != nil {
		return awserror.Of(err) == awserror.Profile
	}
	return len(out.Instances) == 0 && slices.ContainsFunc(out.Errors, func(e types.CreateFleetError) bool { return kindOfFleet(e) == awserror.Profile })
}

// fleetError turns the errors of a fleet that made no instance into one: a *cloud.CapacityError when capacity was the
// trouble, otherwise the first other kind with all of EC2's words. What is short is remembered also where EC2 refused
// other offerings: those are what is tried next, and a refusal of them alone is told then.
func (l launch) fleetError(errs []types.CreateFleetError) error {
	if len(errs) == 0 {
		return fmt.Errorf("create fleet: %w, and EC2 gives no reason", cloud.ErrNoInstance)
	}
	var messages []string
	other, short := awserror.Capacity, true
	for _, e := range errs {
		if len(messages) < maxFleetMessages {
			messages = append(messages, said(e))
		}
		if k := kindOfFleet(e); short && !isShortage(k) {
			other, short = k, false
		}
	}
	text := strings.Join(messages, "; ")
	if offerings, all := l.shortages(errs); len(offerings) > 0 || short && all {
		return &cloud.CapacityError{Offerings: offerings, Message: text}
	}
	if short { // another subnet of the zone is tried
		return fmt.Errorf("create fleet: %w: %s", cloud.ErrNoInstance, text)
	}
	sentinel := sentinelOf(other)
	if other == awserror.NotFound {
		sentinel = cloud.ErrClassNotReady
	}
	if other == awserror.Profile {
		sentinel = profileError(l.Request)
	}
	if sentinel != nil {
		return fmt.Errorf("create fleet: %w: %w: %s", cloud.ErrNoInstance, sentinel, text)
	}
	return fmt.Errorf("create fleet: %w: %s", cloud.ErrNoInstance, text)
}

const maxFleetMessages = 3

func said(e types.CreateFleetError) string {
	return aws.ToString(e.ErrorCode) + ": " + aws.ToString(e.ErrorMessage)
}

func kindOfFleet(e types.CreateFleetError) awserror.Kind {
	return awserror.OfCode(aws.ToString(e.ErrorCode), aws.ToString(e.ErrorMessage))
}

func isShortage(k awserror.Kind) bool {
	switch k {
	case awserror.Capacity, awserror.Addresses, awserror.Quota, awserror.Market:
		return true
	default:
		return false
	}
}
