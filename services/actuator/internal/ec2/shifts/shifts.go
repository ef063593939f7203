// Package shifts asks AWS which zones the cluster is shifted away from: by hand, by AWS itself (autoshift), or to
// practise. Start reading at Find.
package shifts

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"

	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
)

// Client is what is needed of the service's.
type Client interface {
	GetManagedResource(ctx context.Context, in *sdk.GetManagedResourceInput, o ...func(*sdk.Options)) (*sdk.GetManagedResourceOutput, error)
}

// Find returns the ids of the zones that the cluster with the ARN is shifted away from, sorted. Of several shifts at
// once AWS applies one.
func Find(ctx context.Context, client Client, cluster string) ([]string, error) {
	out, err := client.GetManagedResource(ctx, &sdk.GetManagedResourceInput{ResourceIdentifier: aws.String(cluster)})
	if awserror.Of(err) == awserror.NotFound {
		return nil, fmt.Errorf("%s is not enabled for zonal shifts: aws eks update-cluster-config --zonal-shift-config enabled=true: %w", cluster, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get managed resource %s: %w", cluster, err)
	}
	var zones []string
	for _, s := range out.ZonalShifts {
		if s.AppliedStatus == types.AppliedStatusApplied {
			zones = append(zones, aws.ToString(s.AwayFrom))
		}
	}
	for _, s := range out.Autoshifts {
		if s.AppliedStatus == types.AutoshiftAppliedStatusApplied {
			zones = append(zones, aws.ToString(s.AwayFrom))
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}
