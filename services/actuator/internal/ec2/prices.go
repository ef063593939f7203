package ec2

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/answer"
	"github.com/kerf-dev/kerf/services/core/model"
)

// pricingRegion is the region whose price list endpoint serves the given one; "" where its partition has none that its
// credentials are good for.
func pricingRegion(region string) string {
	for _, r := range []struct{ prefix, endpoint string }{
		{"us-gov-", ""},
		{"us-iso", ""},
		{"eu-iso", ""},
		{"eusc-", ""},
		{"cn-", "cn-northwest-1"},
		{"ap-", "ap-south-1"},
		{"eu-", "eu-central-1"},
	} {
		if strings.HasPrefix(region, r.prefix) {
			return r.endpoint
		}
	}
	return "us-east-1"
}

// priceList is the client of the region's price list; nil where its partition has none. An endpoint that replaces all
// of AWS's replaces that too.
func priceList(conf aws.Config, endpoint string) *pricing.Client {
	region := pricingRegion(conf.Region)
	if endpoint != "" {
		region = conf.Region
	}
	if region == "" {
		return nil
	}
	return pricing.NewFromConfig(conf, func(o *pricing.Options) { o.Region = region })
}

// OnDemandPrices reads the region's list prices for Linux, shared tenancy and bare metal. Where the partition has no price
// list there are none, and the catalogue's stand in as estimates.
func (m *Market) OnDemandPrices(ctx context.Context) (map[model.TypeName]int64, error) {
	out := map[model.TypeName]int64{}
	if m.pricing == nil {
		return out, nil
	}
	for _, kind := range []struct{ tenancy, family string }{
		{"Shared", "Compute Instance"}, {"Dedicated", "Compute Instance (bare metal)"},
	} {
		pages := pricing.NewGetProductsPaginator(m.pricing, &pricing.GetProductsInput{
			ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(100),
			Filters: terms(map[string]string{
				"regionCode": m.region, "preInstalledSw": "NA", "operatingSystem": "Linux", "capacitystatus": "Used",
				"marketoption": "OnDemand", "tenancy": kind.tenancy, "productFamily": kind.family,
			}),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("get on-demand prices: %w", classify(err))
			}
			for _, text := range page.PriceList {
				name, price, err := product(text)
				if err != nil {
					return nil, err
				}
				if price > 0 {
					out[model.TypeName(name)] = price
				}
			}
		}
	}
	return out, nil
}

func terms(fields map[string]string) []types.Filter {
	keys := slices.Sorted(maps.Keys(fields))
	out := make([]types.Filter, 0, len(keys))
	for _, k := range keys {
		out = append(out, types.Filter{Type: types.FilterTypeTermMatch, Field: aws.String(k), Value: aws.String(fields[k])})
	}
	return out
}

// priceDocument is the part of a price list entry that is read.
type priceDocument struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				PricePerUnit map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// product reads one price list entry: an instance type and its price in micro-dollars per hour, 0 when it has none.
func product(text string) (string, int64, error) {
	var d priceDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return "", 0, fmt.Errorf("price list entry: %w", err)
	}
	name := d.Product.Attributes.InstanceType
	for _, term := range d.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			for _, currency := range []string{"USD", "CNY"} {
				s, ok := dimension.PricePerUnit[currency]
				if !ok {
					continue
				}
				price, err := microUSD(s)
				if err != nil {
					return "", 0, fmt.Errorf("price of %s: %w", name, err)
				}
				if price > 0 {
					return name, price, nil
				}
			}
		}
	}
	return name, 0, nil
}

// microUSD reads a decimal price exactly and rounds up to a micro-dollar, so that no price is ever understated.
func microUSD(s string) (int64, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Sign() < 0 {
		return 0, fmt.Errorf("%q is not a price", s)
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return 0, fmt.Errorf("%q is too large for a price", s)
	}
	return q.Int64(), nil
}

// SpotPrices reads the present spot price of every type and zone. EC2 answers with a history; the newest entry counts.
func (m *Market) SpotPrices(ctx context.Context) (map[cloud.TypeZone]int64, error) {
	pages := sdk.NewDescribeSpotPriceHistoryPaginator(m.ec2, &sdk.DescribeSpotPriceHistoryInput{
		StartTime:           aws.Time(m.now()),
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		MaxResults:          aws.Int32(1000),
	})
	out := map[cloud.TypeZone]int64{}
	newest := map[cloud.TypeZone]time.Time{}
	read := answer.Of[sdk.DescribeSpotPriceHistoryOutput]()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, read)
		if err != nil {
			return nil, fmt.Errorf("describe spot price history: %w", classify(err))
		}
		for i := range page.SpotPriceHistory {
			key, price, at, err := spotPrice(&page.SpotPriceHistory[i])
			if err != nil {
				return nil, err
			}
			if old, ok := newest[key]; !ok || at.After(old) {
				out[key], newest[key] = price, at
			}
		}
	}
	return out, nil
}

func spotPrice(s *ec2types.SpotPrice) (cloud.TypeZone, int64, time.Time, error) {
	key := cloud.TypeZone{InstanceType: model.TypeName(s.InstanceType), Zone: aws.ToString(s.AvailabilityZone)}
	price, err := microUSD(aws.ToString(s.SpotPrice))
	if err != nil {
		return key, 0, time.Time{}, fmt.Errorf("spot price of %s in %s: %w", key.InstanceType, key.Zone, err)
	}
	return key, price, aws.ToTime(s.Timestamp), nil
}
