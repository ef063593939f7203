package ec2

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
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// variant is a build of an image family: where its id is published, and which instance types it boots on.
type variant struct {
	parameter    string
	requirements []model.Requirement
}

// images returns the images that the class's terms match, newest first, one for each set of requirements.
func (a *Adapter) images(ctx context.Context, s cloud.ClassSpec) ([]cloud.Image, error) {
	var found []cloud.Image
	for _, t := range s.ImageTerms {
		var (
			images []cloud.Image
			err    error
		)
		switch {
		case t.Alias != "":
			images, err = a.imagesByAlias(ctx, t.Alias)
		case t.SSMParameter != "":
			images, err = a.imagesByParameter(ctx, variant{parameter: t.SSMParameter})
		default:
			images, err = a.imagesByFilter(ctx, t)
		}
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

func (a *Adapter) imagesByAlias(ctx context.Context, alias string) ([]cloud.Image, error) {
	variants, err := variantsOf(alias, a.api.KubernetesVersion)
	if err != nil {
		return nil, err
	}
	var out []cloud.Image
	for _, v := range variants {
		images, err := a.imagesByParameter(ctx, v)
		if err != nil {
			return nil, err
		}
		out = append(out, images...)
	}
	return out, nil
}

// variantsOf lists where AWS publishes the builds of an alias ("al2023@latest", "bottlerocket@v1.30.0").
func variantsOf(alias, kubernetes string) ([]variant, error) {
	family, version, ok := strings.Cut(alias, "@")
	if !ok || version == "" {
		return nil, fmt.Errorf("%w: alias %q: write family@version, for example al2023@latest", cloud.ErrInvalid, alias)
	}
	arch := func(value string) model.Requirement {
		return model.Requirement{Key: labels.Arch, Operator: model.In, Values: []string{value}}
	}
	has := func(key string) model.Requirement { return model.Requirement{Key: key, Operator: model.Exists} }
	lacks := func(key string) model.Requirement { return model.Requirement{Key: key, Operator: model.DoesNotExist} }

	switch strings.ToLower(family) {
	case "al2023":
		path := func(machine, kind string) string {
			base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", kubernetes, machine, kind)
			if version == "latest" {
				return base + "recommended/image_id"
			}
			return base + fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s/image_id", machine, kind, kubernetes, version)
		}
		return []variant{
			{path("x86_64", "standard"), []model.Requirement{arch("amd64"), lacks(labels.InstanceGPUCount), lacks(labels.InstanceAcceleratorCount)}},
			{path("arm64", "standard"), []model.Requirement{arch("arm64"), lacks(labels.InstanceGPUCount), lacks(labels.InstanceAcceleratorCount)}},
			{path("x86_64", "nvidia"), []model.Requirement{arch("amd64"), has(labels.InstanceGPUCount)}},
			{path("arm64", "nvidia"), []model.Requirement{arch("arm64"), has(labels.InstanceGPUCount)}},
			{path("x86_64", "neuron"), []model.Requirement{arch("amd64"), has(labels.InstanceAcceleratorCount)}},
		}, nil
	case "bottlerocket":
		path := func(kind, machine string) string {
			return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id",
				kubernetes, kind, machine, strings.TrimPrefix(version, "v"))
		}
		return []variant{
			{path("", "x86_64"), []model.Requirement{arch("amd64"), lacks(labels.InstanceGPUCount)}},
			{path("", "arm64"), []model.Requirement{arch("arm64"), lacks(labels.InstanceGPUCount)}},
			{path("-nvidia", "x86_64"), []model.Requirement{arch("amd64"), has(labels.InstanceGPUCount)}},
			{path("-nvidia", "arm64"), []model.Requirement{arch("arm64"), has(labels.InstanceGPUCount)}},
		}, nil
	default:
		return nil, fmt.Errorf("%w: alias %q: Kerf knows al2023 and bottlerocket; select other images by id, name or tags",
			cloud.ErrInvalid, alias)
	}
}

// imagesByParameter follows a parameter to its image. A parameter that is not published is no image.
func (a *Adapter) imagesByParameter(ctx context.Context, v variant) ([]cloud.Image, error) {
	out, err := a.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(v.parameter)})
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", v.parameter, classify(err))
	}
	if out.Parameter == nil || aws.ToString(out.Parameter.Value) == "" {
		return nil, fmt.Errorf("get parameter %s: it is empty", v.parameter)
	}
	images, err := a.describeImages(ctx, &sdk.DescribeImagesInput{ImageIds: []string{*out.Parameter.Value}})
	if isNotFound(err) {
		return nil, nil
	}
	if len(v.requirements) > 0 {
		for i := range images {
			images[i].Requirements = v.requirements
		}
	}
	return images, err
}

func (a *Adapter) imagesByFilter(ctx context.Context, t cloud.ImageTerm) ([]cloud.Image, error) {
	in := &sdk.DescribeImagesInput{
		Filters: append(tagFilters(t.Tags), filter("state", "available")), IncludeDeprecated: aws.Bool(true),
	}
	if t.ID != "" {
		in.Filters = append(in.Filters, filter("image-id", t.ID))
	}
	if t.Name != "" {
		in.Filters = append(in.Filters, filter("name", t.Name))
		in.Owners = []string{"self", "amazon"}
	}
	if t.Owner != "" {
		in.Owners = []string{t.Owner}
	}
	return a.describeImages(ctx, in)
}

func (a *Adapter) describeImages(ctx context.Context, in *sdk.DescribeImagesInput) ([]cloud.Image, error) {
	pages := sdk.NewDescribeImagesPaginator(a.ec2, in)
	var out []cloud.Image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			if isNotFound(err) {
				return nil, err // callers tell a missing image from a refused call
			}
			return nil, fmt.Errorf("describe images: %w", classify(err))
		}
		for i := range page.Images {
			if found, ok := image(&page.Images[i], a.now()); ok {
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
