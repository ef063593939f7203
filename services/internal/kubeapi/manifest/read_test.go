package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

const examples = "../../../../deploy/examples"

// example reads files of one folder of examples as one input.
func example(t *testing.T, folder string, files ...string) ([]runtime.Object, []manifest.Warning) {
	t.Helper()
	var sources []manifest.Source
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(examples, folder, file))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, manifest.Source{Name: file, Reader: bytes.NewReader(text)})
	}
	objects, warnings, err := manifest.Read(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return objects, warnings
}

func TestTheExamplesOfHeadRoomAreValid(t *testing.T) {
	objects, warnings := example(t, "headroom", "buffer.yaml", "overlay.yaml")
	if len(objects) != 4 || len(warnings) > 0 {
		t.Fatalf("%d objects, warnings %v; want two of each kind", len(objects), warnings)
	}
	for _, obj := range objects {
		if err := kubeapi.Validate(obj); err != nil {
			t.Error(err)
		}
	}
}

func TestTheStorysOldManifestsBecomeTheNewOnes(t *testing.T) {
	files := []string{"nodepool.yaml", "nodeclass.yaml", "inflate-5.yaml"}
	want, warnings := example(t, "inflate", files...)
	if len(warnings) > 0 {
		t.Errorf("warnings about today's form: %v", warnings)
	}
	got, warnings := example(t, "v1beta1", files...)
	if len(warnings) == 0 {
		t.Error("no warnings about the old form")
	}
	// The one difference: what the old form meant by default is written out.
	hops := int64(2)
	class := want[1].(*awsv1.EC2NodeClass)
	class.Spec.MetadataOptions = &awsv1.MetadataOptions{HTTPPutResponseHopLimit: &hops}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("old manifests (-new form +converted):\n%s", diff)
	}
	for _, obj := range got {
		if err := kubeapi.Validate(obj); err != nil {
			t.Errorf("converted: %v", err)
		}
	}
}

func TestWhatIsWrittenReadsBackTheSame(t *testing.T) {
	objects, _ := example(t, "inflate", "nodepool.yaml", "nodeclass.yaml", "inflate-12.yaml")
	full, _, err := manifest.Decode(strings.NewReader(fullPool), "full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects = append(objects, full...)
	var text bytes.Buffer
	if err := manifest.Encode(&text, objects...); err != nil {
		t.Fatal(err)
	}
	back, warnings, err := manifest.Decode(bytes.NewReader(text.Bytes()), "back.yaml")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	if diff := cmp.Diff(objects, back); diff != "" {
		t.Errorf("there and back (-first +second):\n%s", diff)
	}
}

const fullPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: full}
spec:
  weight: 10
  limits: {cpu: 100, nodes: 3}
  disruption:
    consolidateAfter: 1h30m
    consolidationPolicy: WhenEmpty
    budgets: []
  template:
    metadata: {labels: {a: ""}, annotations: {b: c}}
    spec:
      expireAfter: Never
      terminationGracePeriod: 90m
      taints: [{key: a, effect: NoSchedule}]
      startupTaints: [{key: b, value: c, effect: NoExecute}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: full}
      requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["4"], minValues: 2}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: full}
spec:
  instanceProfile: p
  amiSelectorTerms: [{alias: bottlerocket@v1.20.0}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{name: nodes}]
  associatePublicIPAddress: false
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 64000G, encrypted: false}}]
  kubelet: {maxPods: 20, evictionHard: {memory.available: 5%}, systemReserved: {cpu: "1"}}
`

func TestEncodeLeavesOutWhatTheUserDidNotWrite(t *testing.T) {
	objects, _, err := manifest.Decode(strings.NewReader(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 6a5f
  resourceVersion: "7"
  generation: 3
  creationTimestamp: "2026-11-20T10:00:00Z"
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
      volumes: [{name: tmp, emptyDir: {}}]
status: {replicas: 3}
`), "web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := manifest.Encode(&got, objects...); err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: web
        name: web
      volumes:
      - emptyDir: {}
        name: tmp
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if err := manifest.Encode(&got, &awsv1.EC2NodeClass{}); err == nil {
		t.Error("an object without kind was written, want an error")
	}
}

// found is an Error without its text, which tests don't look at.
type found struct {
	Document, Line int
	Object, Field  string
}

func TestBadInputIsNamed(t *testing.T) {
	tests := map[string]struct {
		text string
		want found
	}{
		"text that is not YAML": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n# next\na: b\nc: [1\n", found{Document: 2, Line: 7},
		},
		"a tab for a space": {"apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", found{Document: 1, Line: 4}},
		"a field of a pool given twice": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nkind: NodePool\nmetadata: {name: a}\n", found{Document: 1, Line: 3},
		},
		"JSON that ends early":     {`{"apiVersion": "v1", "kind": "Pod"`, found{Document: 1, Line: 1}},
		"a list for an object":     {"- a\n", found{Document: 1, Line: 1}},
		"no kind":                  {"apiVersion: v1\nmetadata: {name: a}\n", found{1, 1, "a", ""}},
		"no name":                  {"apiVersion: v1\nkind: Pod\n", found{1, 1, "Pod", "metadata.name"}},
		"a name that is generated": {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", found{1, 1, "Pod", "metadata.name"}},
		"an unknown field of a pool": {
			"\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      kubelet: {maxPods: 1}\n",
			found{1, 9, "NodePool a", "spec.template.spec.kubelet"},
		},
		"an unknown field of an old form": {
			"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  replicas: 1\n", found{1, 5, "NodePool a", "spec.replicas"},
		},
		"a field in the wrong case": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  Weight: 1\n", found{1, 5, "NodePool a", "spec.Weight"},
		},
		"a text for a number": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  weight: ten\n", found{1, 5, "NodePool a", "spec.weight"},
		},
		"a quantity that is none": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  limits:\n    cpu: 1\n    memory: lots\n",
			found{1, 7, "NodePool a", "spec.limits.memory"},
		},
		"a quantity deep in a list": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n  - name: b\n    resources:\n      requests: {cpu: 1x}\n",
			found{1, 9, "Pod a", "spec.containers[1].resources.requests.cpu"},
		},
		"a number where there are two, in a selector and in the template": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector:\n    matchLabels: {v: 1}\n  template:\n    metadata:\n      labels: {v: 1}\n",
			found{1, 6, "Deployment a", "spec.selector.matchLabels.v"},
		},
		"two items of a list": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: 1\n  - name: 2\n", found{1, 6, "Pod a", "spec.containers[0].name"},
		},
		"a Deployment of the core group": {"apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n", found{1, 1, "Deployment a", ""}},
		"a kind in a version that is yet to come": {
			"apiVersion: policy/v2\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", found{1, 1, "PodDisruptionBudget a", ""},
		},
		"a name that YAML takes for a truth value": {
			"apiVersion: v1\nkind: Pod\nmetadata:\n  name: n\n", found{1, 4, "Pod", "metadata.name"},
		},
		"a kind of Kerf's that is not supported": {
			"apiVersion: kerf.dev/v1alpha1\nkind: Policy\nmetadata: {name: a}\n", found{1, 1, "Policy a", ""},
		},
		"an overlay in a version that does not exist": {
			"apiVersion: karpenter.sh/v1\nkind: NodeOverlay\nmetadata: {name: a}\n", found{1, 1, "NodeOverlay a", ""},
		},
		"a misspelt field of a buffer": {
			"apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: a}\nspec:\n  replica: 1\n",
			found{1, 5, "CapacityBuffer a", "spec.replica"},
		},
		"an apiVersion of three parts": {"apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n", found{1, 1, "Pod a", ""}},
		"the same object twice": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default}\nspec: {nodeName: b}\n",
			found{2, 4, "Pod default/a", ""},
		},
		"an item that is no object": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n- 3\n", found{1, 1, "items[1]", ""},
		},
		"an unknown field of an item": {
			"apiVersion: karpenter.sh/v1\nkind: NodePoolList\nitems:\n- metadata: {name: a}\n  spek: {}\n", found{1, 1, "NodePool a", "spek"},
		},
		"lists in lists": {
			`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]}]}]}]}`,
			found{1, 1, "List", ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, _, err := manifest.Options{Strict: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tc.text)})
			var e *manifest.Error
			if !errors.As(err, &e) {
				t.Fatalf("read %v, %v, want an Error", objects, err)
			}
			got := found{e.Place.Document, e.Place.Line, e.Object, e.Field}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if objects != nil || e.Place.Source != "f.yaml" || e.Problem == "" {
				t.Errorf("objects %v beside the error %#v", objects, e)
			}
		})
	}
}

func TestGoodInputIsRead(t *testing.T) {
	pod := func(name string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}}`, name)
	}
	tests := map[string]struct {
		text     string
		want     []string // names
		warnings int
	}{
		"nothing":                      {"", nil, 0},
		"comments only":                {"# a\n---\n# b\n---\n\n", nil, 0},
		"documents with comments":      {"# a\n---\n# b\n" + pod("a") + "\n--- # c\n" + pod("b") + "\n...\n---\n" + pod("c"), []string{"a", "b", "c"}, 0},
		"lines that end as on Windows": {"apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n---\r\n" + pod("b") + "\r\n", []string{"a", "b"}, 0},
		"a byte order mark":            {"\ufeff" + pod("a"), []string{"a"}, 0},
		"JSON values in a row":         {pod("a") + pod("b") + "\n" + pod("c"), []string{"a", "b", "c"}, 0},
		"a list":                       {`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[` + pod("a") + `,` + pod("b") + `]}`, []string{"a", "b"}, 0},
		"a typed list":                 {"apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]", []string{"a"}, 0},
		"a list of an old form":        {"apiVersion: karpenter.sh/v1beta1\nkind: NodeClaimList\nitems: [{metadata: {name: a}, spec: {nodeClassRef: {name: b}}}]", []string{"a"}, 2},
		"kinds that Kerf has no use for": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n---\n" + pod("a") + "\n---\napiVersion: example.com/v1\nkind: List\nmetadata: {name: x}\n", []string{"a"}, 1,
		},
		"an unknown field of a pod": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec:\n  containers:\n  - name: a\n    imag: b\n", []string{"a"}, 1,
		},
		"an unknown field of a pool": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {replica: 1, template: {spec: {requirements: []}}}\n", []string{"a"}, 1,
		},
		"a field of a pool given twice": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: b}\nmetadata: {name: a}\nspec: {template: {spec: {requirements: []}}}\n", []string{"a"}, 1,
		},
		"a field of a pod given twice": {"apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nmetadata: {name: a}\n", []string{"a"}, 1},
		"a pool in a namespace": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, namespace: karpenter}\nspec: {template: {spec: {requirements: []}}}\n", []string{"a"}, 1,
		},
		"the same object twice, alike": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []string{"a"}, 1,
		},
		"a pool of EKS Auto Mode": {
			"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}}}}\n" +
				"---\napiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: {name: default}\n", nil, 2,
		},
		"an autoscaler and a Rollout, where nothing is assumed": {
			"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\n", nil, 1,
		},
		"what kustomize would read": {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n", nil, 1},
		"the same name in two namespaces": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: x}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []string{"a", "a"}, 0,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, warnings, err := manifest.Decode(strings.NewReader(tc.text), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range objects {
				got = append(got, obj.(interface{ GetName() string }).GetName())
				if obj.GetObjectKind().GroupVersionKind().Empty() {
					t.Errorf("%v has no kind", obj)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if len(warnings) != tc.warnings {
				t.Errorf("warnings %v, want %d", warnings, tc.warnings)
			}
		})
	}
}

func TestWhatAnUnknownFieldMeans(t *testing.T) {
	const pool, class = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n", "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"when empty nodes went":        {pool + "spec: {ttlSecondsAfterEmpty: 30}", "since v1beta1 it is spec.disruption.consolidateAfter, such as 30s, with consolidationPolicy: WhenEmpty"},
		"when nodes expired":           {pool + "spec: {ttlSecondsUntilExpired: 30}", "since v1 it is spec.template.spec.expireAfter, such as 720h"},
		"a switch of consolidation":    {pool + "spec: {consolidation: {enabled: true}}", "since v1 it is spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized"},
		"a template of AWS":            {pool + "spec: {providerRef: {name: a}}", "since v1beta1 it is spec.template.spec.nodeClassRef"},
		"a letter too few":             {pool + "spec: {limit: {cpu: 1}}", "spec.limit: unknown field: ignored; did you mean limits?"},
		"a place that is another":      {pool + "spec: {requirements: []}", "ignored; did you mean spec.template.spec.requirements?"},
		"where it was once":            {pool + "spec: {disruption: {expireAfter: 720h}}", "did you mean spec.template.spec.expireAfter?"},
		"settings of the kubelet":      {pool + "spec: {template: {spec: {kubelet: {maxPods: 3}}}}", "the settings are spec.kubelet of the EC2NodeClass since v1"},
		"a reference of v1beta1":       {pool + "spec: {template: {spec: {nodeClassRef: {apiVersion: a/v1}}}}", "since v1 it is group: karpenter.k8s.aws"},
		"an operator of a taint":       {pool + "spec: {template: {spec: {taints: [{key: a, operator: Exists}]}}}", "taints have none, tolerations do"},
		"in a list":                    {class + "spec: {blockDeviceMappings: [{deviceName: a, ebs: {volumesize: 1Gi}}]}", "spec.blockDeviceMappings[0].ebs.volumesize: unknown field: ignored; did you mean volumeSize?"},
		"nothing that could be meant":  {class + "spec: {zzzzzzzzzz: 1}", "spec.zzzzzzzzzz: unknown field: ignored"},
		"a field of a pod's container": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, imag: b}]}", "did you mean image or imagePullPolicy?"},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			warnings = slices.DeleteFunc(warnings, func(w manifest.Warning) bool { return strings.HasPrefix(w.Message, "is missing") })
			if err != nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0].String(), tt.want) {
				t.Errorf("warnings %q, error %v, want %q", warnings, err, tt.want)
			}
		})
	}
}

// TestAWrongValueIsNamed looks at what is said of a value beside its place.
func TestAWrongValueIsNamed(t *testing.T) {
	const pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"a unit that is none":           {pool + "spec: {limits: {memory: 4GB}}", `spec.limits.memory: want a quantity such as 2, 500m or 4Gi, got "4GB"`},
		"limits of v1alpha5":            {pool + "spec: {limits: {resources: {cpu: 1}}}", "spec.limits.resources: want a quantity such as 2, 500m or 4Gi; since v1beta1 what is limited stands right under spec.limits"},
		"a kind in small letters":       {"apiVersion: apps/v1\nkind: deployment\nmetadata: {name: a}", "apiVersion: apps/v1 has no deployment: write apps/v1 Deployment"},
		"a pool in small letters":       {"apiVersion: karpenter.sh/v1\nkind: nodepool\nmetadata: {name: a}", "did you mean NodePool?"},
		"a group that has no such kind": {"apiVersion: v1\nkind: Deployment\nmetadata: {name: a}", "apiVersion: v1 has no Deployment: write apps/v1 Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml"); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestReadStopsAtItsLimits(t *testing.T) {
	tests := map[string]struct {
		text   string
		errors int
	}{
		"a source that is too large": {strings.Repeat("#", manifest.MaxBytes+1), 1},
		"too many documents":         {strings.Repeat("---\na: b\n", manifest.MaxDocuments+1), 1},
		"too many JSON values":       {strings.Repeat("{}", manifest.MaxDocuments+1), 1},
		"too many errors":            {strings.Repeat("---\na: b\n", manifest.MaxErrors+5), manifest.MaxErrors},
		"too many unknown fields":    {"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n" + fields(manifest.MaxErrors+5), manifest.MaxErrors},
		"a document that grows":      {bomb(), 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := manifest.Options{Strict: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tc.text)})
			if err == nil {
				t.Fatal("read, want an error")
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != tc.errors {
				t.Errorf("%d errors, want %d: %v", got, tc.errors, err)
			}
		})
	}
}

func fields(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "field%d: x\n", i)
	}
	return text.String()
}

// bomb is a small text whose aliases unfold to a huge one.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		ref := fmt.Sprintf("*a%d", i-1)
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(ref+", ", 10), ", "))
	}
	return text
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

func TestAReadersErrorIsPassedOn(t *testing.T) {
	broken := errors.New("disk on fire")
	if _, _, err := manifest.Decode(brokenReader{broken}, "f.yaml"); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// FuzzDecode checks that no text takes the reader down, and that what was read can
// be written and read again to the same text.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(examples, "*", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(fullPool))
	f.Add([]byte(oldest))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, _, err := manifest.Decode(bytes.NewReader(text), "f.yaml")
		if err != nil {
			return
		}
		for _, obj := range objects {
			_ = kubeapi.Validate(obj) // must not panic
		}
		var first, second bytes.Buffer
		if err := manifest.Encode(&first, objects...); err != nil {
			t.Fatal(err)
		}
		again, _, err := manifest.Decode(bytes.NewReader(first.Bytes()), "again.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, first.String())
		}
		if err := manifest.Encode(&second, again...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.String(), second.String()); diff != "" {
			t.Errorf("written twice (-first +second):\n%s", diff)
		}
	})
}

// TestEachOfSeveralWrongValuesIsNamed looks at objects of which decoders tell the first fault only, without its place.
func TestEachOfSeveralWrongValuesIsNamed(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"a number and a quantity": {
			deployment + "  replicas: abc\n  template: {spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}}\n",
			[]string{
				"line 5: Deployment d: spec.replicas: want a whole number, got string",
				`line 6: Deployment d: spec.template.spec.containers[0].resources.requests.cpu: want a quantity such as 2, 500m or 4Gi, got "lots"`,
			},
		},
		"a label in two places": {
			deployment + "  selector: {matchLabels: {a: on}}\n  template: {metadata: {labels: {a: on}}}\n",
			[]string{
				`line 5: Deployment d: spec.selector.matchLabels.a: want a text (in quotes), got bool: YAML 1.1 takes on for one; write "on"`,
				`line 6: Deployment d: spec.template.metadata.labels.a: want a text (in quotes), got bool: YAML 1.1 takes on for one; write "on"`,
			},
		},
		"containers of a list": {
			deployment + "  template: {spec: {containers: [{name: 1}, {name: b}, {name: [c]}]}}\n",
			[]string{
				"line 5: Deployment d: spec.template.spec.containers[0].name: want a text (in quotes), got number",
				"line 5: Deployment d: spec.template.spec.containers[2].name: want a text (in quotes), got array",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			if err == nil {
				t.Fatal("no error")
			}
			want := "f.yaml: document 1, " + strings.Join(tt.want, "\nf.yaml: document 1, ")
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
