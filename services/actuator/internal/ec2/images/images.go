// Package images finds the machine images that a node class selects: by an alias of what AWS publishes for EKS, by an SSM
// parameter, or by what EC2 says of images.
//
// It must never know what else a class selects. Its errors are the SDK's, wrapped. Start at Finder.Find; which builds an
// alias has is in families.go.
package images

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Finder finds images. Safe for concurrent use.
type Finder struct {
	EC2 *sdk.Client
	SSM *ssm.Client
	// Kubernetes is the cluster's version as major.minor.
	Kubernetes string
	Now        func() time.Time
}

// Find returns the images that the terms match, those in use before deprecated ones, then the newest first; one for each
// set of requirements. An alias that has no images for the cluster's version is an *UnsupportedError.
func (f Finder) Find(ctx context.Context, terms []cloud.ImageTerm) ([]cloud.Image, error) {
	var found []cloud.Image
	for _, t := range terms {
		images, err := f.term(ctx, t)
		if err != nil {
			return nil, err
		}
		found = append(found, images...)
	}
	slices.SortFunc(found, func(x, y cloud.Image) int {
		return cmp.Or(boolCompare(x.Deprecated, y.Deprecated), y.CreateTime.Compare(x.CreateTime), cmp.Compare(y.Name, x.Name))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(i cloud.Image) bool {
		key := fmt.Sprint(i.Requirements)
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	}), nil
}

func (f Finder) term(ctx context.Context, t cloud.ImageTerm) ([]cloud.Image, error) {
	switch {
	case t.Alias != "":
		builds, err := buildsOf(t.Alias, f.Kubernetes)
		if err != nil {
			return nil, err
		}
		var out []cloud.Image
		for _, b := range builds {
			images, err := f.byParameter(ctx, b)
			if err != nil {
				return nil, err
			}
			out = append(out, images...)
		}
		return out, nil
	case t.SSMParameter != "":
		return f.byParameter(ctx, build{parameter: t.SSMParameter})
	default:
		return f.byFilter(ctx, t)
	}
}

func boolCompare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	default:
		return -1
	}
}

func notFound(err error) bool { return awserror.Of(err) == awserror.NotFound }

// byParameter follows a parameter to its image. A parameter that is not published is no image.
func (f Finder) byParameter(ctx context.Context, b build) ([]cloud.Image, error) {
	out, err := f.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(b.parameter)})
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", b.parameter, err)
	}
	if out.Parameter == nil || aws.ToString(out.Parameter.Value) == "" {
		return nil, fmt.Errorf("get parameter %s: it is empty", b.parameter)
	}
	// What EC2 says of another text has it in it, and who may write a class need not be one who may read the parameter.
	if !strings.HasPrefix(*out.Parameter.Value, "ami-") {
		return nil, fmt.Errorf("%w: parameter %s holds no id of a machine image, such as ami-0123456789abcdef0", cloud.ErrInvalid, b.parameter)
	}
	images, err := f.describe(ctx, &sdk.DescribeImagesInput{ImageIds: []string{*out.Parameter.Value}})
	if notFound(err) {
		return nil, nil
	}
	if len(b.requirements) > 0 {
		for i := range images {
			images[i].Requirements = b.requirements
		}
	}
	return images, err
}

func (f Finder) byFilter(ctx context.Context, t cloud.ImageTerm) ([]cloud.Image, error) {
	in := &sdk.DescribeImagesInput{
		Filters: append(filter.Tags(t.Tags), filter.Of("state", "available")), IncludeDeprecated: aws.Bool(true),
		MaxResults: aws.Int32(1000),
	}
	if t.ID != "" {
		in.Filters = append(in.Filters, filter.Of("image-id", t.ID))
	}
	if t.Name != "" {
		in.Filters = append(in.Filters, filter.Of("name", t.Name))
		in.Owners = []string{"self", "amazon"}
	}
	if t.Owner != "" {
		in.Owners = []string{t.Owner}
	}
	return f.describe(ctx, in)
}

func (f Finder) describe(ctx context.Context, in *sdk.DescribeImagesInput) ([]cloud.Image, error) {
	pages := sdk.NewDescribeImagesPaginator(f.EC2, in)
	var out []cloud.Image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			if notFound(err) {
				return nil, err // callers tell a missing image from a refused call
			}
			return nil, fmt.Errorf("describe images: %w", err)
		}
		for i := range page.Images {
			if found, ok := image(&page.Images[i], f.Now()); ok {
				out = append(out, found)
			}
		}
	}
	return out, nil
}

// image reads EC2's description; false says that no node boots from it.
func image(i *types.Image, now time.Time) (cloud.Image, bool) {
	arch := catalog.Arch(string(i.Architecture))
	if arch == "" || i.State != types.ImageStateAvailable {
		return cloud.Image{}, false
	}
	out := cloud.Image{ID: aws.ToString(i.ImageId), Name: aws.ToString(i.Name)}
	// A time that does not parse sorts last, and a machine image without one is not worth failing a class for.
	if t, err := time.Parse(time.RFC3339, aws.ToString(i.CreationDate)); err == nil {
		out.CreateTime = t
	}
	if t, err := time.Parse(time.RFC3339, aws.ToString(i.DeprecationTime)); err == nil {
		out.Deprecated = now.After(t)
	}
	out.Requirements = []model.Requirement{{Key: labels.Arch, Operator: model.In, Values: []string{arch}}}
	return out, true
}
