package ec2

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/userdata"
	"github.com/kerf-dev/kerf/services/core/model"
)

// A fleet that does not find its launch template says so by an error of the call, or among its own.
func TestATemplateThatAFleetDoesNotFindIsMadeAgain(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	var made atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	}))
	defer server.Close()
	a, err := New(t.Context(), Config{
		Cluster: "demo", Region: "us-east-1", Endpoint: server.URL,
		API: userdata.APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.33"},
	})
	if err != nil {
		t.Fatal(err)
	}
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
