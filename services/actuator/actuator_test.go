package actuator

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // a part of the error; "" for none
	}{
		"the least":        {`{"cluster": "c", "etcd": {"endpoints": ["127.0.0.1:2379"]}}`, ""},
		"an embedded etcd": {`{"cluster": "c", "etcd": {"embedded": {"dir": "d"}}}`, "etcd.embedded.dir: this program has no etcd in it"},
		"everything": {`{"cluster": "c", "listen": "127.0.0.1:7500", "advertise": "actuator-0.kerf:7500", "kubeconfig": "k", "catalog": "f",
			"etcd": {"endpoints": ["https://e:2379"], "ca_file": "a", "cert_file": "b", "key_file": "c", "username": "u", "password_file": "p",
				"prefix": "/kerf", "request_timeout": "2s", "lease_ttl": "5s"},
			"aws": {"region": "us-east-1", "endpoint": "http://127.0.0.1:1", "queue": "q",
				"api": {"endpoint": "https://e", "ca": "c", "service_cidr": "10.0.0.0/16", "kubernetes_version": "1.37"}},
			"nodes": {"vm_memory_overhead_percent": 0.075, "reserved_enis": 1},
			"intervals": {"types": "1h", "spot": "1m", "classes": "1m", "poll": "10s", "fast_poll": "500ms", "templates": "5m",
				"orphans": "30s", "shortage": "3m", "history": "1h"},
			"concurrency": {"launches": 5, "evictions": 5},
			"disruption": {"wait_for_daemon_pods": true, "initialization_timeout": "45m"},
			"repair": {"conditions": [{"type": "Ready", "status": "Unknown", "after": "20m"}], "max_unhealthy_percent": 30}}`, ""},
		"repair that is off": {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"off": true}}`, ""},
		"repair that is off and on": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"off": true, "max_unhealthy_percent": 5}}`, "repair.max_unhealthy_percent: has no meaning where repair is off",
		},
		"more unhealthy than there are": {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"max_unhealthy_percent": 101}}`, "repair.max_unhealthy_percent: 101"},
		"a condition without a type": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"conditions": [{"status": "False", "after": "5m"}]}}`, "repair.conditions[0].type: required",
		},
		"a condition of an unknown status": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"conditions": [{"type": "Ready", "status": "false", "after": "5m"}]}}`,
			`repair.conditions[0].status: "false"`,
		},
		"a condition that need not last": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "repair": {"conditions": [{"type": "Ready", "status": "False"}]}}`,
			"repair.conditions[0].after:",
		},
		"a short wait for nodes": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "disruption": {"initialization_timeout": "1s"}}`, "disruption.initialization_timeout: 1s is too short",
		},
		"a misspelt field of disruption": {
			`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "disruption": {"wait_for_daemons": true}}`, "disruption.wait_for_daemons: unknown field",
		},
		"no cluster":               {`{"etcd": {"endpoints": ["e"]}}`, "cluster:"},
		"no etcd":                  {`{"cluster": "c"}`, "etcd.endpoints: required"},
		"two etcds":                {`{"cluster": "c", "etcd": {"endpoints": ["e"], "embedded": {"dir": "d"}}}`, "etcd.embedded: can't be set together"},
		"an etcd without a place":  {`{"cluster": "c", "etcd": {"embedded": {}}}`, "etcd.embedded.dir: required"},
		"half a certificate":       {`{"cluster": "c", "etcd": {"endpoints": ["e"], "cert_file": "f"}}`, "etcd.cert_file: and key_file belong together"},
		"a user without password":  {`{"cluster": "c", "etcd": {"endpoints": ["e"], "username": "u"}}`, "etcd.username: and password_file"},
		"a short lease":            {`{"cluster": "c", "etcd": {"endpoints": ["e"], "lease_ttl": "10ms"}}`, "etcd.lease_ttl: 10ms is too short"},
		"a short memory":           {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "intervals": {"history": "1m"}}`, "intervals.history: 1m0s is too short"},
		"too much at once":         {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "concurrency": {"launches": 5000}}`, "concurrency.launches: 5000"},
		"an unknown field":         {`{"cluster": "c", "etcd": {"endpoint": "e"}}`, "etcd.endpoint: unknown field"},
		"an overhead of one":       {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "nodes": {"vm_memory_overhead_percent": 1}}`, "nodes.vm_memory_overhead_percent"},
		"an interval as a number":  {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "intervals": {"poll": 10}}`, "intervals.poll"},
		"a queue by its address":   {ofAWS(`"queue": "https://sqs.eu-west-1.amazonaws.com/111122223333/q"`), "aws.queue: \"https"},
		"a region that is none":    {ofAWS(`"region": "eu-west"`), `aws.region: "eu-west": want a region such as eu-west-1`},
		"a partition of its own":   {ofAWS(`"region": "us-gov-west-1"`), ""},
		"AWS without a scheme":     {ofAWS(`"endpoint": "localhost:4577"`), "aws.endpoint"},
		"a range without length":   {ofAWS(`"api": {"service_cidr": "10.0.0.0"}`), "aws.api.service_cidr"},
		"a major version alone":    {ofAWS(`"api": {"kubernetes_version": "1"}`), "aws.api.kubernetes_version"},
		"an API without a scheme":  {ofAWS(`"api": {"endpoint": "abc.eks.amazonaws.com"}`), "aws.api.endpoint"},
		"an outside plain address": {`{"cluster": "c", "etcd": {"endpoints": ["e"]}, "listen": "0.0.0.0:7500"}`, "listen:"},
	} {
		t.Run(name, func(t *testing.T) {
			var got Config
			err := config.Decode([]byte(c.text), &got)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRunSaysWhatItCannotReach(t *testing.T) {
	var c Config
	c.Cluster, c.Kubeconfig = "c", "testdata/no-such-file"
	c.Etcd.Endpoints = []string{"127.0.0.1:1"}
	if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("error %v, want one about the kubeconfig", err)
	}
}

// ofAWS is a config with these fields of its section aws.
func ofAWS(fields string) string {
	return `{"cluster": "c", "etcd": {"endpoints": ["e"]}, "aws": {` + fields + `}}`
}
