package awssim

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

type productsRequest struct {
	ServiceCode   string
	FormatVersion string
	Filters       []productFilter
	MaxResults    *int64
	NextToken     string
}

type productFilter struct {
	Field, Type, Value string
}

// priceList is one product with its on-demand term, as GetProducts puts it, in JSON, into a string.
type priceList struct {
	Product     product                    `json:"product"`
	ServiceCode string                     `json:"serviceCode"`
	Terms       map[string]map[string]term `json:"terms"`
	Version     string                     `json:"version"`
	Published   string                     `json:"publicationDate"`
}

type product struct {
	Family     string            `json:"productFamily"`
	Attributes map[string]string `json:"attributes"`
	SKU        string            `json:"sku"`
}

type term struct {
	Dimensions map[string]dimension `json:"priceDimensions"`
	SKU        string               `json:"sku"`
	Effective  string               `json:"effectiveDate"`
	OfferCode  string               `json:"offerTermCode"`
	Attributes map[string]string    `json:"termAttributes"`
}

type dimension struct {
	Unit        string            `json:"unit"`
	Begin       string            `json:"beginRange"`
	End         string            `json:"endRange"`
	Description string            `json:"description"`
	RateCode    string            `json:"rateCode"`
	AppliesTo   []string          `json:"appliesTo"`
	Price       map[string]string `json:"pricePerUnit"`
}

// getProducts answers with the on-demand list prices of the region, for Linux.
func (s *Sim) getProducts(_ context.Context, body []byte) (any, error) {
	var in productsRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	size := int64(100)
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	after, ok := decodeToken(in.NextToken)
	switch {
	case in.ServiceCode != "AmazonEC2":
		return nil, fail("NotFoundException", "Invalid service code: %s", in.ServiceCode)
	case size < 1 || size > 100:
		return nil, fail("InvalidParameterException", "MaxResults must be between 1 and 100.")
	case !ok:
		return nil, fail("InvalidNextTokenException", "Invalid NextToken")
	case in.FormatVersion != "" && in.FormatVersion != "aws_v1":
		return nil, fail("InvalidParameterException", "FormatVersion %s is not known.", in.FormatVersion)
	}
	var found []product
	for i := range s.cfg.Catalog.Types {
		if t := &s.cfg.Catalog.Types[i]; t.OnDemandMicroUSD > 0 && t.SupportsOnDemand {
			p := s.product(t)
			match, err := p.matches(in.Filters)
			if err != nil {
				return nil, err
			}
			if match {
				found = append(found, p)
			}
		}
	}
	found, token := cut(found, func(p product) string { return p.Attributes["instanceType"] }, after, size)
	return s.priceAnswer(found, token)
}

func (s *Sim) priceAnswer(found []product, token string) (any, error) {
	list := make([]string, 0, len(found))
	for _, p := range found {
		b, err := json.Marshal(s.listPrice(p))
		if err != nil {
			return nil, err
		}
		list = append(list, string(b))
	}
	out := map[string]any{"FormatVersion": "aws_v1", "PriceList": list}
	if token != "" {
		out["NextToken"] = token
	}
	return out, nil
}

func (s *Sim) product(t *catalog.Type) product {
	p := product{
		Family: "Compute Instance", SKU: strings.ToUpper(digest("sku", t.Name)[:16]),
		Attributes: map[string]string{
			"servicecode": "AmazonEC2", "servicename": "Amazon Elastic Compute Cloud", "regionCode": s.cfg.Region,
			"locationType": "AWS Region", "instanceType": t.Name, "operatingSystem": "Linux", "preInstalledSw": "NA",
			"tenancy": "Shared", "capacitystatus": "Used", "marketoption": "OnDemand", "licenseModel": "No License required",
			"vcpu": strconv.FormatInt(t.VCPU, 10), "memory": fmt.Sprintf("%g GiB", float64(t.MemoryMiB)/1024),
			"currentGeneration": "Yes", "operation": "RunInstances",
		},
	}
	if t.BareMetal {
		p.Family, p.Attributes["tenancy"] = "Compute Instance (bare metal)", "Dedicated"
	}
	return p
}

// matches compares by TERM_MATCH, which is what one can ask of the simulator, on the attributes and the family.
func (p product) matches(filters []productFilter) (bool, error) {
	for _, f := range filters {
		if f.Type != "TERM_MATCH" {
			return false, fail("InvalidParameterException", "Filter type %s is not simulated, only TERM_MATCH.", f.Type)
		}
		value, ok := p.Attributes[f.Field]
		switch {
		case f.Field == "productFamily":
			value, ok = p.Family, true
		case strings.EqualFold(f.Field, "serviceCode"):
			value, ok = "AmazonEC2", true
		}
		if !ok {
			return false, fail("InvalidParameterException", "Field %s is not an attribute of the simulator's products.", f.Field)
		}
		if !strings.EqualFold(value, f.Value) {
			return false, nil
		}
	}
	return true, nil
}

func (s *Sim) listPrice(p product) priceList {
	const offer, rate, published = "JRTCKXETXF", "6YS6EN2CT7", "2026-01-15T00:00:00Z"
	name := p.Attributes["instanceType"]
	micro := s.OnDemandPrice(name)
	termCode := p.SKU + "." + offer
	return priceList{
		Product: p, ServiceCode: "AmazonEC2", Version: "20260115000000", Published: published,
		Terms: map[string]map[string]term{"OnDemand": {termCode: {
			SKU: p.SKU, Effective: published, OfferCode: offer, Attributes: map[string]string{},
			Dimensions: map[string]dimension{termCode + "." + rate: {
				Unit: "Hrs", Begin: "0", End: "Inf", RateCode: termCode + "." + rate, AppliesTo: []string{},
				Description: "$" + dollars(micro) + " per On Demand Linux " + name + " Instance Hour",
				Price:       map[string]string{"USD": dollars(micro) + "0000"},
			}},
		}}},
	}
}
