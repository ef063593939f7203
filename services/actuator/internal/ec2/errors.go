package ec2

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// kind is what an EC2 error code means to a caller.
type kind int

const (
	kindOther kind = iota
	kindCapacity
	kindThrottled
	kindInvalid
	kindUnauthorized
	kindNotFound
	kindExists
	kindMismatch
)

// kindOf sorts error codes. Quotas count as capacity: the account can have no more of it now, and another offering may
// still be available.
func kindOf(code string) kind {
	switch code {
	case "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity",
		"InsufficientFreeAddressesInSubnet", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded",
		"UnfulfillableCapacity", "Unsupported", "MaxFleetCountExceeded", "ReservationCapacityExceeded",
		"SpotMaxPriceTooLow", "InstanceLimitExceeded":
		return kindCapacity
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled", "TooManyRequestsException",
		"ResourceCountLimitExceeded":
		return kindThrottled
	case "UnauthorizedOperation", "AuthFailure", "AccessDenied", "AccessDeniedException", "OptInRequired",
		"InvalidClientTokenId", "ExpiredToken", "SignatureDoesNotMatch":
		return kindUnauthorized
	case "IdempotentParameterMismatch":
		return kindMismatch
	case "EntityAlreadyExists", "InvalidLaunchTemplateName.AlreadyExistsException":
		return kindExists
	case "InvalidInstanceID.NotFound", "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound",
		"InvalidSubnetID.NotFound", "InvalidGroup.NotFound", "InvalidAMIID.NotFound", "NoSuchEntity", "ParameterNotFound",
		"QueueDoesNotExist", "ResourceNotFoundException":
		return kindNotFound
	}
	if strings.HasPrefix(code, "Invalid") || strings.HasPrefix(code, "Missing") || code == "ValidationError" {
		return kindInvalid
	}
	return kindOther
}

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

func isNotFound(err error) bool { return kindOf(codeOf(err)) == kindNotFound }
func isExists(err error) bool   { return kindOf(codeOf(err)) == kindExists }

// classify wraps an SDK error in the sentinel that callers act on; what is none of them stays as it is.
func classify(err error) error {
	if sentinel := sentinelOf(kindOf(codeOf(err))); sentinel != nil {
		return fmt.Errorf("%w: %w", sentinel, err)
	}
	return err
}

func sentinelOf(k kind) error {
	switch k {
	case kindThrottled:
		return cloud.ErrThrottled
	case kindUnauthorized:
		return cloud.ErrUnauthorized
	case kindInvalid:
		return cloud.ErrInvalid
	case kindNotFound:
		return cloud.ErrClassNotReady
	case kindMismatch:
		return cloud.ErrTokenMismatch
	case kindOther, kindCapacity, kindExists:
	}
	return nil
}

// fleetError turns the errors of a fleet that made no instance into one: a *cloud.CapacityError when capacity alone was
// the trouble, otherwise the first other kind with all of EC2's words.
func fleetError(errs []types.CreateFleetError, capacityType model.CapacityType) error {
	if len(errs) == 0 {
		return fmt.Errorf("create fleet: %w, and EC2 gives no reason", cloud.ErrNoInstance)
	}
	var (
		short    []model.Shortage
		messages []string
		other    = kindCapacity
	)
	for _, e := range errs {
		code, text := aws.ToString(e.ErrorCode), aws.ToString(e.ErrorMessage)
		message := code + ": " + text
		if len(messages) < maxFleetMessages {
			messages = append(messages, message)
		}
		if k := kindOfFleet(code, text); k != kindCapacity {
			if other == kindCapacity {
				other = k
			}

			continue
		}
		short = append(short, shortage(e, capacityType, message))
	}
	text := strings.Join(messages, "; ")
	if other == kindCapacity {
		return &cloud.CapacityError{Offerings: short, Message: text}
	}
	if sentinel := sentinelOf(other); sentinel != nil {
		return fmt.Errorf("create fleet: %w: %w: %s", cloud.ErrNoInstance, sentinel, text)
	}
	return fmt.Errorf("create fleet: %w: %s", cloud.ErrNoInstance, text)
}

const maxFleetMessages = 3

// kindOfFleet knows one thing beyond the code: for some seconds EC2 has not heard of an instance profile that IAM has just
// made, and calls that an invalid parameter. It is neither; the same request will do in a moment, with another token.
func kindOfFleet(code, text string) kind {
	if strings.Contains(text, "IAM Instance Profile") {
		return kindOther
	}
	return kindOf(code)
}

// shortage reads which offering an error is about; EC2 may leave any part of the answer out.
func shortage(e types.CreateFleetError, capacityType model.CapacityType, message string) model.Shortage {
	s := model.Shortage{CapacityType: capacityType, Message: message}
	if e.LaunchTemplateAndOverrides == nil || e.LaunchTemplateAndOverrides.Overrides == nil {
		return s
	}
	o := e.LaunchTemplateAndOverrides.Overrides
	s.InstanceType, s.Zone = model.TypeName(o.InstanceType), aws.ToString(o.AvailabilityZone)
	return s
}
