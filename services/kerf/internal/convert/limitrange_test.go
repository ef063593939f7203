package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

func TestContainersHaveWhatLimitRangesGiveThem(t *testing.T) {
	t.Parallel()
	pod := func(namespace, uid, resources string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: " + namespace + uid + "}\nspec: {containers: [{name: c, image: x, resources: " + resources + "}]}\n"
	}
	limits := func(item string) string {
		return "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: r, namespace: a}\nspec: {limits: [" + item + "]}\n"
	}
	both := limits("{type: Container, defaultRequest: {cpu: 1, memory: 1Gi}, default: {memory: 2Gi}}")
	for name, tt := range map[string]struct {
		text string
		want string // requests of cpu and memory, limits of the same
		note bool
	}{
		"what it says nothing of":                    {both + pod("a", "", "{}"), "1 1Gi 0 2Gi", true},
		"not what it says":                           {both + pod("a", "", "{requests: {cpu: 2, memory: 0}}"), "2 0 0 2Gi", false},
		"its own limit is its request":               {both + pod("a", "", "{limits: {cpu: 3, memory: 3Gi}}"), "3 3Gi 3 3Gi", false},
		"a limit is the request where there is none": {limits("{type: Container, default: {cpu: 1}}") + pod("a", "", "{}"), "1 0 1 0", true},
		"the most is the limit where there is none":  {limits("{type: Container, max: {cpu: 4}, min: {cpu: 1, memory: 1Gi}}") + pod("a", "", "{}"), "4 1Gi 4 0", true},
		"a limit of whole pods gives nothing":        {limits("{type: Pod, max: {cpu: 4}}") + pod("a", "", "{}"), "0 0 0 0", false},
		"nor does another namespace's":               {both + pod("b", "", "{}"), "0 0 0 0", false},
		"a pod that runs has what it has":            {both + pod("a", ", uid: u", "{}"), "0 0 0 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, _, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			objects, notes := convert.Ranged(read)
			if len(objects) != 1 {
				t.Fatalf("%d objects are left, want the pod", len(objects))
			}
			r := objects[0].(*corev1.Pod).Spec.Containers[0].Resources
			got := strings.Join([]string{r.Requests.Cpu().String(), r.Requests.Memory().String(), r.Limits.Cpu().String(), r.Limits.Memory().String()}, " ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(notes) > 0 != tt.note {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestInitContainersAndTemplatesHaveThemToo(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: v1
kind: LimitRange
metadata: {name: r}
spec: {limits: [{type: Container, defaultRequest: {cpu: 500m}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: i, image: x}]
      containers: [{name: c, image: x}]
`
	read, _, err := manifest.Decode(strings.NewReader(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, notes := convert.Ranged(read)
	spec := objects[0].(*appsv1.Deployment).Spec.Template.Spec
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		if c.Resources.Requests.Cpu().String() != "500m" {
			t.Errorf("container %s requests %v", c.Name, c.Resources.Requests)
		}
	}
	if want := []string{"Deployment web: containers without requests have those of their namespace's LimitRange"}; !cmp.Equal(want, notes) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}
