package ec2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/images"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/rights"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

// Resolve finds what the class selects. The first thing that is missing makes the class not ready.
func (a *Adapter) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	if s.InstanceProfile != "" {
		a.profiles.Named(s.Name, s.InstanceProfile)
	}
	class, err := a.resolve(ctx, s, a.profiles.Ensure)
	if err == nil && class.NotReady.OK() && a.rights != nil {
		if f := a.validate(ctx, s, class); f != nil {
			class.Found(*f)
		}
	}
	return class, err
}

// Look is Resolve without its writes.
func (a *Adapter) Look(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return a.resolve(ctx, s, a.profiles.Find)
}

// maxTags is how many tags EC2 takes of one resource, its own apart.
const maxTags = 50

// profileOf returns the instance profile of a class with a role, or says in words what is missing.
type profileOf func(ctx context.Context, class model.NodeClassName, role string) (profile, missing string, err error)

func (a *Adapter) resolve(ctx context.Context, s cloud.ClassSpec, find profileOf) (cloud.Class, error) {
	out := cloud.Class{Name: s.Name}
	missing := func(condition, reason, field, format string, args ...any) {
		out.Found(cloud.Finding{Condition: condition, Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)})
	}

	if err := a.plane.Renew(ctx); err != nil {
		return out, classify(err)
	}
	_, err := userdata.Render(a.bootNode(cloud.Request{Spec: s}, templateGroup{maxPods: 1})) // launches say a number, too
	switch {
	case errors.Is(err, userdata.ErrTooLong):
		missing(awsv1.ConditionValidationSucceeded, awsv1.ReasonUserDataSizeLimitExceeded, "userData", "%s", err)
	case err != nil:
		missing(awsv1.ConditionValidationSucceeded, awsv1.ReasonUserDataInvalid, "userData", "%s", err)
	}
	if n := len(a.instanceTags(cloud.Request{Spec: s})); n > maxTags {
		missing(awsv1.ConditionValidationSucceeded, awsv1.ReasonTagValidationFailed, "tags",
			"with those that Kerf sets an instance would have %d tags, and EC2 takes %d: remove %d", n, maxTags, n-maxTags)
	}
	if out.Subnets, err = a.subnets(ctx, s.SubnetTerms); err != nil {
		return out, err
	}
	if len(out.Subnets) == 0 {
		missing(awsv1.ConditionSubnetsReady, awsv1.ReasonSubnetsNotFound, "subnetSelectorTerms", "no subnet matches %s", describe(s.SubnetTerms))
	}
	if out.SecurityGroups, err = a.securityGroups(ctx, s.SecurityGroupTerms); err != nil {
		return out, err
	}
	if len(out.SecurityGroups) == 0 {
		missing(awsv1.ConditionSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound, "securityGroupSelectorTerms",
			"no security group matches %s", describe(s.SecurityGroupTerms))
	}
	var unsupported *images.UnsupportedError
	switch out.Images, err = a.images().Find(ctx, s.ImageTerms); {
	case errors.As(err, &unsupported):
		missing(awsv1.ConditionAMIsReady, awsv1.ReasonUnsupportedAlias, "amiSelectorTerms", "%s", err)
	case err != nil:
		return out, classify(err)
	case len(out.Images) == 0:
		missing(awsv1.ConditionAMIsReady, awsv1.ReasonAMINotFound, "amiSelectorTerms",
			"no available machine image matches for Kubernetes %s", a.plane.API().KubernetesVersion)
	}
	if err := a.reserved(ctx, s, &out); err != nil {
		return out, err
	}
	if s.InstanceProfile != "" {
		out.InstanceProfile = s.InstanceProfile
		if told := a.profiles.UnknownAt(s.InstanceProfile); !told.IsZero() && a.now().Sub(told) < rights.DeniedFor {
			out.Found(rights.NoProfile(s.InstanceProfile))
		}
		return out, nil
	}
	profile, why, err := find(ctx, s.Name, s.Role)
	if err != nil {
		return out, classify(err)
	}
	if why != "" {
		missing(awsv1.ConditionInstanceProfileReady, awsv1.ReasonInstanceProfileNotFound, "role", "%s", why)
		return out, nil
	}
	out.InstanceProfile = profile
	return out, nil
}

func (a *Adapter) images() images.Finder {
	return images.Finder{EC2: a.ec2, SSM: a.ssm, Kubernetes: a.plane.API().KubernetesVersion, Now: a.now}
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

// subnets returns the union of the terms' matches: most free addresses first, then by id.
func (a *Adapter) subnets(ctx context.Context, terms []cloud.SelectorTerm) ([]cloud.Subnet, error) {
	asked, found := a.now(), map[string]cloud.Subnet{}
	for _, t := range terms {
		in := &sdk.DescribeSubnetsInput{Filters: filter.Tags(t.Tags)}
		if t.ID != "" {
			in.Filters = []types.Filter{filter.Of("subnet-id", t.ID)}
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
		in := &sdk.DescribeSecurityGroupsInput{Filters: filter.Tags(t.Tags)}
		switch {
		case t.ID != "":
			in.Filters = []types.Filter{filter.Of("group-id", t.ID)}
		case t.Name != "":
			in.Filters = []types.Filter{filter.Of("group-name", t.Name)}
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
