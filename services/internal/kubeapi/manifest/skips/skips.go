// Package skips keeps count of the objects that planning does not look at, and says so in few lines: there are many in a
// folder of manifests, and only those that pods come of change what a plan is worth.
//
// It goes by an object's kind and text, and knows no types. Start reading at List.
package skips

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// List is what was skipped, by source and in the order in which it stood there. The zero value is empty.
type List struct {
	counts []count
}

type count struct {
	source, kind string
	about        about
	number       int
}

// about is what objects that are skipped have to do with pods: nothing, pods come of them, or they keep pods from being
// made.
type about int

const (
	nothing about = iota
	makes
	limits
)

// Line is a sentence about a source.
type Line struct{ Source, Text string }

// Add counts an object. group is "" for Kubernetes' own.
func (l *List) Add(source, group, kind string, object []byte) {
	c := count{source: source, kind: kind, number: 1}
	switch {
	case group == "" && kind == "ResourceQuota":
		c.about = limits
	case makesPods(group, kind, object):
		c.about = makes
	}
	if group != "" {
		c.kind += " (" + group + ")"
	}
	for i := range l.counts {
		if o := &l.counts[i]; o.source == c.source && o.kind == c.kind && o.about == c.about {
			o.number++
			return
		}
	}
	l.counts = append(l.counts, c)
}

// Lines are one for each source, and before it one each for what pods come of and for what keeps pods from being made.
func (l *List) Lines() []Line {
	var out []Line
	var told []string
	for _, c := range l.counts {
		if slices.Contains(told, c.source) {
			continue
		}
		told = append(told, c.source)
		if made := l.of(c.source, makes); made != "" {
			out = append(out, Line{c.source, "not planned for, though they make pods: " + made +
				"; how many and which, their controllers alone know: to plan for those, give kerf Deployments or Jobs of the same pods"})
		}
		if quotas := l.of(c.source, limits); quotas != "" {
			out = append(out, Line{c.source, "not looked at: " + quotas + "; pods that a quota keeps from being made are planned for as all others"})
		}
		if others := l.of(c.source, nothing); others != "" {
			out = append(out, Line{c.source, "skipped, because planning does not look at them: " + others})
		}
	}
	return out
}

func (l *List) of(source string, what about) string {
	var texts []string
	for _, c := range l.counts {
		if c.source == source && c.about == what {
			texts = append(texts, fmt.Sprintf("%d %s", c.number, c.kind))
		}
	}
	return strings.Join(texts, ", ")
}

// makesPods tells kinds whose controllers make pods: those that are known for it, and those that say which containers.
func makesPods(group, kind string, object []byte) bool {
	if slices.Contains(makers()[group], kind) {
		return true
	}
	if group == "" || speakOfPods(group) {
		return false
	}
	var value struct {
		Spec any `json:"spec"`
	}
	return json.Unmarshal(object, &value) == nil && hasContainers(value.Spec)
}

// makers are kinds that need not say what containers their pods have, by group.
func makers() map[string][]string {
	return map[string][]string{
		"acid.zalan.do":                     {"postgresql"},
		"actions.github.com":                {"AutoscalingRunnerSet", "EphemeralRunnerSet"},
		"actions.summerwind.dev":            {"Runner", "RunnerDeployment", "RunnerSet"},
		"agent.k8s.elastic.co":              {"Agent"},
		"apm.k8s.elastic.co":                {"ApmServer"},
		"apps.nvidia.com":                   {"NIMPipeline", "NIMService", "NemoCustomizer", "NemoEvaluator"},
		"argoproj.io":                       {"ArgoCD", "CronWorkflow", "Workflow"},
		"beat.k8s.elastic.co":               {"Beat"},
		"cassandra.datastax.com":            {"CassandraDatacenter"},
		"clickhouse-keeper.altinity.com":    {"ClickHouseKeeperInstallation"},
		"clickhouse.altinity.com":           {"ClickHouseInstallation"},
		"crdb.cockroachlabs.com":            {"CrdbCluster"},
		"databases.spotahome.com":           {"RedisFailover"},
		"dragonflydb.io":                    {"Dragonfly"},
		"druid.apache.org":                  {"Druid"},
		"elasticsearch.k8s.elastic.co":      {"Elasticsearch"},
		"enterprisesearch.k8s.elastic.co":   {"EnterpriseSearch"},
		"flink.apache.org":                  {"FlinkDeployment"},
		"grafana.integreatly.org":           {"Grafana"},
		"jaegertracing.io":                  {"Jaeger"},
		"k8s.keycloak.org":                  {"Keycloak"},
		"k8s.mariadb.com":                   {"MariaDB"},
		"k8ssandra.io":                      {"K8ssandraCluster"},
		"kafka.strimzi.io":                  {"Kafka", "KafkaBridge", "KafkaConnect", "KafkaMirrorMaker2", "KafkaNodePool"},
		"kibana.k8s.elastic.co":             {"Kibana"},
		"kubevirt.io":                       {"VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"},
		"logstash.k8s.elastic.co":           {"Logstash"},
		"loki.grafana.com":                  {"LokiStack"},
		"maps.k8s.elastic.co":               {"ElasticMapsServer"},
		"milvus.io":                         {"Milvus"},
		"minio.min.io":                      {"Tenant"},
		"mongodb.com":                       {"MongoDB"},
		"mongodbcommunity.mongodb.com":      {"MongoDBCommunity"},
		"monitoring.coreos.com":             {"Alertmanager", "Prometheus", "PrometheusAgent", "ThanosRuler"},
		"mysql.oracle.com":                  {"InnoDBCluster"},
		"nvidia.com":                        {"DynamoComponentDeployment", "DynamoGraphDeployment"},
		"opensearch.opster.io":              {"OpenSearchCluster"},
		"opentelemetry.io":                  {"OpenTelemetryCollector"},
		"operator.victoriametrics.com":      {"VLSingle", "VMAgent", "VMAlert", "VMAlertmanager", "VMAuth", "VMCluster", "VMSingle"},
		"pgv2.percona.com":                  {"PerconaPGCluster"},
		"pingcap.com":                       {"TidbCluster"},
		"planetscale.com":                   {"VitessCluster"},
		"pool.kubevirt.io":                  {"VirtualMachinePool"},
		"postgres-operator.crunchydata.com": {"PostgresCluster"},
		"postgresql.cnpg.io":                {"Cluster", "Pooler"},
		"ps.percona.com":                    {"PerconaServerMySQL"},
		"psmdb.percona.com":                 {"PerconaServerMongoDB"},
		"pxc.percona.com":                   {"PerconaXtraDBCluster"},
		"rabbitmq.com":                      {"RabbitmqCluster"},
		"redis.redis.opstreelabs.in":        {"Redis", "RedisCluster", "RedisReplication", "RedisSentinel"},
		"scylla.scylladb.com":               {"ScyllaCluster"},
		"serving.kserve.io":                 {"InferenceService", "LLMInferenceService"},
		"solr.apache.org":                   {"SolrCloud"},
		"spark.apache.org":                  {"SparkApplication", "SparkCluster"},
		"sparkoperator.k8s.io":              {"ScheduledSparkApplication", "SparkApplication"},
		"tekton.dev":                        {"PipelineRun", "TaskRun"},
		"tempo.grafana.com":                 {"TempoMonolithic", "TempoStack"},
		"temporal.io":                       {"TemporalCluster"},
		"trainer.kubeflow.org":              {"TrainJob"},
	}
}

// speakOfPods tells groups whose kinds say what others' pods may be like, of which are no pods.
func speakOfPods(group string) bool {
	for _, domain := range []string{"kyverno.io", "gatekeeper.sh", "k8s.io"} {
		if rest, is := strings.CutSuffix(group, domain); is && (rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	return false
}

// hasContainers finds a pod's containers anywhere in a value.
func hasContainers(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		if list, ok := v["containers"].([]any); ok && slices.ContainsFunc(list, isContainer) {
			return true
		}
		for _, inner := range v {
			if hasContainers(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasContainers)
	}
	return false
}

func isContainer(value any) bool {
	fields, ok := value.(map[string]any)
	return ok && (fields["image"] != nil || fields["resources"] != nil)
}
