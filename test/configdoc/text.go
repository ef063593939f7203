package main

import "strings"

// head is what stands above the tables; the table of flags goes into it.
const head = "# Configuration\n" + `
Made by ` + "`make generate`" + ` from the Go types that the services read their config files into; a test keeps it equal.

A service reads one file, in YAML or JSON, of at most 1 MiB. A field that is left out has the value of the column *left out*: for numbers
0 says the same, for durations "0s", and for texts "" does, unless the table says what they mean. Durations are texts with a unit, such
as "50ms" or "1m30s"; dollars are decimal and in quotes, down to a millionth, and per hour but for ` + "`eviction_price`" + `. A field that is
unknown or given twice is an error that names those that are known, and the nearest. ` + "`-check-config`" + ` says whether all is right, and ends.

## Flags

%s
` + "`kerf up`" + ` takes ` + "`--config`, `--set` and `--check-config`" + `, too.

## What differs from pod to pod

Replicas share one file, from a ConfigMap. What differs is set by flags, which Kubernetes fills in from the environment:
` + "`-set=advertise=$(POD_IP):7500`" + ` with ` + "`status.podIP`" + ` as POD_IP, or ` + "`-set=cluster=$(KERF_CLUSTER)`" + ` with a key of a ConfigMap. ` +
	"`deploy/base`" + ` does both. A list or an object is set as a whole, in YAML: ` + "`-set='etcd.endpoints=[a:2379, b:2379]'`" + `.

## Environment

No field is read from the environment. What libraries read there:

| variable | what it is |
|---|---|
`

// variable is an environment variable that the services or their libraries read.
type variable struct{ name, text string }

// variables are those that users may want to set, in order.
func variables() []variable {
	return []variable{
		{"GOMEMLIMIT", "How much memory Go may use, such as `900MiB`: garbage is collected more often near it. Set it to the container's limit, as `deploy` does, or to nine tenths of it. The planner takes snapshots of at most a quarter of it."},
		{"GOGC", "How much garbage there may be before it is collected, as a percentage of what is in use. Where it is not set that is not Go's 100, but what [operations](operations.md#memory) says."},
		{"GOMAXPROCS", "How many processors are used; Go takes it from the container's CPU limit."},
		{"KUBECONFIG", "Where the cluster is, where `kubeconfig` is left out; before the pod that the service runs in."},
		{"AWS_REGION", "The actuator's region where `aws.region` is left out. Credentials come by `AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_CONTAINER_CREDENTIALS_FULL_URI` or any other way of the AWS SDK."},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "Where traces and metrics are sent, and log lines where `OTEL_LOGS_EXPORTER` says so; nothing is sent where it is not set. `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` and `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` are for one of them."},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "`grpc`, which is the default, or `http/protobuf`; also for one signal, as above."},
		{"OTEL_TRACES_EXPORTER", "`otlp`, or `none` for no traces; `OTEL_METRICS_EXPORTER` is the same for metrics."},
		{"OTEL_LOGS_EXPORTER", "`otlp` sends log lines as well, of `log.level` and above. Left out, they are sent where they have an endpoint of their own: they are on standard error in any case."},
		{"OTEL_TRACES_SAMPLER", "Which traces are kept, as in the specification of OpenTelemetry."},
		{"OTEL_RESOURCE_ATTRIBUTES", "Attributes of all that is sent, such as `k8s.cluster.name=prod`."},
		{"OTEL_SDK_DISABLED", "`true` for neither traces nor metrics nor sent log lines."},
	}
}

// applies is when a change has an effect, and what changes next.
const applies = `
## When a change applies

| what | when |
|---|---|
| the files of ` + "`tls`" + ` sections and of ` + "`etcd`" + ` (certificates, keys, CAs) | without a restart: the first handshake after ` + "`tls.reload_every`" + `, or after a second, reads them again. Open connections stay. A file that can't be read is logged, and the last good one is kept |
| everything else, log level and policy among it | at the next start of the service |

A restart is harmless, in any order: a planner has no state, a watcher that stands by takes over at once, and the actuator's leader hands its
lease on when it is asked to stop. With the overlays and the chart, a ConfigMap that has changed gets a new name, and so its pods are
replaced one by one. A file that is wrong ends a service at its start, so the others go on with the one before. To check it first:
` + "`planner -check-config -config planner.yaml`" + `.

## Today and next

[deploy/examples/config](../deploy/examples/config) spells out what the services do when a field is left out.
[deploy/examples/config-next](../deploy/examples/config-next) has what becomes the default with the next release; try it now, and say so if it
does not fit. The tests start all services with both.

| field | today | next | why |
|---|---|---|---|
`

// change is a default that is going to change.
type change struct{ file, field, today, next, why string }

// changes are those between deploy/examples/config and config-next. A test compares.
func changes() []change {
	return []change{
		{"actuator", "disruption.wait_for_daemon_pods", "false", "true", "a node that takes over pods has its logging and its network before them"},
		{"watcher", "policy.min_saving", "left out", `"0.005"`, "a consolidation that saves less than half a cent an hour is not worth its evictions"},
	}
}

// sections are those of the reference, in order.
func sections() []section {
	return []section{
		{"Every service", "services/internal/boot", "ServiceConfig", "These fields are in each service's file. Limits hold one by one and in sum: what is " +
			"beyond is refused with\nRESOURCE_EXHAUSTED, in words that name the field, and the service goes on."},
		{"Planner", "services/planner", "Config", "All may be left out. It listens on 127.0.0.1:7400."},
		{"Watcher", "services/watcher", "Config", "`cluster`, `planner` and `actuator` must be set. Without `listen` it listens on a\nfree port of loopback; 7600 is usual."},
		{"Actuator", "services/actuator", "Config", "`cluster` and `etcd` must be set. It listens on 127.0.0.1:7500."},
		{"kerf up", "services/kerf/internal/up", "Config", "One file with the sections `planner`, `watcher` and `actuator`, each with the fields " +
			"above. What they leave open is filled in: each\nservice listens on its usual loopback address (7400, 7600, 7500), the watcher finds the two others there, watcher and actuator " +
			"have the\nsame `cluster`, `kubeconfig` and `repair`, and claims live in an etcd inside the process, in `kerf-data` beside the file."},
	}
}

// environment is the table of variables.
func environment() string {
	var b strings.Builder
	for _, v := range variables() {
		b.WriteString("| `" + v.name + "` | " + v.text + " |\n")
	}
	return b.String()
}

// next is the table of changes.
func next() string {
	var b strings.Builder
	for _, c := range changes() {
		b.WriteString("| `" + c.field + "` of the " + c.file + " | " + c.today + " | " + c.next + " | " + c.why + " |\n")
	}
	return b.String()
}
