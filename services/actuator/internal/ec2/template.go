package ec2

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/filter"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/template"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// ensureTemplate returns the name of a launch template with the group's content. The name is a hash of the content, so
// that equal launches share one, and a template is never changed.
func (a *Adapter) ensureTemplate(ctx context.Context, r cloud.Request, g templateGroup) (string, error) {
	data, err := a.templateData(r, g)
	if err != nil {
		return "", err
	}
	name, err := templateName(a.cluster, data)
	if err != nil {
		return "", err
	}

	a.mu.Lock()
	_, known := a.templates[name]
	a.templates[name] = a.now()
	a.mu.Unlock()
	if known {
		return name, nil
	}

	tags := a.ownTags()
	tags[labels.NodeClass] = string(r.Class.Name)
	_, err = a.ec2.CreateLaunchTemplate(ctx, &sdk.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name),
		LaunchTemplateData: data,
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: sortedTags(tags)}},
	})
	if err != nil && !isExists(err) {
		a.mu.Lock()
		delete(a.templates, name)
		a.mu.Unlock()
		return "", fmt.Errorf("create launch template %s: %w", name, err)
	}
	if err == nil {
		a.log.InfoContext(ctx, "created launch template", "template", name, "class", r.Class.Name)
	}
	return name, nil
}

func templateName(cluster string, data *types.RequestLaunchTemplateData) (string, error) {
	content, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("hash launch template: %w", err)
	}
	sum := sha256.Sum256(append([]byte(cluster+"\x00"), content...))
	return "kerf.dev/" + hex.EncodeToString(sum[:10]), nil
}

func (a *Adapter) templateData(r cloud.Request, g templateGroup) (*types.RequestLaunchTemplateData, error) {
	data, err := userdata.Render(a.bootNode(r, g))
	if err != nil {
		return nil, err
	}
	return template.Data(template.Launch{
		Spec: r.Spec, Class: r.Class, Region: a.region, IPv6: a.plane.API().IPv6(), ImageID: g.image.ID, UserData: data, Tags: a.templateTags(r),
		Adapters: g.adapters, Enclaves: r.Enclaves, ReservationID: g.reservation,
	})
}

// templateTags are of what a fleet makes and can't tag itself. EC2 refuses tags of spot requests where there are none.
func (a *Adapter) templateTags(r cloud.Request) []types.LaunchTemplateTagSpecificationRequest {
	tags := sortedTags(a.launchTags(r))
	out := []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags}}
	if len(r.Offerings) > 0 && r.Offerings[0].CapacityType == model.Spot {
		out = append(out, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags})
	}
	return out
}

func (a *Adapter) forgetTemplates(groups []templateGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range groups {
		delete(a.templates, g.template)
	}
}

// Release deletes what was made for a class: its launch templates and its instance profiles.
func (a *Adapter) Release(ctx context.Context, s cloud.ClassSpec) error {
	templates, err := a.listTemplates(ctx, filter.Of("tag:"+labels.NodeClass, string(s.Name)))
	if err != nil {
		return err
	}
	for _, t := range templates {
		if err := a.deleteTemplate(ctx, t.name); err != nil {
			return err
		}
	}
	return classify(a.profiles.Release(ctx, s.Name, s.Role))
}

// Sweep deletes the cluster's launch templates that no launch used for the given time; 0 deletes all. A template that
// this process never used counts from its creation. Instance profiles of former roles go in the same way.
func (a *Adapter) Sweep(ctx context.Context, unused time.Duration) ([]string, error) {
	templates, err := a.listTemplates(ctx)
	if err != nil {
		return nil, err
	}
	var deleted []string
	for _, t := range templates {
		a.mu.Lock()
		used := a.templates[t.name]
		a.mu.Unlock()
		if used.IsZero() {
			used = t.created
		}
		if a.now().Sub(used) < unused {
			continue
		}
		if err := a.deleteTemplate(ctx, t.name); err != nil {
			return deleted, err
		}
		deleted = append(deleted, t.name)
	}
	return deleted, classify(a.profiles.Sweep(ctx, unused))
}

type listedTemplate struct {
	name    string
	created time.Time
}

func (a *Adapter) listTemplates(ctx context.Context, filters ...types.Filter) ([]listedTemplate, error) {
	pages := sdk.NewDescribeLaunchTemplatesPaginator(a.ec2, &sdk.DescribeLaunchTemplatesInput{
		Filters: append([]types.Filter{filter.Of("tag:"+labels.TagCluster, a.cluster)}, filters...), MaxResults: aws.Int32(200),
	})
	var out []listedTemplate
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe launch templates: %w", classify(err))
		}
		for _, t := range page.LaunchTemplates {
			out = append(out, listedTemplate{name: aws.ToString(t.LaunchTemplateName), created: aws.ToTime(t.CreateTime)})
		}
	}
	return out, nil
}

func (a *Adapter) deleteTemplate(ctx context.Context, name string) error {
	a.mu.Lock()
	delete(a.templates, name)
	a.mu.Unlock()
	_, err := a.ec2.DeleteLaunchTemplate(ctx, &sdk.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String(name)})
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("delete launch template %s: %w", name, classify(err))
	}
	a.log.InfoContext(ctx, "deleted launch template", "template", name)
	return nil
}

// bootNode is the user data of a template's instances.
func (a *Adapter) bootNode(r cloud.Request, g templateGroup) userdata.Node {
	n := userdata.Of(r.Spec)
	n.Cluster, n.API, n.MaxPods, n.Labels, n.Taints = a.cluster, a.plane.API(), g.maxPods, r.Labels, r.Taints
	return n
}
