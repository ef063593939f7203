package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

func openClassWorld(t *testing.T, change func(*awssim.Config)) (cloudtest.World, *awssim.Server) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	return openWorldWith(t, change)
}

func resolved(t *testing.T, w cloudtest.World) cloud.Class {
	t.Helper()
	c, err := w.Classes.Resolve(t.Context(), w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// findings are a class's, as "condition reason".
func findings(c cloud.Class) []string {
	var out []string
	for _, f := range c.Findings {
		out = append(out, f.Condition+" "+f.Reason)
	}
	return out
}

// tags are so many tags of a user's.
func tags(n int) (out model.Labels) {
	for i := range n {
		out = append(out, model.Label{Key: fmt.Sprintf("k%02d", i), Value: "v"})
	}
	return out
}

func TestAClassSaysEverythingThatIsMissing(t *testing.T) {
	w, _ := openClassWorld(t, func(c *awssim.Config) { c.KubernetesVersion = "1.33" })
	none := []cloud.SelectorTerm{{Tags: model.Labels{{Key: "no", Value: "such"}}}}
	tests := map[string]struct {
		change func(*cloud.ClassSpec)
		want   []string
	}{
		"nothing": {func(*cloud.ClassSpec) {}, nil},
		"neither subnets nor groups": {
			func(s *cloud.ClassSpec) { s.SubnetTerms, s.SecurityGroupTerms = none, none },
			[]string{"SubnetsReady SubnetsNotFound", "SecurityGroupsReady SecurityGroupsNotFound"},
		},
		"images": {
			func(s *cloud.ClassSpec) { s.ImageTerms = []cloud.ImageTerm{{ID: "ami-0"}} }, []string{"AMIsReady AMINotFound"},
		},
		"AL2, which has no images for this version": {
			func(s *cloud.ClassSpec) {
				s.AMIFamily, s.ImageTerms = "Custom", []cloud.ImageTerm{{Alias: "al2@latest"}}
			},
			[]string{"AMIsReady UnsupportedAlias"},
		},
		"the role": {func(s *cloud.ClassSpec) { s.Role = "none" }, []string{"InstanceProfileReady InstanceProfileNotFound"}},
		"room for the user data": {
			func(s *cloud.ClassSpec) { s.UserData = "#!/bin/sh\n" + strings.Repeat("#", 16_384) },
			[]string{"ValidationSucceeded UserDataSizeLimitExceeded"},
		},
		"room for Kerf's own tags": {
			func(s *cloud.ClassSpec) { s.Tags = tags(43) }, []string{"ValidationSucceeded TagValidationFailed"},
		},
		"nothing where tags just fit": {func(s *cloud.ClassSpec) { s.Tags = tags(42) }, nil},
		"nothing where one of them is the name": {
			func(s *cloud.ClassSpec) { s.Tags = append(tags(42), model.Label{Key: "Name", Value: "mine"}) }, nil,
		},
	}
	spec := w.Spec
	for name, tt := range tests {
		w.Spec = spec
		tt.change(&w.Spec)
		got := resolved(t, w)
		if d := cmp.Diff(tt.want, findings(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got.NotReady.OK() != (tt.want == nil) {
			t.Errorf("%s: not ready: %+v", name, got.NotReady)
		}
	}
}

func TestSelectorsTakeWhatEveryTagOfATermMatches(t *testing.T) {
	tags := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	w, _ := openClassWorld(t, func(c *awssim.Config) {
		c.Subnets = []awssim.Subnet{
			{ID: "subnet-0a", Zone: "us-east-1a", CIDR: "10.0.0.0/20", Tags: tags("team", "a", "tier", "private")},
			{ID: "subnet-0b", Zone: "us-east-1b", CIDR: "10.0.16.0/20", Tags: tags("team", "b", "tier", "private")},
			{ID: "subnet-0c", Zone: "us-east-1c", CIDR: "10.0.32.0/20", Tags: tags("team", "a", "tier", "public")},
			{ID: "subnet-0d", Zone: "us-east-1c", CIDR: "10.0.48.0/20", Tags: tags("tier", "public")},
		}
	})
	term := func(pairs ...string) cloud.SelectorTerm {
		return cloud.SelectorTerm{Tags: model.LabelsOf(tags(pairs...))}
	}
	for name, tt := range map[string]struct {
		terms []cloud.SelectorTerm
		want  string
	}{
		"any value":           {[]cloud.SelectorTerm{term("team", "*")}, "subnet-0a subnet-0b subnet-0c"},
		"two tags of a term":  {[]cloud.SelectorTerm{term("team", "a", "tier", "private")}, "subnet-0a"},
		"two terms":           {[]cloud.SelectorTerm{term("team", "b"), term("tier", "public")}, "subnet-0b subnet-0c subnet-0d"},
		"an id beside a term": {[]cloud.SelectorTerm{{ID: "subnet-0d"}, term("team", "b")}, "subnet-0b subnet-0d"},
	} {
		w.Spec.SubnetTerms = tt.terms
		var got []string
		for _, s := range resolved(t, w).Subnets {
			got = append(got, s.ID)
		}
		slices.Sort(got)
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestAnAliasHasAnImageForEachKindOfInstance(t *testing.T) {
	w, _ := openClassWorld(t, func(*awssim.Config) {})
	got := map[string]string{}
	for _, i := range resolved(t, w).Images {
		var what []string
		for _, r := range i.Requirements {
			what = append(what, strings.TrimSpace(strings.TrimPrefix(r.Key, "karpenter.k8s.aws/instance-")+" "+r.Operator.String()+" "+strings.Join(r.Values, ",")))
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(i.Name, "amazon-eks-node-al2023-"), "-1.")
		got[name] = strings.Join(what, "; ")
	}
	want := map[string]string{
		"x86_64-standard": "kubernetes.io/arch In amd64; gpu-count DoesNotExist; accelerator-count DoesNotExist",
		"arm64-standard":  "kubernetes.io/arch In arm64; gpu-count DoesNotExist; accelerator-count DoesNotExist",
		"x86_64-nvidia":   "kubernetes.io/arch In amd64; gpu-count Exists",
		"arm64-nvidia":    "kubernetes.io/arch In arm64; gpu-count Exists",
		"x86_64-neuron":   "kubernetes.io/arch In amd64; accelerator-count Exists",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOfImagesForTheSameInstancesTheNewestInUseIsTaken(t *testing.T) {
	now := time.Now()
	image := func(id, name, owner string, age time.Duration, deprecated bool) awssim.Image {
		i := awssim.Image{ID: id, Name: name, Arch: "amd64", Owner: owner, Created: now.Add(-age)}
		if deprecated {
			i.Deprecated = now.Add(-time.Hour)
		}
		return i
	}
	w, _ := openClassWorld(t, func(c *awssim.Config) {
		c.Images = []awssim.Image{
			image("ami-0a", "mine-old", "self", 3*time.Hour, false), image("ami-0b", "mine-new", "self", 2*time.Hour, false),
			image("ami-0c", "mine-newest", "self", time.Hour, true), image("ami-0d", "gone-1", "self", 3*time.Hour, true),
			image("ami-0e", "gone-2", "self", 2*time.Hour, true), image("ami-0f", "theirs", "123456789099", time.Hour, false),
		}
	})
	for name, tt := range map[string]struct{ term, owner, want string }{
		"a newer one is deprecated":         {"mine-*", "", "ami-0b false"},
		"all are deprecated":                {"gone-*", "", "ami-0e true"},
		"another account's under that name": {"theirs", "", ""},
		"another account's that is named":   {"theirs", "123456789099", "ami-0f false"},
	} {
		w.Spec.ImageTerms = []cloud.ImageTerm{{Name: tt.term, Owner: tt.owner}}
		got := ""
		for _, i := range resolved(t, w).Images {
			got += fmt.Sprint(i.ID, " ", i.Deprecated)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestWhatAParameterHoldsIsNotToldIfItIsNoImage has a class that names a parameter with something else in it. The error
// becomes a condition of the class, which more people read than may read the parameter.
func TestWhatAParameterHoldsIsNotToldIfItIsNoImage(t *testing.T) {
	w, _ := openClassWorld(t, func(c *awssim.Config) { c.Parameters = map[string]string{"/shop/password": "hunter2"} })
	w.Spec.ImageTerms = []cloud.ImageTerm{{SSMParameter: "/shop/password"}}
	_, err := w.Classes.Resolve(t.Context(), w.Spec)
	if !errors.Is(err, cloud.ErrInvalid) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "/shop/password") {
		t.Errorf("error %v, want one that names the parameter, and not what it holds", err)
	}
}

func TestARoleHasItsProfileAndAnotherRoleAnother(t *testing.T) {
	w, server := openClassWorld(t, func(c *awssim.Config) { c.Roles = append(c.Roles, "other") })
	made := func() int { return server.Calls().Counts["iam:CreateInstanceProfile"] }
	first := resolved(t, w)
	for range 3 {
		if again := resolved(t, w); again.InstanceProfile != first.InstanceProfile || made() != 1 {
			t.Fatalf("profile %s after %s, %d made", again.InstanceProfile, first.InstanceProfile, made())
		}
	}
	launch := func(class cloud.Class, token string) {
		t.Helper()
		_, err := w.Cloud.Launch(t.Context(), cloud.Request{
			Claim: model.ClaimID(token), Token: token, NodePool: "default", Class: class, Spec: w.Spec, MaxPods: map[model.TypeName]int64{"m5.large": 29},
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	launch(first, "1")
	w.Advance(time.Minute)
	w.Spec.Role = "path/to/other" // as users write it who copy an ARN's end
	second := resolved(t, w)
	if second.InstanceProfile == first.InstanceProfile || made() != 2 {
		t.Fatalf("profile %s for both roles, %d made", second.InstanceProfile, made())
	}
	if resolved(t, w); made() != 2 {
		t.Errorf("%d profiles made for two roles", made())
	}
	launch(second, "2")
	sweep := func() {
		t.Helper()
		if _, err := w.Classes.Sweep(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	deleted := func() int { return server.Calls().Counts["iam:DeleteInstanceProfile"] }
	if sweep(); deleted() != 0 {
		t.Fatal("the profile of a running instance was deleted")
	}
	all, err := w.Cloud.Instances(t.Context(), cloud.Some{Claim: "1"})
	if err != nil || len(all) != 1 {
		t.Fatal(err, all)
	}
	if err := w.Cloud.Terminate(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	w.Advance(time.Minute)
	if sweep(); deleted() != 1 {
		t.Errorf("%d profiles deleted once the instance was gone, want 1", deleted())
	}
	if err := w.Classes.Release(t.Context(), w.Spec); err != nil || deleted() != 2 {
		t.Errorf("%d profiles deleted with the class, %v", deleted(), err)
	}
}

func TestAMissingRoleMakesOneProfileAtMost(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	w.Spec.Role = "none"
	for range 5 {
		if got := findings(resolved(t, w)); !slices.Equal(got, []string{"InstanceProfileReady InstanceProfileNotFound"}) {
			t.Fatal(got)
		}
	}
	if n := server.Calls().Counts["iam:CreateInstanceProfile"]; n > 1 {
		t.Errorf("%d profiles made for a role that is not there", n)
	}
}

func TestRightsAreAskedForBeforeAnythingIsLaunched(t *testing.T) {
	for name, tt := range map[string]struct{ action, want string }{
		"all is allowed":      {"", ""},
		"no fleets":           {"ec2:CreateFleet", "ValidationSucceeded CreateFleetAuthCheckFailed"},
		"no instances":        {"ec2:RunInstances", "ValidationSucceeded RunInstancesAuthCheckFailed"},
		"no launch templates": {"ec2:CreateLaunchTemplate", "ValidationSucceeded CreateLaunchTemplateAuthCheckFailed"},
	} {
		w, server := openClassWorld(t, func(*awssim.Config) {})
		if tt.action != "" {
			server.Fail(awssim.Fault{Action: tt.action, Code: "UnauthorizedOperation", Times: 1000})
		}
		for range 3 {
			if got := strings.Join(findings(resolved(t, w)), ", "); got != tt.want {
				t.Errorf("%s: %q, want %q", name, got, tt.want)
			}
		}
		calls := server.Calls()
		kinds := 1
		if tt.action == "ec2:RunInstances" { // types of other images may be allowed
			kinds = 3
		}
		if n := calls.Counts["ec2:RunInstances"]; n > 3*kinds || calls.Counts["ec2:CreateFleet"] > kinds || calls.Counts["ec2:CreateLaunchTemplate"] > kinds {
			t.Errorf("%s: asked again and again: %v", name, calls.Counts)
		}
		if calls.Counts["ec2:CreateLaunchTemplate"]-calls.Errors["ec2:CreateLaunchTemplate UnauthorizedOperation"] != calls.Counts["ec2:DeleteLaunchTemplate"] {
			t.Errorf("%s: a template is left: %v", name, calls.Counts)
		}
	}
}

// TestTypesOfAnotherArchitectureMayBeAllowed refuses the types of the first image, as a rule of the account does that
// allows some families alone.
func TestTypesOfAnotherArchitectureMayBeAllowed(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	server.Fail(awssim.Fault{Action: "ec2:RunInstances", Code: "UnauthorizedOperation", Times: 3})
	if got := resolved(t, w); !got.NotReady.OK() {
		t.Errorf("not ready: %s", got.NotReady.Message)
	}
	calls := server.Calls()
	if n := calls.Counts["ec2:CreateLaunchTemplate"]; n != 2 || calls.Counts["ec2:DeleteLaunchTemplate"] != n {
		t.Errorf("%d templates made, %d deleted; want two", n, calls.Counts["ec2:DeleteLaunchTemplate"])
	}
}

func TestARefusalIsForgottenOnceTheRightIsThere(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	server.Fail(awssim.Fault{Action: "ec2:CreateFleet", Code: "UnauthorizedOperation"})
	if got := resolved(t, w); got.NotReady.OK() {
		t.Fatal("it is ready")
	}
	w.Spec.Tags = model.Labels{{Key: "a", Value: "b"}}
	if got := resolved(t, w); !got.NotReady.OK() {
		t.Errorf("not ready: %s", got.NotReady.Message)
	}
}

func TestAFaultOfEC2sIsNoRefusal(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	server.Fail(awssim.Fault{Action: "ec2:CreateFleet", Code: "InternalError", Times: 10})
	if got := resolved(t, w); !got.NotReady.OK() {
		t.Errorf("not ready: %s", got.NotReady.Message)
	}
}

func TestWithoutDryRunsNothingIsAsked(t *testing.T) {
	w, server := openClassWorld(t, func(*awssim.Config) {})
	_, classes, _, _, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: server.URL, Cluster: "test", DryRuns: "off",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Classes = classes
	if got := resolved(t, w); !got.NotReady.OK() {
		t.Fatal(got.NotReady)
	}
	for action := range maps.Keys(server.Calls().Counts) {
		if slices.Contains([]string{"ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateLaunchTemplate"}, action) {
			t.Errorf("%s was called", action)
		}
	}
}
