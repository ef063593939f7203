package ec2

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/controlplane"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

func tagOf(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

func TestAnInstanceHasTheNameThatItsClassGivesIt(t *testing.T) {
	a := &Adapter{cluster: "c"}
	r := cloud.Request{Claim: "default-1", NodePool: "default"}
	if got := tagOf(a.instanceTags(r), "Name"); got != "default-1" {
		t.Errorf("Name is %q, want the claim's where the class has none", got)
	}
	r.Spec.Tags = model.Labels{{Key: "Name", Value: "mine"}, {Key: labels.TagClaim, Value: "another"}, {Key: labels.TagCluster, Value: "another"}}
	tags := a.instanceTags(r)
	if tagOf(tags, "Name") != "mine" || tagOf(tags, labels.TagClaim) != "default-1" || tagOf(tags, labels.TagCluster) != "c" {
		t.Errorf("%v, want the user's name, and whose it is for Kerf to say", tags)
	}
	r.Count = 2
	if got := tagOf(a.instanceTags(r), labels.TagClaim); got != "" {
		t.Errorf("the instances of a launch of several are all of claim %q, which the class named", got)
	}
}

func TestWhatALaunchMakesIsTaggedFromTheStart(t *testing.T) {
	a := &Adapter{cluster: "c", Market: &Market{}, plane: &controlplane.Plane{}}
	for capacity, want := range map[model.CapacityType][]types.ResourceType{
		model.OnDemand: {types.ResourceTypeNetworkInterface},
		model.Spot:     {types.ResourceTypeNetworkInterface, types.ResourceTypeSpotInstancesRequest},
	} {
		r := cloud.Request{
			Claim: "default-1", NodePool: "default", Spec: cloud.ClassSpec{AMIFamily: instancetype.Custom, Tags: model.Labels{{Key: "team", Value: "a"}}},
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "a", CapacityType: capacity}},
		}
		data, err := a.templateData(r, templateGroup{})
		if err != nil {
			t.Fatal(err)
		}
		if len(data.TagSpecifications) != len(want) {
			t.Fatalf("%s: %d kinds of things are tagged, want %v", capacity, len(data.TagSpecifications), want)
		}
		for i, s := range data.TagSpecifications {
			if s.ResourceType != want[i] || tagOf(s.Tags, "team") != "a" || tagOf(s.Tags, labels.TagCluster) != "c" || tagOf(s.Tags, labels.NodePool) != "default" {
				t.Errorf("%s: %s has %v", capacity, s.ResourceType, s.Tags)
			}
			if tagOf(s.Tags, labels.TagClaim) != "" || tagOf(s.Tags, "Name") != "" {
				t.Errorf("%s: a template that launches share has the tags of one claim", capacity)
			}
		}
	}
}
