package kube

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// used are the verbs that this package, and no other of the actuator's, asks the API server for. Informers list and watch.
func used() map[string][]string {
	return map[string][]string{
		"nodes":                                       {"delete", "get", "list", "patch", "update", "watch"},
		"pods":                                        {"delete", "list", "watch"},
		"pods/eviction":                               {"create"},
		"pods/status":                                 {"patch"},
		"pods/binding":                                {"create"},
		"events":                                      {"create"},
		"persistentvolumeclaims":                      {"list", "watch"},
		"storage.k8s.io/volumeattachments":            {"list", "watch"},
		"karpenter.sh/nodepools":                      {"get", "list", "watch"},
		"karpenter.sh/nodepools/status":               {"update"},
		"karpenter.sh/nodepools/finalizers":           {"update"}, // own, of objects.NewClaim
		"karpenter.sh/nodeclaims":                     {"create", "delete", "get", "list", "update", "watch"},
		"karpenter.sh/nodeclaims/status":              {"update"},
		"karpenter.sh/nodeclaims/finalizers":          {"update"}, // own, of nodes
		"karpenter.sh/nodeoverlays":                   {"get"},
		"karpenter.sh/nodeoverlays/status":            {"update"},
		"karpenter.k8s.aws/ec2nodeclasses":            {"get", "list", "update", "watch"},
		"karpenter.k8s.aws/ec2nodeclasses/status":     {"update"},
		"autoscaling.x-k8s.io/capacitybuffers":        {"get"},
		"autoscaling.x-k8s.io/capacitybuffers/status": {"update"},
	}
}

// TestTheActuatorsRightsAreThoseThatItUses holds the rights of an installation against the table. That they suffice is
// for the tests on a control plane, where the actuator has them and no others.
func TestTheActuatorsRightsAreThoseThatItUses(t *testing.T) {
	file, err := os.ReadFile("../../../../deploy/rbac/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string][]string{}
	for docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), 4096); ; {
		var role rbacv1.ClusterRole
		err := docs.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" || role.Name != "kerf-actuator" {
			continue
		}
		for _, r := range role.Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					if group != "" {
						resource = group + "/" + resource
					}
					given[resource] = append(given[resource], r.Verbs...)
					slices.Sort(given[resource])
				}
			}
		}
	}
	if d := cmp.Diff(used(), given); d != "" {
		t.Errorf("deploy/rbac/rbac.yaml (-used +given):\n%s", d)
	}
}
