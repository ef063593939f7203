package main

import (
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// motoCannot are the cases of the suite that fail on moto, and what moto 5.2.5 lacks for them.
func motoCannot() map[string]string {
	const noStock = "its stock never ends"
	const noToken = "it does not read a fleet's ClientToken"
	return map[string]string{
		"a launch shows up with its claim and what it was launched as":             "its fleets leave out the security groups of a template's network interfaces",
		"a launch of ten makes ten, without a claim's tag until they get it":       noToken,
		"the same token never makes a second instance":                             noToken,
		"the same token with another request is refused":                           noToken,
		"a launch of which there is less than asked makes that much, and says why": noStock,
		"the first offering in stock is launched":                                  noStock,
		"no stock at all names the offerings":                                      noStock,
		"prices are known, and spot is below on-demand":                            "it has no Pricing service, and spot prices are random",
		"types are described as the catalogue knows them":                          "it has types without a price; all are compared below",
		"instances whose checks fail are told, and since when":                     "its instances are always well, and it does not read the filters of DescribeInstanceStatus",
	}
}

// difference is a finding on the wire that is meant.
type difference struct{ prefix, reason string }

// wireDiffers are where requests or awssim's answers differ from the models, by the beginning of a finding.
func wireDiffers() []difference {
	return []difference{
		{
			"ec2 DescribeCapacityReservations request Filters: the model does not name the filter tag",
			"EC2 filters all that has tags by them, and Karpenter finds reservations so; the model's prose leaves it out here",
		},
	}
}

// typeRule names differences between what EC2 says of types and the catalogue.
type typeRule struct {
	field  string
	fits   func(live, bundled catalog.Type) bool
	reason string
}

// typesDiffer are where moto's types differ from the catalogue's. Of rules for one field the first that fits counts.
func typesDiffer() []typeRule {
	const network = "NetworkMbps"
	of := func(names ...string) func(_, bundled catalog.Type) bool {
		return func(_, bundled catalog.Type) bool { return slices.Contains(names, bundled.Name) }
	}
	return []typeRule{
		{"Name", func(live, _ catalog.Type) bool { return len(live.Zones) == 0 }, "moto offers them in no zone of us-east-1"},
		{"Name", func(live, _ catalog.Type) bool { return len(live.Zones) > 0 }, "no source has a price of them in us-east-1"},
		{
			missing, of("c1.medium", "c3.large", "m1.medium", "m1.small", "t1.micro", "t2.medium", "t2.micro", "t2.nano", "t2.small"),
			"moto's filter by architecture leaves out what has i386 beside x86_64, and EC2's does not",
		},
		{
			network, func(_, bundled catalog.Type) bool { return bundled.NetworkMbps == 0 },
			"the catalogue's bandwidths are Karpenter's table, for the same labels; it has none where AWS's pages say Low, Moderate or High",
		},
		{network, of("c3.8xlarge", "r3.8xlarge"), "Karpenter's table has what they reach at most, 10 Gbit/s, and EC2 a baseline of half of it"},
		{
			network, of("i7i.12xlarge", "i7ie.48xlarge", "i7ie.metal-48xl", "i8g.metal-48xl", "i8ge.48xlarge", "i8ge.metal-48xl", "p6-b200.48xlarge"),
			"Karpenter's table, of AWS's pages, and EC2's own answer disagree; live it is EC2's that counts",
		},
	}
}
