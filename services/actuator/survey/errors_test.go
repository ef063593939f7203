package survey

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestErrorsSayWhatAUserCanDo(t *testing.T) {
	t.Parallel()
	call := func(service, name string, err error) error {
		return &smithy.OperationError{ServiceID: service, OperationName: name, Err: err}
	}
	api := func(code string) error { return &smithy.GenericAPIError{Code: code, Message: "no"} }
	noHost := &net.OpError{Op: "dial", Err: &net.DNSError{Name: "ec2.eu-centrl-1.amazonaws.com", IsNotFound: true}}
	c := Config{Region: "eu-centrl-1"}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		said error
		want []string
	}{
		"a region that is not there": {
			c.refused(t.Context(), call("EC2", "DescribeAvailabilityZones", noHost)),
			[]string{"no such region", "ec2.eu-centrl-1.amazonaws.com", "did you mean eu-central-1"},
		},
		"a right of EC2's":               {c.refused(t.Context(), call("EC2", "DescribeInstanceTypes", api("UnauthorizedOperation"))), []string{"allow ec2:DescribeInstanceTypes "}},
		"a right of the list's":          {c.noPrices(t.Context(), call("Pricing", "GetProducts", api("AccessDeniedException"))), []string{"allow pricing:GetProducts ", "--no-price-list"}},
		"keys that AWS does not know":    {c.refused(t.Context(), call("EC2", "DescribeInstanceTypes", api("AuthFailure"))), []string{"does not take the credentials", "enabled that region"}},
		"a list that nothing leads to":   {c.noPrices(t.Context(), call("Pricing", "GetProducts", noHost)), []string{"can't be reached", "--no-price-list"}},
		"what no user can do much about": {c.refused(t.Context(), call("EC2", "DescribeInstanceTypes", api("InternalError"))), []string{"eu-centrl-1: ", "InternalError"}},
		"no credentials":                 {c.noCredentials(t.Context(), errors.New("none found")), []string{"AWS_PROFILE", "none found"}},
		"an end that was asked for":      {c.refused(ended, api("InternalError")), []string{context.Canceled.Error()}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.said.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, tt.said, want)
			}
		}
	}
}

func TestWhatAWSDoesNotTellIsTheBundledCatalogues(t *testing.T) {
	t.Parallel()
	kind := func(name string) catalog.Type {
		return catalog.Type{Name: name, SupportsSpot: true, Zones: []string{"a", "elsewhere"}}
	}
	c := &catalog.Catalog{Zones: []catalog.Zone{{Name: "a"}}, Types: []catalog.Type{kind("m5.large"), kind("m5.none"), kind("m5.xlarge")}}
	bundled := &catalog.Catalog{Types: []catalog.Type{
		{Name: "m5.large", OnDemandMicroUSD: 90, SpotSavesPercent: 60, Reclaimed: model.Below5}, {Name: "m5.xlarge", OnDemandMicroUSD: 180},
	}}
	spot := map[cloud.TypeZone]int64{{InstanceType: "m5.large", Zone: "a"}: 30, {InstanceType: "m5.large", Zone: "elsewhere"}: 20}
	price(c, map[model.TypeName]int64{"m5.large": 100}, spot, bundled)
	large, xlarge := c.Types[0], c.Types[2]
	if large.OnDemandMicroUSD != 100 || large.PriceEstimated || large.Reclaimed != model.Below5 || large.SpotSavesPercent != 60 {
		t.Errorf("m5.large: %+v", large)
	}
	if len(large.Zones) != 1 || len(large.SpotMicroUSD) != 1 || large.SpotMicroUSD["a"] != 30 {
		t.Errorf("m5.large in %v for %v, want zone a alone, which the account has", large.Zones, large.SpotMicroUSD)
	}
	if xlarge.OnDemandMicroUSD != 180 || !xlarge.PriceEstimated || xlarge.SpotMicroUSD != nil {
		t.Errorf("m5.xlarge: %+v", xlarge)
	}
	if names, estimated := Unpriced(c); len(names) != 1 || names[0] != "m5.none" || estimated != 1 {
		t.Errorf("unpriced %v, %d estimated", names, estimated)
	}
}

func TestPricesAreInTheCurrencyOfThePartition(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"cn-north-1": "CNY", "eusc-de-east-1": "EUR", "eu-central-1": "", "us-gov-west-1": ""} {
		if got := currency(region); got != want {
			t.Errorf("%s: %q, want %q", region, got, want)
		}
	}
}
