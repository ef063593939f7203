package awssim

import (
	"encoding/base64"
	"time"
)

type versionsAnswer struct {
	Versions []templateVersion `xml:"launchTemplateVersionSet>item"`
}

type templateVersion struct {
	ID      string           `xml:"launchTemplateId"`
	Name    string           `xml:"launchTemplateName"`
	Version int              `xml:"versionNumber"`
	Created string           `xml:"createTime"`
	Default bool             `xml:"defaultVersion"`
	Data    templateDataItem `xml:"launchTemplateData"`
}

type templateDataItem struct {
	ImageID      string        `xml:"imageId,omitempty"`
	InstanceType string        `xml:"instanceType,omitempty"`
	ProfileName  string        `xml:"iamInstanceProfile>name,omitempty"`
	UserData     string        `xml:"userData,omitempty"`
	Groups       []string      `xml:"securityGroupIdSet>item"`
	Devices      []blockDevice `xml:"blockDeviceMappingSet>item"`
	Tags         []tagSpecItem `xml:"tagSpecificationSet>item"`
}

type tagSpecItem struct {
	ResourceType string    `xml:"resourceType"`
	Tags         []tagItem `xml:"tagSet>item"`
}

// describeLaunchTemplateVersions shows the one version of one template, as far as the simulator keeps it.
func (s *Sim) describeLaunchTemplateVersions(f *form) (any, error) {
	f.ignore("MaxResults", "ResolveAlias", "IncludeManagedResources")
	id, name, versions := f.str("LaunchTemplateId"), f.str("LaunchTemplateName"), f.list("LaunchTemplateVersion")
	if err := f.checked(); err != nil {
		return nil, err
	}
	t, err := s.templateRef(id, name)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if err := checkVersion(v); err != nil {
			return nil, err
		}
	}
	d := templateDataItem{
		ImageID: t.data.imageID, InstanceType: t.data.instanceType, ProfileName: t.data.profileName,
		UserData: base64.StdEncoding.EncodeToString(t.data.userData), Groups: t.data.securityGroups, Devices: t.data.devices,
	}
	for _, kind := range sortedKeys(t.data.tags) {
		d.Tags = append(d.Tags, tagSpecItem{kind, tagItems(t.data.tags[kind])})
	}
	return versionsAnswer{[]templateVersion{{
		ID: t.id, Name: t.name, Version: 1, Created: t.created.Format(time.RFC3339), Default: true, Data: d,
	}}}, nil
}
