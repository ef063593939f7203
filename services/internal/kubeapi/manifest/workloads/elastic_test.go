package workloads

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestNodesOfASearchEngineSayWhatTheyAreFor: users' own rules select by these labels, and roles may be said in three ways.
func TestNodesOfASearchEngineSayWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config string
		has    []string
		hasNot []string
	}{
		"nothing said":     {"{}", []string{"master", "data", "data_hot"}, []string{"voting_only"}},
		"roles":            {"{node.roles: [master, ingest]}", []string{"master", "ingest"}, []string{"data", "ml", "data_hot"}},
		"roles as a field": {"{node: {roles: [data_hot]}}", []string{"data_hot"}, []string{"data", "master"}},
		"no role at all":   {"{node.roles: []}", nil, []string{"master", "data", "transform"}},
		"the old settings": {"{node.master: true, node.data: false, node.ingest: 'false'}", []string{"master", "ml"}, []string{"data", "data_hot", "transform", "ingest"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, "elasticsearch.k8s.elastic.co/Elasticsearch", "{nodeSets: [{name: a, count: 1, config: "+tt.config+"}]}")
			got := objects[0].(*appsv1.ReplicaSet).Spec.Template.Labels
			for _, role := range slices.Concat(tt.has, tt.hasNot) {
				if want := slices.Contains(tt.has, role); (got["elasticsearch.k8s.elastic.co/node-"+role] == "true") != want {
					t.Errorf("%s is %q, want %t", role, got["elasticsearch.k8s.elastic.co/node-"+role], want)
				}
			}
		})
	}
}

// TestServersOfElasticHaveWhatItsOperatorAsksFor, unless their template says it.
func TestServersOfElasticHaveWhatItsOperatorAsksFor(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[string]struct{ spec, container, cpu, memory string }{
		"logstash.k8s.elastic.co/Logstash": {"{count: 1}", "logstash", "1", "2Gi"},
		"apm.k8s.elastic.co/ApmServer":     {"{count: 1, podTemplate: {spec: {containers: [{name: apm-server, resources: {requests: {memory: 1Gi}}}]}}}", "apm-server", "0", "1Gi"},
		"agent.k8s.elastic.co/Agent":       {"{statefulSet: {}}", "agent", "200m", "400Mi"},
		"beat.k8s.elastic.co/Beat":         {"{type: heartbeat, deployment: {}}", "heartbeat", "100m", "300Mi"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			objects, _ := read(t, kind, tt.spec)
			c := objects[0].(*appsv1.ReplicaSet).Spec.Template.Spec.Containers[0]
			if r := c.Resources.Requests; c.Name != tt.container || !r.Cpu().Equal(resource.MustParse(tt.cpu)) || !r.Memory().Equal(resource.MustParse(tt.memory)) {
				t.Errorf("%s asks for %v", c.Name, r)
			}
		})
	}
	objects, _ := read(t, "beat.k8s.elastic.co/Beat", "{type: filebeat, daemonSet: {podTemplate: {spec: {tolerations: [{operator: Exists}]}}}}")
	if d, ok := objects[0].(*appsv1.DaemonSet); !ok || len(d.Spec.Template.Spec.Tolerations) != 1 || d.Spec.Template.Spec.Containers[0].Name != "filebeat" {
		t.Errorf("it is %+v", objects[0])
	}
}
