package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/harness"
)

// everyone may ask what it may do: these create nothing.
var questions = []string{"authentication.k8s.io/selfsubjectreviews", "authorization.k8s.io/selfsubjectaccessreviews", "authorization.k8s.io/selfsubjectrulesreviews"}

// TestWhatEachServiceMayWrite asks the API server for each resource that it serves, and each verb that changes something.
func TestWhatEachServiceMayWrite(t *testing.T) {
	c, _ := cluster(t)
	if err := c.ApplyFile(t.Context(), "../../deploy/crds"); err != nil {
		t.Fatal(err)
	}
	for account, want := range map[string][]string{
		harness.Planner: nil,
		harness.Watcher: nil,
		harness.Actuator: {
			"create events",
			"update nodes", "patch nodes", "delete nodes", "delete pods", "create pods/binding", "create pods/eviction", "patch pods/status",
			"update karpenter.k8s.aws/ec2nodeclasses", "update karpenter.k8s.aws/ec2nodeclasses/status",
			"create karpenter.sh/nodeclaims", "update karpenter.sh/nodeclaims", "delete karpenter.sh/nodeclaims",
			"update karpenter.sh/nodeclaims/status", "update karpenter.sh/nodepools/status",
			"update karpenter.sh/nodeoverlays/status", "update autoscaling.x-k8s.io/capacitybuffers/status",
		},
	} {
		t.Run(account, func(t *testing.T) {
			client, err := c.Client(account)
			if err != nil {
				t.Fatal(err)
			}
			got := writes(t, client)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("may write (-want +got):\n%s", diff)
			}
		})
	}
}

// writes are the changes that the client's user may make, such as "patch karpenter.sh/nodepools/status".
func writes(t *testing.T, client kubernetes.Interface) []string {
	t.Helper()
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		t.Fatal(err)
	}
	var out []string
	asked := map[string]bool{}
	for _, list := range lists {
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		if !strings.Contains(list.GroupVersion, "/") {
			group = ""
		}
		for _, r := range list.APIResources {
			name := strings.TrimPrefix(group+"/"+r.Name, "/")
			if asked[name] || slices.Contains(questions, name) {
				continue
			}
			asked[name] = true
			for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
				if allowed(t, client, group, r.Name, verb) {
					out = append(out, verb+" "+name)
				}
			}
		}
	}
	if len(asked) < 50 {
		t.Errorf("the API server serves only %d resources", len(asked))
	}
	return out
}

func allowed(t *testing.T, client kubernetes.Interface, group, resource, verb string) bool {
	t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestAShadowMayReadOnly looks at what the overlay grants at all.
func TestAShadowMayReadOnly(t *testing.T) {
	c, _ := cluster(t)
	o := render(t, c, "shadow")
	for _, u := range o.objects {
		if u.GetKind() != "ClusterRole" && u.GetKind() != "Role" {
			continue
		}
		rules, _ := u.Object["rules"].([]any)
		for _, r := range rules {
			for _, verb := range r.(map[string]any)["verbs"].([]any) {
				if !slices.Contains([]string{"get", "list", "watch"}, verb.(string)) {
					t.Errorf("%s %s allows %s", u.GetKind(), u.GetName(), verb)
				}
			}
		}
	}
	if kinds := o.kinds(); !slices.Contains(kinds, "ClusterRole") || slices.Contains(kinds, "CustomResourceDefinition") {
		t.Errorf("kinds %v: want its rights, and none of Karpenter's definitions", kinds)
	}
}
