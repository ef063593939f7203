package awssim_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/test/awssim"
)

// reserving is a template that launches into a reservation as an instance of a market; "" leaves either out.
func (w *world) reserving(reservation, market string) string {
	w.t.Helper()
	w.template(userData) // for its instance profile
	d := &types.RequestLaunchTemplateData{
		ImageId: aws.String(w.image()), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(profile)},
		SecurityGroupIds:   []string{"sg-0123456789abcdef0"},
	}
	if reservation != "" {
		d.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: &reservation},
		}
	}
	if market != "" {
		d.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketType(market)}
	}
	name := "into-" + reservation + market
	must(w.ec2.CreateLaunchTemplate(w.t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: d}))(w.t)
	return name
}

func TestLaunchesIntoReservations(t *testing.T) {
	const block = "capacity-block"
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reservation, market, sold, instanceType string

		want string // the reservation that the instance is in, or an error's code
	}{
		"the one that is named":               {"cr-plain", "", "on-demand", "m5.large", "cr-plain"},
		"a block, as what it is":              {"cr-block", block, block, "p5.48xlarge", "cr-block"},
		"a block as if it were none":          {"cr-block", "", "on-demand", "p5.48xlarge", "InvalidParameterCombination"},
		"as a block what is none":             {"cr-plain", block, block, "m5.large", "InvalidParameterCombination"},
		"another type than it is for":         {"cr-plain", "", "on-demand", "r5.large", "InvalidParameterValue"},
		"one without room":                    {"cr-full", "", "on-demand", "m5.large", "ReservationCapacityExceeded"},
		"one that has ended":                  {"cr-over", "", "on-demand", "m5.large", "InvalidCapacityReservationState"},
		"one that is not there":               {"cr-none", "", "on-demand", "m5.large", "InvalidCapacityReservationId.NotFound"},
		"none is named, and none is open":     {"", "", "on-demand", "m5.large", ""},
		"none is named, and an open one fits": {"", "", "on-demand", "m5.xlarge", "cr-open"},
		"spot stays out of open ones":         {"", "", "spot", "m5.xlarge", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reserved := func(id, instanceType string, n int64) awssim.CapacityReservation {
				return awssim.CapacityReservation{ID: id, InstanceType: instanceType, Zone: "us-east-1a", Total: n, Available: n}
			}
			w := newWorld(t, func(cfg *awssim.Config) {
				all := []awssim.CapacityReservation{
					reserved("cr-plain", "m5.large", 1), reserved("cr-block", "p5.48xlarge", 1), reserved("cr-full", "m5.large", 0),
					reserved("cr-over", "m5.large", 1), reserved("cr-open", "m5.xlarge", 1),
				}
				all[1].Block, all[3].End, all[4].Open = true, start, true
				cfg.CapacityReservations = all
			})
			out := must(w.ec2.CreateFleet(t.Context(), fleet(w.reserving(c.reservation, c.market), c.sold, 1, c.instanceType)))(t)
			if len(out.Instances) == 0 {
				if got := strings.Join(summary(out), " "); !strings.HasPrefix(got, c.want+" ") || c.want == "" {
					t.Errorf("%s, want %q", got, c.want)
				}
				return
			}
			id := out.Instances[0].InstanceIds[0]
			w.advance(time.Minute)
			if got := aws.ToString(w.describe(byID(id))[0].CapacityReservationId); got != c.want {
				t.Errorf("in reservation %q, want %q", got, c.want)
			}
		})
	}
}

func TestAReservationHasItsRoomBackOnceItsInstanceEnds(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) {
		c.CapacityReservations = []awssim.CapacityReservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1a", Total: 1, Available: 1}}
	})
	free := func() int32 {
		all := must(w.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{}))(t).CapacityReservations
		return *all[0].AvailableInstanceCount
	}
	id := w.launch(fleet(w.reserving("cr-1", ""), "on-demand", 1, "m5.large"))[0]
	if free() != 0 {
		t.Errorf("room for %d", free())
	}
	must(w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))(t)
	if free() != 1 {
		t.Errorf("room for %d once it ended", free())
	}
	w.EndReservation("cr-1")
	all := must(w.ec2.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{}))(t).CapacityReservations
	if all[0].State != types.CapacityReservationStateExpired {
		t.Errorf("%s once it is over", all[0].State)
	}
}
