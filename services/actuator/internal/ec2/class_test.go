package ec2

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
)

// adapterOf is an adapter whose AWS is a handler.
func adapterOf(t *testing.T, aws http.HandlerFunc) *Adapter {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := httptest.NewServer(aws)
	t.Cleanup(server.Close)
	a, err := New(t.Context(), Config{
		Cluster: "demo", Region: "us-east-1", Endpoint: server.URL,
		API: userdata.APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.33"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What launches make of a class's own text is what the class is checked for: they always say how many pods a node takes.
func TestUserDataThatLaunchesTakeIsNoFaultOfTheClass(t *testing.T) {
	a := adapterOf(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<%sResponse></%[1]sResponse>", r.FormValue("Action"))
	})
	for text, want := range map[string]bool{"max-pods = 110": true, "kube-api-qps = 30": true, "kube-reserved = {cpu = \"1\"}": false} {
		class, err := a.Look(t.Context(), cloud.ClassSpec{
			Name: "default", AMIFamily: instancetype.Bottlerocket, InstanceProfile: "nodes", UserData: "[settings.kubernetes]\n" + text,
			ImageTerms: []cloud.ImageTerm{{ID: "ami-1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := true
		for _, f := range class.Findings {
			got = got && f.Field != "userData"
		}
		if got != want {
			t.Errorf("%s: taken %v, want %v: %v", text, got, want, class.Findings)
		}
	}
}
