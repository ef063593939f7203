package reservations

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// account has reservations; it has no placement group.
type account []types.CapacityReservation

func (a account) DescribeCapacityReservations(context.Context, *sdk.DescribeCapacityReservationsInput, ...func(*sdk.Options)) (*sdk.DescribeCapacityReservationsOutput, error) {
	return &sdk.DescribeCapacityReservationsOutput{CapacityReservations: a}, nil
}

func (account) DescribePlacementGroups(context.Context, *sdk.DescribePlacementGroupsInput, ...func(*sdk.Options)) (*sdk.DescribePlacementGroupsOutput, error) {
	return &sdk.DescribePlacementGroupsOutput{}, nil
}

func TestReservationsThatNoInstanceOfTheClassFitsAreLeftOut(t *testing.T) {
	reserved := func(id string, platform types.CapacityReservationInstancePlatform, tenancy types.CapacityReservationTenancy) types.CapacityReservation {
		return types.CapacityReservation{CapacityReservationId: aws.String(id), InstancePlatform: platform, Tenancy: tenancy}
	}
	all := account{
		reserved("cr-linux", "Linux/UNIX", "default"), reserved("cr-own", "Linux/UNIX", "dedicated"), reserved("cr-red", "Red Hat Enterprise Linux", "default"),
		reserved("cr-sql", "Windows with SQL Server", "default"), reserved("cr-untold", "", ""), reserved("cr-windows", "Windows", "default"),
	}
	for family, want := range map[string]string{
		"AL2023": "cr-linux cr-red cr-untold", "Windows2022": "cr-sql cr-untold cr-windows", "Custom": "cr-linux cr-red cr-sql cr-untold cr-windows",
	} {
		found, err := Finder{EC2: all, Family: family, Now: time.Now}.Find(t.Context(), []cloud.ReservationTerm{{MatchesLaunches: "targeted"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range found {
			got = append(got, r.ID)
		}
		if ids := strings.Join(got, " "); ids != want {
			t.Errorf("%s: %s, want %s", family, ids, want)
		}
	}
}
