package chart_test

import (
	"errors"
	"io"
	"log" //nolint:depguard // it is Helm that writes to it
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const namespace = "kerf-system"

type object = map[string]any

func load(t *testing.T) *chart.Chart {
	t.Helper()
	log.SetOutput(io.Discard) // Helm tells of each link that it follows
	c, err := loader.Load("../../deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm renders the chart; with an error, or with its notes and its objects by kind and name.
func helm(t *testing.T, values string) (objects map[string]object, notes string, err error) {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := load(t)
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "kerf", Namespace: namespace, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, "", err
	}
	objects = map[string]object{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		index(t, objects, files[name])
	}
	for _, crd := range c.CRDObjects() {
		index(t, objects, string(crd.File.Data))
	}
	return objects, notes, nil
}

// kustomize renders the overlay, and components, with the settings, as a user's own kustomization does.
func kustomize(t *testing.T, overlay string, components []string, settings ...string) map[string]object {
	t.Helper()
	dir, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.MkdirTemp(dir, "test-") //nolint:usetesting // kustomize takes only relative paths
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own) //nolint:errcheck // a test's
	text := "resources: [../overlays/" + overlay + "]\ncomponents: [" + strings.Join(components, ", ") + "]\nconfigMapGenerator:\n- {name: kerf-settings, namespace: kerf-system, behavior: merge, literals: [" +
		strings.Join(settings, ", ") + "]}\n"
	if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), own)
	if err != nil {
		t.Fatal(err)
	}
	out, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	index(t, objects, string(out))
	return objects
}

// suffix is what kustomize puts after the name of a ConfigMap that it generates; the chart puts a sum into an annotation.
var suffix = regexp.MustCompile(`^(kerf-(?:settings|planner|watcher|actuator))-[a-z0-9]{10}$`)

func index(t *testing.T, into map[string]object, text string) {
	t.Helper()
	docs := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var o object
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(o) == 0 {
			continue
		}
		o = plain(o).(object)
		key := o["kind"].(string) + " " + o["metadata"].(object)["name"].(string)
		if into[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		if o["kind"] == "ConfigMap" {
			parseConfig(t, o)
		}
		into[key] = o
	}
}

// parseConfig puts the content of config files where their text was: comments and the order of fields don't count.
func parseConfig(t *testing.T, o object) {
	t.Helper()
	for name, text := range o["data"].(object) {
		var content any
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(text.(string)), &content); err != nil {
			t.Fatal(err)
		}
		o["data"].(object)[name] = content
	}
}

// plain takes suffixes and the annotation out.
func plain(v any) any {
	switch v := v.(type) {
	case object:
		delete(v, "kerf.dev/config")
		for k := range v {
			v[k] = plain(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case string:
		return suffix.ReplaceAllString(v, "$1")
	}
	return v
}

func TestChartAndKustomizationAreAlike(t *testing.T) {
	const settings = "settings: {clusterName: prod, interruptionQueue: events, region: eu-west-1}\n"
	asOverlay := []string{"KERF_CLUSTER=prod", "KERF_QUEUE=events", "AWS_REGION=eu-west-1"}
	alike(t, settings, kustomize(t, "ha", nil, asOverlay...))
	with := kustomize(t, "ha", []string{"../components/otlp", "../monitoring"}, append(asOverlay, "'OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4317'", "OTEL_LOGS_EXPORTER=otlp")...)
	alike(t, settings+"otlp: {endpoint: \"http://otel:4317\", logs: true}\nserviceMonitor: {enabled: true}", with)
	for _, key := range []string{"NetworkPolicy kerf-otlp", "PodMonitor kerf", "PrometheusRule kerf", "ConfigMap kerf-dashboards"} {
		if with[key] == nil {
			t.Errorf("no %s", key)
		}
	}
}

func alike(t *testing.T, values string, fromOverlay map[string]object) {
	t.Helper()
	fromChart, _, err := helm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	delete(fromOverlay, "Namespace "+namespace) // Helm makes it
	for _, name := range []string{"autoscaling.x-k8s.io", "karpenter.sh", "karpenter.k8s.aws"} {
		for key, o := range fromOverlay {
			if strings.HasPrefix(key, "CustomResourceDefinition ") && strings.HasSuffix(key, name) {
				delete(o["metadata"].(object), "labels")
			}
		}
	}
	if diff := cmp.Diff(fromOverlay, fromChart); diff != "" {
		t.Errorf("deploy/overlays/ha against the chart (-overlay +chart):\n%s", diff)
	}
	if len(fromChart) < 40 {
		t.Errorf("only %d objects", len(fromChart))
	}
}

// at follows a path of names and indices.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(object)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

func TestValuesReachTheObjects(t *testing.T) {
	objects, notes, err := helm(t, `
settings: {clusterName: prod, clusterEndpoint: "https://api", reservedENIs: 1, batchMaxDuration: 2s, preferencePolicy: Respect, minValuesPolicy: BestEffort, enableZonalShift: true}
policy: {pod_rest: 5m}
replicas: 3
planner: {replicas: 5, resources: {requests: {cpu: 2}}, config: {sessions: {max_decides: 2}}}
image: {registry: registry.example.org/kerf, tag: v1.2.3, pullPolicy: Always}
imagePullSecrets: [{name: pull}]
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::111122223333:role/kerf"}}
logLevel: debug
controller: {env: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://otel:4317"}]}
podLabels: {team: platform}
tolerations: [{key: infra, operator: Exists}]
nodeSelector: {pool: infra}
podDisruptionBudget: {maxUnavailable: 50%}
serviceMonitor: {enabled: true, additionalLabels: {release: prometheus}, endpointConfig: {interval: 10s}}
networkPolicy: {enabled: false}
certificates: {certManager: false}
etcd: {enabled: false, endpoints: ["https://etcd.example.org:2379"]}
`)
	if err != nil {
		t.Fatal(err)
	}
	pod := func(service string) any {
		return at(t, objects["Deployment kerf-"+service], "spec", "template", "spec")
	}
	config := func(service string) any { return at(t, objects["ConfigMap kerf-"+service], "data", service+".yaml") }
	tests := map[string]struct{ got, want any }{
		"replicas":             {at(t, objects["Deployment kerf-watcher"], "spec", "replicas"), float64(3)},
		"a service's own":      {at(t, objects["Deployment kerf-planner"], "spec", "replicas"), float64(5)},
		"its resources":        {at(t, pod("planner"), "containers", 0, "resources", "requests", "cpu"), float64(2)},
		"its config":           {at(t, config("planner"), "sessions", "max_decides"), float64(2)},
		"its listen address":   {at(t, config("planner"), "listen"), ":7400"},
		"the log":              {at(t, config("planner"), "log", "level"), "debug"},
		"the image":            {at(t, pod("actuator"), "containers", 0, "image"), "registry.example.org/kerf/kerf-actuator:v1.2.3"},
		"the pull secret":      {at(t, pod("actuator"), "imagePullSecrets", 0, "name"), "pull"},
		"the role":             {at(t, objects["ServiceAccount kerf-actuator"], "metadata", "annotations", "eks.amazonaws.com/role-arn"), "arn:aws:iam::111122223333:role/kerf"},
		"the endpoint":         {at(t, config("actuator"), "aws", "api", "endpoint"), "https://api"},
		"zonal shifts":         {at(t, config("actuator"), "aws", "zonal_shift"), "on"},
		"network interfaces":   {at(t, config("actuator"), "nodes", "reserved_enis"), float64(1)},
		"an etcd of one's own": {at(t, config("actuator"), "etcd", "endpoints", 0), "https://etcd.example.org:2379"},
		"its certificate":      {at(t, config("actuator"), "etcd", "cert_file"), "/etc/kerf/etcd-tls/tls.crt"},
		"batches":              {at(t, config("watcher"), "batch", "max"), "2s"},
		"preferences":          {at(t, config("watcher"), "policy", "preferences"), "enforced"},
		"minimum values":       {at(t, config("watcher"), "policy", "min_values"), "best-effort"},
		"policy":               {at(t, config("watcher"), "policy", "pod_rest"), "5m"},
		"tolerations":          {at(t, pod("watcher"), "tolerations", 0, "key"), "infra"},
		"node selector":        {at(t, pod("watcher"), "nodeSelector", "pool"), "infra"},
		"a label of pods":      {at(t, objects["Deployment kerf-watcher"], "spec", "template", "metadata", "labels", "team"), "platform"},
		"a monitor's label":    {at(t, objects["PodMonitor kerf"], "metadata", "labels", "release"), "prometheus"},
		"an alert's label":     {at(t, objects["PrometheusRule kerf"], "metadata", "labels", "release"), "prometheus"},
		"a monitor's endpoint": {at(t, objects["PodMonitor kerf"], "spec", "podMetricsEndpoints", 0, "interval"), "10s"},
		"its path":             {at(t, objects["PodMonitor kerf"], "spec", "podMetricsEndpoints", 0, "path"), "/metrics"},
		"the budget":           {at(t, objects["PodDisruptionBudget kerf-watcher"], "spec", "maxUnavailable"), "50%"},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	env := at(t, pod("planner"), "containers", 0, "env").([]any)
	if at(t, env[len(env)-1], "name") != "OTEL_EXPORTER_OTLP_ENDPOINT" {
		t.Errorf("environment %v", env)
	}
	for key := range objects {
		for _, kind := range []string{"NetworkPolicy ", "Certificate ", "Issuer ", "StatefulSet "} {
			if strings.HasPrefix(key, kind) {
				t.Errorf("%s is there", key)
			}
		}
	}
	for _, want := range []string{"v1.2.3", "prod", "settings.interruptionQueue is empty", "kerf certs"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes without %q:\n%s", want, notes)
		}
	}
}

// TestAllThatServesMetricsIsScraped compares the monitor's ports with those that containers name, etcd's among them.
func TestAllThatServesMetricsIsScraped(t *testing.T) {
	serves := map[string]bool{}
	var scraped []any
	for _, overlay := range []string{"ha", "single"} {
		objects := kustomize(t, overlay, []string{"../monitoring"}, "KERF_CLUSTER=prod")
		scraped = at(t, objects["PodMonitor kerf"], "spec", "podMetricsEndpoints").([]any)
		for key, o := range objects {
			if !strings.HasPrefix(key, "Deployment ") && !strings.HasPrefix(key, "StatefulSet ") {
				continue
			}
			for _, p := range at(t, o, "spec", "template", "spec", "containers", 0, "ports").([]any) {
				if name := at(t, p, "name").(string); strings.HasSuffix(name, "health") || name == "metrics" {
					serves[name] = true
				}
			}
		}
	}
	got := map[string]bool{}
	for _, e := range scraped {
		got[at(t, e, "port").(string)] = true
	}
	if diff := cmp.Diff(serves, got); diff != "" {
		t.Errorf("ports (-of containers +scraped):\n%s", diff)
	}
}

// TestTheRegionIsEKSsWhereNoneIsSet: EKS gives a container with a role the cluster's region where the container names none.
func TestTheRegionIsEKSsWhereNoneIsSet(t *testing.T) {
	for settings, want := range map[string]bool{"{clusterName: prod}": false, "{clusterName: prod, region: eu-west-1}": true} {
		objects, _, err := helm(t, "settings: "+settings)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, e := range at(t, objects["Deployment kerf-actuator"], "spec", "template", "spec", "containers", 0, "env").([]any) {
			got = got || at(t, e, "name") == "AWS_REGION"
		}
		if got != want {
			t.Errorf("settings: %s: the container names AWS_REGION: %v, want %v", settings, got, want)
		}
	}
}

// TestEtcdKeepsItsQuorum: of three members no more than one may be evicted, whatever the services' budget says.
func TestEtcdKeepsItsQuorum(t *testing.T) {
	objects, _, err := helm(t, "settings: {clusterName: prod}\npodDisruptionBudget: {maxUnavailable: 50%}")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"kerf-etcd": float64(1), "kerf-actuator": "50%"} {
		if got := at(t, objects["PodDisruptionBudget "+name], "spec", "maxUnavailable"); got != want {
			t.Errorf("%s: maxUnavailable is %v, want %v", name, got, want)
		}
	}
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"{}":                        "settings.clusterName",
		"settings: {clusterNam: x}": "clusterNam",
		"settings: {clusterName: x}\nreplicas: 0":            "replicas",
		"settings: {clusterName: x, batchMaxDuration: soon}": "batchMaxDuration",
		"settings: {clusterName: x}\nlogLevel: loud":         "logLevel",
		"settings: {clusterName: x}\netcd: {enabled: false}": "etcd.endpoints",
	} {
		if _, _, err := helm(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", values, err, want)
		}
	}
}

// TestCertificatesAreCertManagers reads them by cert-manager's own types, strictly.
func TestCertificatesAreCertManagers(t *testing.T) {
	n := 0
	for key, o := range kustomize(t, "ha", nil, "KERF_CLUSTER=prod") {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		switch o["kind"] {
		case "Certificate":
			var c cmv1.Certificate
			err = yaml.UnmarshalStrict(text, &c)
			n++
		case "Issuer":
			var i cmv1.Issuer
			err = yaml.UnmarshalStrict(text, &i)
			n++
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if n != 11 {
		t.Errorf("%d objects of cert-manager, want 11", n)
	}
}
