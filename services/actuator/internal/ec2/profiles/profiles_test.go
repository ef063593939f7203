package profiles

import (
	"testing"

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
