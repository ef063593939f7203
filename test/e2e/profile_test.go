package e2e_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

// roles is an AWS with two roles for nodes, and a look at its instance profiles.
type roles struct {
	t       *testing.T
	cloud   cloud.Cloud
	classes cloud.Classes
	iam     *iam.Client
	spec    cloud.ClassSpec
	server  *awssim.Server
}

func openRoles(t *testing.T) *roles {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	cfg := awssim.Default("test")
	cfg.Record = keepWire(t)
	cfg.Roles = append(cfg.Roles, "Other")
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &roles{t: t, server: server}
	r.cloud, r.classes, _, _, err = actuator.OpenCloud(t.Context(), actuator.AWSConfig{Region: "us-east-1", Endpoint: server.URL, Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion("us-east-1"), awsconfig.WithBaseEndpoint(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	r.iam = iam.NewFromConfig(conf)
	discovery := []cloud.SelectorTerm{{Tags: model.Labels{{Key: "karpenter.sh/discovery", Value: "test"}}}}
	r.spec = cloud.ClassSpec{
		Name: "default", Role: "KerfNodeRole-test", SubnetTerms: discovery, SecurityGroupTerms: discovery,
		ImageTerms: []cloud.ImageTerm{{Alias: "al2023@latest"}}, AMIFamily: "AL2023",
		Metadata: cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
	}
	return r
}

// resolve resolves the class with a role.
func (r *roles) resolve(role string) cloud.Class {
	r.t.Helper()
	r.spec.Role, r.spec.InstanceProfile = role, ""
	c, err := r.classes.Resolve(r.t.Context(), r.spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// profiles are those with a role, as profile=role.
func (r *roles) profiles() (out []string) {
	r.t.Helper()
	got, err := r.iam.ListInstanceProfiles(r.t.Context(), &iam.ListInstanceProfilesInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range got.InstanceProfiles {
		if len(p.Roles) == 1 {
			out = append(out, aws.ToString(p.InstanceProfileName)+"="+aws.ToString(p.Roles[0].RoleName))
		}
	}
	slices.Sort(out)
	return out
}

// tags are those of a profile.
func (r *roles) tags(profile string) map[string]string {
	r.t.Helper()
	got, err := r.iam.GetInstanceProfile(r.t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: &profile})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]string{}
	for _, tag := range got.InstanceProfile.Tags {
		out[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return out
}

func (r *roles) sweep(unused time.Duration) {
	r.t.Helper()
	if _, err := r.classes.Sweep(r.t.Context(), unused); err != nil {
		r.t.Fatal(err)
	}
}

// TestAChangedRoleNeverTouchesTheProfileInUse changes a class's role, to one that does not exist and then to one that
// does, while an instance runs.
func TestAChangedRoleNeverTouchesTheProfileInUse(t *testing.T) {
	r := openRoles(t)
	class := r.resolve("KerfNodeRole-test")
	first := class.InstanceProfile
	if got := r.tags(first); got["kubernetes.io/cluster/test"] != "owned" || got["karpenter.k8s.aws/ec2nodeclass"] != "default" ||
		got["topology.kubernetes.io/region"] != "us-east-1" {
		t.Errorf("the profile's tags are %v", got)
	}
	instances, err := r.cloud.Launch(t.Context(), cloud.Request{
		Claim: "default-1", Token: "t", NodePool: "default", Class: class, Spec: r.spec,
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
	})
	if err != nil {
		t.Fatal(err)
	}

	if c := r.resolve("KerfNodeRole-tset"); !strings.Contains(c.NotReady.Message, "IAM role KerfNodeRole-tset does not exist") {
		t.Errorf("%q, want that the role does not exist", c.NotReady.Message)
	}
	if got := r.profiles(); !slices.Equal(got, []string{first + "=KerfNodeRole-test"}) {
		t.Fatalf("after a typo: %v, want that the instance's profile is as it was", got)
	}
	if c := r.resolve("KerfNodeRole-test"); c.InstanceProfile != first || !c.NotReady.OK() {
		t.Errorf("the typo corrected: %q (%s), want %q", c.InstanceProfile, c.NotReady.Message, first)
	}

	second := r.resolve("some/path/Other").InstanceProfile
	both := []string{first + "=KerfNodeRole-test", second + "=Other"}
	slices.Sort(both)
	if got := r.profiles(); second == first || !slices.Equal(got, both) {
		t.Fatalf("with another role: %v, want %v", got, both)
	}
	if again := r.resolve("some/path/Other").InstanceProfile; again != second || len(r.profiles()) != 2 {
		t.Errorf("resolved again: %q of %v, want %q", again, r.profiles(), second)
	}
	r.sweep(0)
	if got := r.profiles(); !slices.Equal(got, both) {
		t.Fatalf("swept while an instance runs: %v", got)
	}
	if err := r.cloud.Terminate(t.Context(), instances[0].ID); err != nil {
		t.Fatal(err)
	}
	r.sweep(time.Hour)
	if got := r.profiles(); !slices.Equal(got, both) {
		t.Fatalf("swept within its hour: %v", got)
	}
	r.sweep(0)
	if got := r.profiles(); !slices.Equal(got, []string{second + "=Other"}) {
		t.Errorf("swept after the instance: %v, want the class's profile alone", got)
	}
	if err := r.classes.Release(t.Context(), r.spec); err != nil {
		t.Fatal(err)
	}
	if got := r.profiles(); len(got) > 0 {
		t.Errorf("after the class: %v", got)
	}
}

// TestAProfileOfAnEarlierReleaseIsUsedOn begins with the profile that an earlier release made for the class.
func TestAProfileOfAnEarlierReleaseIsUsedOn(t *testing.T) {
	r := openRoles(t)
	made := r.resolve("KerfNodeRole-test").InstanceProfile
	earlier := made[:strings.LastIndex(made, "-")]
	if err := r.classes.Release(t.Context(), r.spec); err != nil {
		t.Fatal(err)
	}
	if _, err := r.iam.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &earlier}); err != nil {
		t.Fatal(err)
	}
	_, err := r.iam.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: &earlier, RoleName: aws.String("KerfNodeRole-test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.resolve("KerfNodeRole-test"); c.InstanceProfile != earlier {
		t.Errorf("%q, want %q", c.InstanceProfile, earlier)
	}
	if c := r.resolve("Other"); c.InstanceProfile == earlier || !c.NotReady.OK() {
		t.Errorf("another role: %q (%s)", c.InstanceProfile, c.NotReady.Message)
	}
	if got := r.profiles(); !slices.Contains(got, earlier+"=KerfNodeRole-test") {
		t.Errorf("%v: the profile in use has lost its role", got)
	}
}

// TestAProfileWithAnotherRoleIsLeftAlone puts another role into the class's profile, as somebody may in the console.
func TestAProfileWithAnotherRoleIsLeftAlone(t *testing.T) {
	r := openRoles(t)
	made := r.resolve("KerfNodeRole-test").InstanceProfile
	for _, change := range []func() error{
		func() error {
			_, err := r.iam.RemoveRoleFromInstanceProfile(t.Context(), &iam.RemoveRoleFromInstanceProfileInput{
				InstanceProfileName: &made, RoleName: aws.String("KerfNodeRole-test"),
			})
			return err
		},
		func() error {
			_, err := r.iam.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &made, RoleName: aws.String("Other")})
			return err
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if c := r.resolve("KerfNodeRole-test"); !strings.Contains(c.NotReady.Message, "was given the role Other") {
		t.Errorf("%q, want that the profile has another role", c.NotReady.Message)
	}
	if got := r.profiles(); !slices.Equal(got, []string{made + "=Other"}) {
		t.Errorf("%v, want what was found", got)
	}
}

// named resolves the class with a profile of its user's.
func (r *roles) named(profile string) {
	r.t.Helper()
	r.spec.Role, r.spec.InstanceProfile = "", profile
	if _, err := r.classes.Resolve(r.t.Context(), r.spec); err != nil {
		r.t.Fatal(err)
	}
}

// again is another process: it knows nothing of what was resolved before.
func (r *roles) again() {
	r.t.Helper()
	_, classes, _, _, err := actuator.OpenCloud(r.t.Context(), actuator.AWSConfig{Region: "us-east-1", Endpoint: r.server.URL, Cluster: "test"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.classes = classes
}

// TestAClassWithItsOwnProfileNeedsNoIAM deletes classes where no call of IAM has an answer, as in a VPC without a way
// out, and where the credentials have no right of IAM's.
func TestAClassWithItsOwnProfileNeedsNoIAM(t *testing.T) {
	for _, code := range []string{awssim.CodeDrop, "AccessDenied"} {
		r := openRoles(t)
		for _, action := range []string{"ListInstanceProfiles", "GetInstanceProfile"} {
			r.server.Fail(awssim.Fault{Action: "iam:" + action, Code: code, Times: 1000})
		}
		r.named("users")
		r.sweep(0)
		if err := r.classes.Release(t.Context(), r.spec); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if code == awssim.CodeDrop {
			continue // the others would wait as long
		}
		if err := r.classes.Release(t.Context(), cloud.ClassSpec{Name: "default", Role: "KerfNodeRole-test"}); err == nil {
			t.Errorf("%s: a class with a role is released, and its profile left", code)
		}
		if err := r.classes.Release(t.Context(), cloud.ClassSpec{Name: "default"}); err != nil {
			t.Errorf("%s: of an invalid class, whose spec is not known: %v", code, err)
		}
	}
}

// TestTheProfileOfAFormerRoleGoesWhereTheUserNamesOne has a class change from a role to an instance profile.
func TestTheProfileOfAFormerRoleGoesWhereTheUserNamesOne(t *testing.T) {
	r := openRoles(t)
	users := "users"
	if _, err := r.iam.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &users}); err != nil {
		t.Fatal(err)
	}
	_, err := r.iam.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &users, RoleName: aws.String("Other")})
	if err != nil {
		t.Fatal(err)
	}
	only := []string{"users=Other"}
	r.resolve("KerfNodeRole-test")
	r.named(users)
	if r.sweep(0); !slices.Equal(r.profiles(), only) {
		t.Errorf("swept: %v", r.profiles())
	}

	r.resolve("KerfNodeRole-test")
	r.named(users)
	r.server.Fail(awssim.Fault{Action: "iam:DeleteInstanceProfile", Code: awssim.CodeDrop, Times: 4})
	if err := r.classes.Release(t.Context(), r.spec); err == nil {
		t.Error("released, though its former profile could not be deleted")
	}
	if err := r.classes.Release(t.Context(), r.spec); err != nil || !slices.Equal(r.profiles(), only) {
		t.Errorf("released: %v, %v", r.profiles(), err)
	}

	r.resolve("KerfNodeRole-test")
	r.spec.Role, r.spec.InstanceProfile = "", users
	r.again()
	if err := r.classes.Release(t.Context(), r.spec); err != nil || !slices.Equal(r.profiles(), only) {
		t.Errorf("released by a process that never saw the role: %v, %v", r.profiles(), err)
	}
}

// TestAClassWhoseProfileIsNotThereIsNotReady names a profile that was never made, with dry runs and without.
func TestAClassWhoseProfileIsNotThereIsNotReady(t *testing.T) {
	for _, dryRuns := range []string{"auto", "off"} {
		w, server := openClassWorld(t, func(c *awssim.Config) { c.ProfileLag = 0 })
		clouds, classes, _, _, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{
			Region: "us-east-1", Endpoint: server.URL, Cluster: "test", DryRuns: dryRuns,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Classes = classes
		w.Spec.Role, w.Spec.InstanceProfile = "", "users"
		is := func(when string, want ...string) cloud.Class {
			t.Helper()
			c := resolved(t, w)
			if got := findings(c); !slices.Equal(got, want) {
				t.Errorf("dry runs %s, %s: %v, want %v", dryRuns, when, got, want)
			}
			return c
		}
		const missing = "InstanceProfileReady InstanceProfileNotFound"
		if dryRuns == "auto" {
			is("before a launch", missing)
			continue
		}
		class := is("before a launch")
		_, err = clouds.Launch(t.Context(), cloud.Request{
			Claim: "default-1", Token: "t", NodePool: "default", Class: class, Spec: w.Spec,
			Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}},
		})
		if !errors.Is(err, cloud.ErrClassNotReady) {
			t.Errorf("the launch: %v, want that the class is not ready", err)
		}
		is("after it", missing)
	}
}
