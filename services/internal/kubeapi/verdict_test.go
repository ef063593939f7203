package kubeapi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
)

const basePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`

const baseClaim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: default-x1}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
`

const baseClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
`

const baseOverlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: default}
spec:
  requirements:
    - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
`

const baseBuffer = `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: default, namespace: shop}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: web}
`

// verdict is who refuses an object.
type verdict int

const (
	fine  verdict = iota
	both          // the API server by the schema, and Validate
	later         // Validate alone: the rule is beyond a schema
)

// TestSchemaAndValidateAgree puts each object before the API server's code with
// Kerf's CRDs and before Validate.
func TestSchemaAndValidateAgree(t *testing.T) {
	tests := map[string]struct {
		base  string
		patch string // merged into spec; null removes
		want  verdict
		field string // the field that Validate names
	}{
		"a pool as users write it":   {base: basePool, want: fine},
		"a claim as users write it":  {base: baseClaim, want: fine},
		"a class as users write it":  {base: baseClass, want: fine},
		"a weight of 100":            {basePool, `weight: 100`, fine, ""},
		"a weight of 101":            {basePool, `weight: 101`, both, "spec.weight"},
		"a weight of 0":              {basePool, `weight: 0`, both, "spec.weight"},
		"limits of any resource":     {basePool, `limits: {cpu: 1000, memory: 1000Gi, nodes: 7, nvidia.com/gpu: 2}`, fine, ""},
		"a negative limit":           {basePool, `limits: {cpu: -1}`, later, "spec.limits[cpu]"},
		"a node that never expires":  {basePool, `template: {spec: {expireAfter: Never}}`, fine, ""},
		"an expiry at once":          {basePool, `template: {spec: {expireAfter: 0s}}`, later, "spec.template.spec.expireAfter"},
		"an expiry of many nothings": {basePool, `template: {spec: {expireAfter: 0h0m}}`, later, "spec.template.spec.expireAfter"},
		"a claim that ends at once":  {baseClaim, `expireAfter: 0s`, fine, ""},
		"an expiry in days":          {basePool, `template: {spec: {expireAfter: 30d}}`, both, "spec.template.spec.expireAfter"},
		"an expiry with rubbish":     {basePool, `template: {spec: {expireAfter: 30mfoo}}`, both, "spec.template.spec.expireAfter"},
		"a grace period of Never":    {basePool, `template: {spec: {terminationGracePeriod: Never}}`, both, "spec.template.spec.terminationGracePeriod"},
		"an endless grace period":    {basePool, `template: {spec: {terminationGracePeriod: 99999999999h}}`, later, "spec.template.spec.terminationGracePeriod"},
		"a class without a group":    {basePool, `template: {spec: {nodeClassRef: {group: ""}}}`, both, "spec.template.spec.nodeClassRef.group"},
		"a class's group/version":    {basePool, `template: {spec: {nodeClassRef: {group: karpenter.k8s.aws/v1}}}`, both, "spec.template.spec.nodeClassRef.group"},
		"an unknown policy":          {basePool, `disruption: {consolidationPolicy: WhenUnderutilized}`, both, "spec.disruption.consolidationPolicy"},
		"every policy":               {basePool, `disruption: {consolidationPolicy: Balanced, consolidateAfter: Never, budgets: []}`, fine, ""},
		"a budget of 100%":           {basePool, `disruption: {budgets: [{nodes: 100%, reasons: [Empty, Drifted, Underutilized]}]}`, fine, ""},
		"a budget of 101%":           {basePool, `disruption: {budgets: [{nodes: 101%}]}`, both, "spec.disruption.budgets[0].nodes"},
		"a budget of -1":             {basePool, `disruption: {budgets: [{nodes: "-1"}]}`, both, "spec.disruption.budgets[0].nodes"},
		"a budget in working hours":  {basePool, `disruption: {budgets: [{nodes: "0", schedule: 0 9 * * mon-fri, duration: 8h30m}]}`, fine, ""},
		"a budget each night":        {basePool, `disruption: {budgets: [{nodes: "0", schedule: "@daily", duration: 6h}]}`, fine, ""},
		"a schedule with no length":  {basePool, `disruption: {budgets: [{nodes: "0", schedule: "@daily"}]}`, both, "spec.disruption.budgets[0].duration"},
		"a length with no schedule":  {basePool, `disruption: {budgets: [{nodes: "0", duration: 1h}]}`, both, "spec.disruption.budgets[0].schedule"},
		"a schedule every so often":  {basePool, `disruption: {budgets: [{nodes: "0", schedule: "@every 1h", duration: 1h}]}`, both, "spec.disruption.budgets[0].schedule"},
		"a schedule in a time zone":  {basePool, `disruption: {budgets: [{nodes: "0", schedule: "TZ=UTC 9 * * *", duration: 1h}]}`, later, "spec.disruption.budgets[0].schedule"},
		"a schedule at hour 25":      {basePool, `disruption: {budgets: [{nodes: "0", schedule: 0 25 * * *, duration: 1h}]}`, later, "spec.disruption.budgets[0].schedule"},
		"a budget for 90 seconds":    {basePool, `disruption: {budgets: [{nodes: "0", schedule: "@daily", duration: 90s}]}`, both, "spec.disruption.budgets[0].duration"},
		"a budget for no time":       {basePool, `disruption: {budgets: [{nodes: "0", schedule: "@daily", duration: 0m}]}`, later, "spec.disruption.budgets[0].duration"},
		"an unknown budget reason":   {basePool, `disruption: {budgets: [{nodes: "0", reasons: [Expired]}]}`, both, "spec.disruption.budgets[0].reasons[0]"},
		"a static pool":              {basePool, `{replicas: 3, limits: {nodes: 5}}`, fine, ""},
		"a static pool with weight":  {basePool, `{replicas: 3, weight: 1}`, both, "spec.weight"},
		"a static pool, cpu limit":   {basePool, `{replicas: 3, limits: {cpu: 5}}`, both, "spec.limits[cpu]"},
		"a static pool of -1":        {basePool, `replicas: -1`, both, "spec.replicas"},
		"the user's own label":       {basePool, `template: {metadata: {labels: {type: karpenter, example.com/a: ""}}}`, fine, ""},
		"a label of the controller":  {basePool, `template: {metadata: {labels: {karpenter.sh/nodepool: x}}}`, both, "spec.template.metadata.labels[karpenter.sh/nodepool]"},
		"a label under its domain":   {basePool, `template: {metadata: {labels: {a.karpenter.sh/b: x}}}`, both, "spec.template.metadata.labels[a.karpenter.sh/b]"},
		"a label of a like domain":   {basePool, `template: {metadata: {labels: {mykarpenter.sh/b: x}}}`, fine, ""},
		"the hostname as a label":    {basePool, `template: {metadata: {labels: {kubernetes.io/hostname: x}}}`, both, "spec.template.metadata.labels[kubernetes.io/hostname]"},
		"a label value with a space": {basePool, `template: {metadata: {labels: {a: b c}}}`, both, "spec.template.metadata.labels[a]"},
		"a misspelt AWS label": {
			basePool, `template: {metadata: {labels: {karpenter.k8s.aws/instance-famly: m5}}}`, later, "spec.template.metadata.labels",
		},
		"a taint":                 {basePool, `template: {spec: {taints: [{key: a, value: b, effect: PreferNoSchedule}]}}`, fine, ""},
		"a taint without effect":  {basePool, `template: {spec: {taints: [{key: a, effect: Sometimes}]}}`, both, "spec.template.spec.taints[0].effect"},
		"a taint with a bad key":  {basePool, `template: {spec: {startupTaints: [{key: a b, effect: NoSchedule}]}}`, both, "spec.template.spec.startupTaints[0].key"},
		"the same taint twice":    {basePool, `template: {spec: {taints: [{key: a, effect: NoSchedule}], startupTaints: [{key: a, value: x, effect: NoSchedule}]}}`, later, "spec.template.spec.startupTaints[0]"},
		"a key with two effects":  {basePool, `template: {spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]}}`, fine, ""},
		"requirements of numbers": {basePool, `template: {spec: {requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["4"]}]}}`, fine, ""},
		"In without values":       {basePool, `template: {spec: {requirements: [{key: a, operator: In}]}}`, both, "spec.template.spec.requirements[0].values"},
		"Gt with two values":      {basePool, `template: {spec: {requirements: [{key: a, operator: Gt, values: ["1", "2"]}]}}`, both, "spec.template.spec.requirements[0].values"},
		"Lt with a negative":      {basePool, `template: {spec: {requirements: [{key: a, operator: Lt, values: ["-1"]}]}}`, both, "spec.template.spec.requirements[0].values[0]"},
		"an unknown operator":     {basePool, `template: {spec: {requirements: [{key: a, operator: Like, values: ["1"]}]}}`, both, "spec.template.spec.requirements[0].operator"},
		"a key with a space":      {basePool, `template: {spec: {requirements: [{key: a b, operator: Exists}]}}`, both, "spec.template.spec.requirements[0].key"},
		"minValues of 51":         {basePool, `template: {spec: {requirements: [{key: a, operator: Exists, minValues: 51}]}}`, both, "spec.template.spec.requirements[0].minValues"},
		"more minValues than values": {
			basePool, `template: {spec: {requirements: [{key: a, operator: In, values: [x], minValues: 2}]}}`, both, "spec.template.spec.requirements[0].minValues",
		},
		"a requirement on the pool":  {basePool, `template: {spec: {requirements: [{key: karpenter.sh/nodepool, operator: Exists}]}}`, both, "spec.template.spec.requirements[0].key"},
		"a requirement on progress":  {basePool, `template: {spec: {requirements: [{key: karpenter.sh/registered, operator: Exists}]}}`, both, "spec.template.spec.requirements[0].key"},
		"unknown capacity types":     {basePool, `template: {spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [ondemand]}]}}`, later, "spec.template.spec.requirements[0].values"},
		"one capacity type known":    {basePool, `template: {spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, cheap]}]}}`, fine, ""},
		"an impossible requirement":  {basePool, `template: {spec: {requirements: [{key: a, operator: In, values: [x]}, {key: a, operator: In, values: ["y"]}]}}`, later, "spec.template.spec.requirements"},
		"a misspelt AWS requirement": {basePool, `template: {spec: {requirements: [{key: karpenter.k8s.aws/instance-famly, operator: Exists}]}}`, later, "spec.template.spec.requirements[0].key"},

		"a claim for a pool":         {baseClaim, `requirements: [{key: karpenter.sh/nodepool, operator: In, values: [default]}]`, fine, ""},
		"a claim with requests":      {baseClaim, `resources: {requests: {cpu: 250m, memory: 1Gi}}`, fine, ""},
		"a claim with less than 0":   {baseClaim, `resources: {requests: {cpu: -250m}}`, later, "spec.resources.requests[cpu]"},
		"a claim for the hostname":   {baseClaim, `requirements: [{key: kubernetes.io/hostname, operator: Exists}]`, both, "spec.requirements[0].key"},
		"a claim that expires never": {baseClaim, `expireAfter: never`, both, "spec.expireAfter"},

		"an overlay of nothing":       {baseOverlay, ``, fine, ""},
		"an overlay of all nodes":     {baseOverlay, `{requirements: [], price: "0"}`, fine, ""},
		"an overlay of a pool":        {baseOverlay, `requirements: [{key: karpenter.sh/nodepool, operator: In, values: [default]}]`, fine, ""},
		"an overlay of its own label": {baseOverlay, `requirements: [{key: karpenter.sh/registered, operator: Exists}]`, both, "spec.requirements[0].key"},
		"an overlay of a misspelt label": {
			baseOverlay, `requirements: [{key: karpenter.k8s.aws/instance-famly, operator: In, values: [m5]}]`, later, "spec.requirements[0].key",
		},
		"an overlay of nowhere":      {baseOverlay, `requirements: [{key: a, operator: NotIn}]`, both, "spec.requirements[0].values"},
		"an overlay above a word":    {baseOverlay, `requirements: [{key: a, operator: Gt, values: [x]}]`, both, "spec.requirements[0].values[0]"},
		"a price":                    {baseOverlay, `price: "0.0416"`, fine, ""},
		"a price with its currency":  {baseOverlay, `price: $1`, both, "spec.price"},
		"a price below nothing":      {baseOverlay, `price: "-1"`, both, "spec.price"},
		"ten per cent more":          {baseOverlay, `priceAdjustment: "+10%"`, fine, ""},
		"half a cent less":           {baseOverlay, `priceAdjustment: "-0.005"`, fine, ""},
		"all of it off":              {baseOverlay, `priceAdjustment: "-100%"`, fine, ""},
		"more than all of it off":    {baseOverlay, `priceAdjustment: "-101%"`, both, "spec.priceAdjustment"},
		"ten per cent of a sign":     {baseOverlay, `priceAdjustment: 10%`, both, "spec.priceAdjustment"},
		"a price and an adjustment":  {baseOverlay, `{price: "1", priceAdjustment: "+1"}`, both, "spec"},
		"a device":                   {baseOverlay, `capacity: {smarter-devices/fuse: 20}`, fine, ""},
		"a cpu more":                 {baseOverlay, `capacity: {cpu: 1}`, both, "spec.capacity"},
		"a negative device":          {baseOverlay, `capacity: {example.com/x: -1}`, later, "spec.capacity[example.com/x]"},
		"an overlay of weight 10000": {baseOverlay, `weight: 10000`, fine, ""},
		"an overlay of weight 10001": {baseOverlay, `weight: 10001`, both, "spec.weight"},

		"a buffer of a workload":     {baseBuffer, `percentage: 20`, fine, ""},
		"a buffer of a template":     {baseBuffer, `{scalableRef: null, podTemplateRef: {name: web}, replicas: 3}`, fine, ""},
		"a buffer of as many as fit": {baseBuffer, `{scalableRef: null, podTemplateRef: {name: web}, limits: {cpu: 10}}`, fine, ""},
		"a buffer of nothing":        {baseBuffer, `scalableRef: null`, both, "spec.podTemplateRef"},
		"a buffer of two":            {baseBuffer, `podTemplateRef: {name: web}`, both, "spec.scalableRef"},
		"a template without size":    {baseBuffer, `{scalableRef: null, podTemplateRef: {name: web}}`, both, "spec.replicas"},
		"a buffer of a DaemonSet":    {baseBuffer, `scalableRef: {kind: DaemonSet}`, both, "spec.scalableRef.kind"},
		"a buffer of another's kind": {baseBuffer, `scalableRef: {apiGroup: argoproj.io}`, both, "spec.scalableRef.apiGroup"},
		"a buffer without a group":   {baseBuffer, `scalableRef: {apiGroup: null}`, fine, ""},
		"a buffer of no name":        {baseBuffer, `scalableRef: {name: ""}`, both, "spec.scalableRef.name"},
		"a buffer that is used once": {baseBuffer, `provisioningStrategy: buffer.kerf.dev/one-shot-capacity`, fine, ""},
		"a buffer that stands by":    {baseBuffer, `provisioningStrategy: buffer.gke.io/standby-capacity`, both, "spec.provisioningStrategy"},
		"a buffer of -1":             {baseBuffer, `replicas: -1`, both, "spec.replicas"},
		"a buffer of -1%":            {baseBuffer, `percentage: -1`, both, "spec.percentage"},
		"a buffer below a limit":     {baseBuffer, `limits: {cpu: -1}`, later, "spec.limits[cpu]"},
	}
	crds := loadCRDs(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			judge(t, crds, object(t, tc.base, tc.patch), tc.want, tc.field)
		})
	}
}

// judge fails the test where others refuse the object than those that should, or Validate names another field. "" is the
// field of an object whose Go type cannot hold it.
func judge(t *testing.T, crds map[string]*crd, obj map[string]any, want verdict, at string) {
	t.Helper()
	typed, undecoded := kubeapi.FromUnstructured(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)})
	bySchema := crds[obj["kind"].(string)].admit(t.Context(), obj)
	if refused := len(bySchema) > 0; refused != (want == both) {
		t.Errorf("the API server refuses: %v, want %v: %v", refused, want == both, bySchema)
	}
	if undecoded != nil {
		if want == fine || at != "" {
			t.Errorf("the Go type cannot hold it: %v", undecoded)
		}
		return
	}
	byUs := kubeapi.Validate(typed)
	if refused := byUs != nil; refused != (want != fine) {
		t.Fatalf("Validate refuses: %v, want %v: %v", refused, want != fine, byUs)
	}
	if want == fine {
		return
	}
	var invalid *kubeapi.InvalidError
	if !errors.As(byUs, &invalid) || invalid.Problems[0].Field != at {
		t.Errorf("Validate: %v\nwant the field %s first", byUs, at)
	}
	if prefix := obj["kind"].(string) + " default"; !strings.HasPrefix(byUs.Error(), prefix) {
		t.Errorf("Validate: %v\nwant it to begin with %s", byUs, prefix)
	}
}

func TestAPIServerRefusesUnknownFields(t *testing.T) {
	crds := loadCRDs(t)
	tests := map[string]struct {
		base, patch string
		want        int
	}{
		"a misspelt field of a pool":        {basePool, `disruption: {consolidateafter: 1h}`, 1},
		"a field that v1beta1 pools had":    {basePool, `template: {spec: {kubelet: {maxPods: 1}}}`, 1},
		"a misspelt field of a claim":       {baseClaim, `expireafter: 1h`, 1},
		"a misspelt field of a class":       {baseClass, `metadataOptions: {hops: 1}`, 1},
		"a misspelt field of an overlay":    {baseOverlay, `prize: "1"`, 1},
		"a misspelt field of a buffer":      {baseBuffer, `replica: 1`, 1},
		"any field of the kubelet is taken": {baseClass, `kubelet: {some: {new: field}}`, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.base, tc.patch)
			if errs := crds[obj["kind"].(string)].admit(t.Context(), obj); len(errs) != tc.want {
				t.Errorf("errors: %v, want %d", errs, tc.want)
			}
		})
	}
}

func TestSomeFieldsAreImmutable(t *testing.T) {
	crds := loadCRDs(t)
	tests := map[string]struct {
		base, before, after string
		refused             bool
	}{
		"a pool's class may get another name":   {basePool, `{}`, `template: {spec: {nodeClassRef: {name: other}}}`, false},
		"a pool's class keeps its group":        {basePool, `{}`, `template: {spec: {nodeClassRef: {group: other}}}`, true},
		"a pool's class keeps its kind":         {basePool, `{}`, `template: {spec: {nodeClassRef: {kind: Other}}}`, true},
		"a static pool may be scaled":           {basePool, `replicas: 1`, `replicas: 2`, false},
		"a dynamic pool does not become static": {basePool, `{}`, `replicas: 2`, true},
		"a static pool does not become dynamic": {basePool, `replicas: 2`, `{}`, true},
		"a claim's spec is immutable":           {baseClaim, `{}`, `expireAfter: 1h`, true},
		"a class's role may change":             {baseClass, `{}`, `role: other`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, tc.base, tc.before), object(t, tc.base, tc.after)
			errs := crds[before["kind"].(string)].update(t.Context(), after, before)
			if (len(errs) > 0) != tc.refused {
				t.Errorf("errors: %v, want some: %v", errs, tc.refused)
			}
		})
	}
}

func TestSchemaAndSetDefaultsFillInTheSame(t *testing.T) {
	crds := loadCRDs(t)
	tests := map[string]struct{ base, patch string }{
		"a bare pool":                       {basePool, ``},
		"a bare claim":                      {baseClaim, ``},
		"a bare class":                      {baseClass, ``},
		"a bare overlay":                    {baseOverlay, ``},
		"a bare buffer":                     {baseBuffer, ``},
		"a pool with no budgets":            {basePool, `disruption: {budgets: []}`},
		"a pool with a budget of no number": {basePool, `disruption: {budgets: [{reasons: [Empty]}]}`},
		"a pool with a policy":              {basePool, `disruption: {consolidationPolicy: WhenEmpty}`},
		"a class with some of the options":  {baseClass, `metadataOptions: {httpTokens: optional}`},
		"a class with all of the options": {
			baseClass, `metadataOptions: {httpTokens: optional, httpEndpoint: disabled, httpProtocolIPv6: enabled, httpPutResponseHopLimit: 3}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bySchema := object(t, tc.base, tc.patch)
			typed, err := kubeapi.FromUnstructured(&unstructured.Unstructured{Object: object(t, tc.base, tc.patch)})
			if err != nil {
				t.Fatal(err)
			}
			if errs := crds[bySchema["kind"].(string)].admit(t.Context(), bySchema); len(errs) > 0 {
				t.Fatal(errs)
			}
			kubeapi.SetDefaults(typed)
			byUs, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(bySchema, byUs); diff != "" {
				t.Errorf("defaults (-schema +SetDefaults):\n%s", diff)
			}
		})
	}
}

func TestTransformMakesTypesAndLeavesTheRest(t *testing.T) {
	obj := object(t, basePool, `weight: 7`)
	obj["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "x"}}
	got, err := kubeapi.Transform(&unstructured.Unstructured{Object: obj})
	if err != nil {
		t.Fatal(err)
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(object(t, basePool, `weight: 7`), back); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
	again, err := kubeapi.Transform(got)
	if err != nil || again != got {
		t.Errorf("a second transform gave %v, %v, want the same object", again, err)
	}
	if _, err := kubeapi.Transform(&unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "apiVersion": "v1"}}); err == nil {
		t.Error("a Pod was taken, want an error")
	}
}

// object parses base and merges the patch into its spec.
func object(t *testing.T, base, patch string) map[string]any {
	t.Helper()
	obj, change := map[string]any{}, map[string]any{}
	parse(t, base, &obj)
	parse(t, patch, &change)
	merge(obj["spec"].(map[string]any), change)
	u := unstructured.Unstructured{}
	text, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(asJSON); err != nil { // whole numbers become int64, as an API server has them
		t.Fatal(err)
	}
	return u.Object
}

func parse(t *testing.T, text string, into *map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func merge(into, change map[string]any) {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[key] = value
		}
	}
}
