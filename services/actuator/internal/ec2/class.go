package ec2

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/userdata"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Resolve finds what the class selects. The first thing that is missing makes the class not ready.
func (a *Adapter) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return a.resolve(ctx, s, a.profiles.Ensure)
}

// Look is Resolve without its writes.
func (a *Adapter) Look(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return a.resolve(ctx, s, a.profiles.Find)
}

// profileOf returns the instance profile of a class with a role, or says in words what is missing.
type profileOf func(ctx context.Context, class model.NodeClassName, role string) (profile, missing string, err error)

func (a *Adapter) resolve(ctx context.Context, s cloud.ClassSpec, find profileOf) (cloud.Class, error) {
	out := cloud.Class{Name: s.Name}
	notReady := func(field, format string, args ...any) cloud.Class {
		out.NotReady = model.Reason{
			Code: model.CodeNodeClassNotReady, Subject: "ec2nodeclass/" + string(s.Name), Message: fmt.Sprintf(format, args...),
			Remedy: "correct spec." + field + " of EC2NodeClass " + string(s.Name),
		}
		return out
	}

	_, err := userdata.Render(a.bootNode(cloud.Request{Spec: s}, templateGroup{}))
	if err != nil {
		return notReady("userData", "%s", err), nil
	}
	if out.Subnets, err = a.subnets(ctx, s.SubnetTerms); err != nil {
		return out, err
	}
	if len(out.Subnets) == 0 {
		return notReady("subnetSelectorTerms", "no subnet matches %s", describe(s.SubnetTerms)), nil
	}
	if out.SecurityGroups, err = a.securityGroups(ctx, s.SecurityGroupTerms); err != nil {
		return out, err
	}
	if len(out.SecurityGroups) == 0 {
		return notReady("securityGroupSelectorTerms", "no security group matches %s", describe(s.SecurityGroupTerms)), nil
	}
	if out.Images, err = a.images(ctx, s); err != nil {
		return out, err
	}
	if len(out.Images) == 0 {
		return notReady("amiSelectorTerms", "no available machine image matches for Kubernetes %s", a.api.KubernetesVersion), nil
	}
	if s.InstanceProfile != "" {
		out.InstanceProfile = s.InstanceProfile
		return out, nil
	}
	profile, missing, err := find(ctx, s.Name, s.Role)
	if err != nil {
		return out, classify(err)
	}
	if missing != "" {
		return notReady("role", "%s", missing), nil
	}
	out.InstanceProfile = profile
	return out, nil
}

// describe puts selector terms into words for a message.
func describe(terms []cloud.SelectorTerm) string {
	var text strings.Builder
	for i, t := range terms {
		if i > 0 {
			text.WriteString(" or ")
		}
		switch {
		case t.ID != "":
			text.WriteString("id " + t.ID)
		case t.Name != "":
			text.WriteString("name " + t.Name)
		default:
			for j, tag := range t.Tags {
				if j > 0 {
					text.WriteString(" and ")
				}
				text.WriteString("tag " + tag.Key + "=" + tag.Value)
			}
		}
	}
	return text.String()
}

func tagFilters(tags model.Labels) []types.Filter {
	out := make([]types.Filter, 0, len(tags))
	for _, t := range tags {
		if t.Value == "*" {
			out = append(out, filter("tag-key", t.Key))

			continue
		}
		out = append(out, filter("tag:"+t.Key, t.Value))
	}
	return out
}

// subnets returns the union of the terms' matches: most free addresses first, then by id.
func (a *Adapter) subnets(ctx context.Context, terms []cloud.SelectorTerm) ([]cloud.Subnet, error) {
	asked, found := a.now(), map[string]cloud.Subnet{}
	for _, t := range terms {
		in := &sdk.DescribeSubnetsInput{Filters: tagFilters(t.Tags)}
		if t.ID != "" {
			in.Filters = []types.Filter{filter("subnet-id", t.ID)}
		}
		pages := sdk.NewDescribeSubnetsPaginator(a.ec2, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describe subnets: %w", classify(err))
			}
			for _, s := range page.Subnets {
				found[aws.ToString(s.SubnetId)] = cloud.Subnet{
					ID: aws.ToString(s.SubnetId), Zone: aws.ToString(s.AvailabilityZone),
					ZoneID: aws.ToString(s.AvailabilityZoneId), FreeAddresses: int64(aws.ToInt32(s.AvailableIpAddressCount)),
				}
			}
		}
	}
	out := values(found)
	a.addresses.Seen(out, asked)
	slices.SortFunc(out, func(x, y cloud.Subnet) int {
		return cmp.Or(cmp.Compare(y.FreeAddresses, x.FreeAddresses), cmp.Compare(x.ID, y.ID))
	})
	return out, nil
}

func (a *Adapter) securityGroups(ctx context.Context, terms []cloud.SelectorTerm) ([]cloud.SecurityGroup, error) {
	found := map[string]cloud.SecurityGroup{}
	for _, t := range terms {
		in := &sdk.DescribeSecurityGroupsInput{Filters: tagFilters(t.Tags)}
		switch {
		case t.ID != "":
			in.Filters = []types.Filter{filter("group-id", t.ID)}
		case t.Name != "":
			in.Filters = []types.Filter{filter("group-name", t.Name)}
		}
		pages := sdk.NewDescribeSecurityGroupsPaginator(a.ec2, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describe security groups: %w", classify(err))
			}
			for _, g := range page.SecurityGroups {
				found[aws.ToString(g.GroupId)] = cloud.SecurityGroup{ID: aws.ToString(g.GroupId), Name: aws.ToString(g.GroupName)}
			}
		}
	}
	out := values(found)
	slices.SortFunc(out, func(x, y cloud.SecurityGroup) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
