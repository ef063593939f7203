package survey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/core/near"
)

// noCredentials is of credentials that nothing has.
func (c Config) noCredentials(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with aws sso login: %w", err)
}

// refused says of an error of EC2's what a user can do.
func (c Config) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	dns, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown && dns.IsNotFound:
		hint := near.Question(c.Region, catalog.Regions())
		if hint != "" {
			hint = "; " + hint
		}
		return fmt.Errorf("region %s: AWS has no such region, or this machine reaches no name server: there is no host %s%s", c.Region, dns.Name, hint)
	case action(err) != "" && awserror.LacksRight(err):
		return fmt.Errorf("the credentials lack a right: allow %s on resource \"*\": %s", action(err), cloud.ErrorText(err))
	case awserror.Of(err) == awserror.Unauthorized:
		return fmt.Errorf("AWS does not take the credentials in %s: they are wrong or have expired, or the account has not enabled that region: %s", c.Region, cloud.ErrorText(err))
	}
	return fmt.Errorf("%s: %w", c.Region, err)
}

// noPrices is of an error of the price list's.
func (c Config) noPrices(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	const without = "; --no-price-list takes the bundled list prices, marked as estimates"
	if network, unreachable := errors.AsType[net.Error](err); unreachable {
		return fmt.Errorf("AWS's price list can't be reached from here%s: %w", without, network)
	}
	return fmt.Errorf("%w%s", c.refused(ctx, err), without)
}

// action is the IAM action of the call that failed, such as ec2:DescribeZones; "" where no call did.
func action(err error) string {
	call, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return ""
	}
	return strings.ToLower(call.Service()) + ":" + call.Operation()
}
