package awssim

// ec2Service lists the EC2 calls. Anything else is InvalidAction.
func (s *Sim) ec2Service() queryService {
	return queryService{
		name:      "ec2",
		namespace: "http://ec2.amazonaws.com/doc/2016-11-15/",
		actions: map[string]queryAction{
			"CreateFleet":                    s.createFleet,
			"CreateLaunchTemplate":           s.createLaunchTemplate,
			"CreateTags":                     s.createTags,
			"DeleteLaunchTemplate":           s.deleteLaunchTemplate,
			"DescribeAvailabilityZones":      s.describeAvailabilityZones,
			"DescribeCapacityReservations":   s.describeCapacityReservations,
			"DescribeImages":                 s.describeImages,
			"DescribeInstanceStatus":         s.describeInstanceStatus,
			"DescribeInstanceTypeOfferings":  s.describeInstanceTypeOfferings,
			"DescribeInstanceTypes":          s.describeInstanceTypes,
			"DescribeInstances":              s.describeInstances,
			"DescribeLaunchTemplateVersions": s.describeLaunchTemplateVersions,
			"DescribeLaunchTemplates":        s.describeLaunchTemplates,
			"DescribePlacementGroups":        s.describePlacementGroups,
			"DescribeSecurityGroups":         s.describeSecurityGroups,
			"DescribeSpotPriceHistory":       s.describeSpotPriceHistory,
			"DescribeSubnets":                s.describeSubnets,
			"RunInstances":                   s.runInstances,
			"TerminateInstances":             s.terminateInstances,
		},
	}
}

// checked ends the reading of parameters: what was wrong with them, or the answer to a dry run.
func (f *form) checked() error {
	dry := f.bool("DryRun")
	if err := f.finish(); err != nil {
		return err
	}
	if dry {
		return dryRun()
	}
	return nil
}
