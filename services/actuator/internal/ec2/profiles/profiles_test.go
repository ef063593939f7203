package profiles

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// TestAProfileOfAnotherRegionIsNotFormer has a cluster and a class of the same names in two regions.
func TestAProfileOfAnotherRegionIsNotFormer(t *testing.T) {
	here, there := New(Config{Cluster: "c", Region: "us-east-1"}), New(Config{Cluster: "c", Region: "eu-west-1"})
	here.Named("default", "users")
	of := func(x *Profiles) profile {
		return profile{name: x.profileName("default", "role"), tags: map[string]string{labels.NodeClass: "default", labels.TagCluster: "c"}}
	}
	if !here.former(of(here)) {
		t.Error("the class's own is none")
	}
	if here.former(of(there)) {
		t.Error("that of another region's class is one")
	}
}

// IAM may not have heard yet of a profile that it has just made, which says nothing of the role.
func TestAProfileThatIAMDoesNotKnowYetIsNoMissingRole(t *testing.T) {
	for words, want := range map[string]string{
		"The role with name nodes cannot be found.":             "IAM role nodes does not exist",
		"Instance Profile kerf-c-0123456789ab cannot be found.": "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if action := r.FormValue("Action"); action == "CreateInstanceProfile" {
				fmt.Fprint(w, "<CreateInstanceProfileResponse><CreateInstanceProfileResult></CreateInstanceProfileResult></CreateInstanceProfileResponse>")
				return
			}
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, "<ErrorResponse><Error><Code>NoSuchEntity</Code><Message>%s</Message></Error></ErrorResponse>", words)
		}))
		keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		})
		x := New(Config{Cluster: "c", Region: "us-east-1", Log: slog.New(slog.DiscardHandler), IAM: iam.New(iam.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: keys,
		})})
		name, missing, err := x.Ensure(t.Context(), "default", "nodes")
		if name != "" || missing != want || (err == nil) != (want != "") {
			t.Errorf("%s: profile %q, missing %q, error %v; want missing %q", words, name, missing, err, want)
		}
		server.Close()
	}
}
