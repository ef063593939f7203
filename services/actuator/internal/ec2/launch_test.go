package ec2

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// A fleet that does not find its launch template says so by an error of the call, or among its own.
func TestATemplateThatAFleetDoesNotFindIsMadeAgain(t *testing.T) {
	var made atomic.Int64
	a := adapterOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch action := r.FormValue("Action"); action {
		case "CreateLaunchTemplate":
			made.Add(1)
			fmt.Fprint(w, `<CreateLaunchTemplateResponse><launchTemplate><launchTemplateId>lt-1</launchTemplateId></launchTemplate></CreateLaunchTemplateResponse>`)
		case "CreateFleet":
			fmt.Fprint(w, `<CreateFleetResponse><fleetId>fleet-1</fleetId><errorSet><item><errorCode>InvalidLaunchTemplateId.NotFound</errorCode>
				<errorMessage>The specified launch template does not exist</errorMessage></item></errorSet></CreateFleetResponse>`)
		default:
			t.Errorf("call %q", action)
		}
	})
	a.types = map[string]catalog.Type{"m5.large": {Name: "m5.large", Arch: "amd64"}}
	for attempt := range int64(2) {
		_, err := a.Launch(t.Context(), cloud.Request{
			Claim: "c", Token: fmt.Sprint("token-", attempt),
			Class:     cloud.Class{Subnets: []cloud.Subnet{{ID: "subnet-1", Zone: "a"}}, Images: []cloud.Image{{ID: "ami-1"}}},
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand}},
		})
		if err == nil || made.Load() != attempt+1 {
			t.Errorf("attempt %d: error %v, and the template was made %d times", attempt, err, made.Load())
		}
	}
}

// Of the types one has an adapter on each of its cards, which is more interfaces than EC2 gives a public address to.
func TestWhatCannotBeAsTheClassSaysIsLeftOutOfALaunch(t *testing.T) {
	for name, tt := range map[string]struct {
		types []model.TypeName
		want  string // what EC2 is asked for
	}{
		"others go on": {[]model.TypeName{"p5.48xlarge", "g6.8xlarge"}, "g6.8xlarge"},
		"none is left": {[]model.TypeName{"p5.48xlarge"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			a := adapterOf(t, func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("Action") != "CreateFleet" {
					fmt.Fprint(w, `<CreateLaunchTemplateResponse><launchTemplate><launchTemplateId>lt-1</launchTemplateId></launchTemplate></CreateLaunchTemplateResponse>`)
					return
				}
				asked = r.FormValue("LaunchTemplateConfigs.1.Overrides.1.InstanceType") + r.FormValue("LaunchTemplateConfigs.2.Overrides.1.InstanceType")
				fmt.Fprintf(w, `<CreateFleetResponse><fleetId>fleet-1</fleetId><fleetInstanceSet><item><instanceType>%s</instanceType>
					<launchTemplateAndOverrides><launchTemplateSpecification><launchTemplateId>lt-1</launchTemplateId></launchTemplateSpecification>
					<overrides><availabilityZone>a</availabilityZone></overrides></launchTemplateAndOverrides>
					<instanceIds><item>i-1</item></instanceIds></item></fleetInstanceSet></CreateFleetResponse>`, asked)
			})
			a.types = map[string]catalog.Type{
				"g6.8xlarge":  {Name: "g6.8xlarge", Arch: "amd64", EFAInterfaces: 1},
				"p5.48xlarge": {Name: "p5.48xlarge", Arch: "amd64", NetworkCards: 32, EFAInterfaces: 32},
			}
			r := cloud.Request{
				Claim: "c", Token: "token", EFA: true, Spec: cloud.ClassSpec{AssociatePublicIP: new(true)},
				Class: cloud.Class{Subnets: []cloud.Subnet{{ID: "subnet-1", Zone: "a"}}, Images: []cloud.Image{{ID: "ami-1"}}},
			}
			for _, x := range tt.types {
				r.Offerings = append(r.Offerings, model.RankedOffering{InstanceType: x, Zone: "a", CapacityType: model.OnDemand})
			}
			got, err := a.Launch(t.Context(), r)
			if asked != tt.want {
				t.Errorf("EC2 was asked for %q, want %q", asked, tt.want)
			}
			if tt.want == "" && !errors.Is(err, cloud.ErrInvalid) || tt.want != "" && (err != nil || len(got) != 1) {
				t.Errorf("got %v, error %v", got, err)
			}
			for _, i := range got { // EC2 did not name the template, and what was left out has no name either
				if i.ImageID != "" {
					t.Errorf("it is said to have the image %s of a group that was left out", i.ImageID)
				}
			}
		})
	}
}

func TestHowManyAddressesAnInstanceTakes(t *testing.T) {
	for name, tt := range map[string]struct {
		prefixes *int32
		ipv6     bool
		pods     int64
		want     int64
	}{
		"one for each pod":                          {nil, false, 29, 29},
		"its own, where nothing is known of pods":   {nil, false, 0, 1},
		"all of its prefixes, however few the pods": {new(int32(4)), false, 29, 65},
		"more than its prefixes, as pods come":      {new(int32(1)), false, 110, 110},
		"its own alone, where pods have IPv6":       {new(int32(4)), true, 110, 1},
	} {
		r := cloud.Request{
			Spec: cloud.ClassSpec{IPPrefixCount: tt.prefixes}, MaxPods: map[model.TypeName]int64{"m5.large": tt.pods},
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "a"}},
		}
		if got, least := takes(r, "m5.large", tt.ipv6), leastTaken(r, "a", tt.ipv6); got != tt.want || least != tt.want {
			t.Errorf("%s: %d, at least %d; want %d", name, got, least, tt.want)
		}
	}
}
