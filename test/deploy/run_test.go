package deploy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// TestTheOverlayKindRuns plays the demo's whole story on it, and asks who may do what. Most of a story is waiting, so
// that tests that leave the cluster alone run beside it.
func TestTheOverlayKindRuns(t *testing.T) {
	t.Parallel()
	i := install(t, "kind")
	i.run(t, settings)
	i.sim.URL = "http://" + i.named("awssim-0").at[awsPort]
	i.play(t, 1, 2)
	t.Run("planner and watcher write nothing", i.writesNothing)
	t.Run("each call is refused but to whom it is meant for", i.identities)
	t.Run("renewed certificates drop no stream", i.rotation)
	i.play(t, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

// TestTheOverlayEKSRuns plays on it with what Pod Identity gives the actuator's pods, and kills the actuator that leads
// and the watcher that drives in the middle of the story. The overlay ha is the same but for where the volumes of etcd
// come from.
func TestTheOverlayEKSRuns(t *testing.T) {
	i := install(t, "eks", "KERF_CLUSTER=kerf-demo", "KERF_QUEUE=kerf-demo", "AWS_REGION=us-east-1")
	if diff := cmp.Diff(render(t, i.cluster, "ha").objects, withoutStorage(render(t, i.cluster, "eks")).objects); diff != "" {
		t.Errorf("ha against eks without its storage class (-ha +eks):\n%s", diff)
	}
	asked := i.identity(t)
	i.run(t, settings)
	i.play(t, 1, 2, 3)
	if asked.Load() == 0 {
		t.Error("no credentials were fetched")
	}
	for component, metric := range map[string]string{"actuator": "kerf_actuator_leader", "watcher": "kerf_watcher_driver"} {
		var first *pod
		harness.Eventually(t, "a first "+component, patience, i.alive(t, func(context.Context) (state string, ok bool) {
			first, state = i.with(t, component, metric)
			return state, first != nil
		}))
		if err := first.proc.Kill(); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "another "+component, patience, func(context.Context) (string, bool) {
			next, state := i.with(t, component, metric)
			return state, next != nil && next != first
		})
		if err := first.proc.Start(); err != nil { // as the kubelet does
			t.Fatal(err)
		}
	}
	i.play(t, 6)
}

func TestTheOverlaySingleRuns(t *testing.T) {
	i := install(t, "single", "KERF_CLUSTER=kerf-demo", "KERF_QUEUE=kerf-demo", "AWS_REGION=us-east-1")
	i.run(t, settings)
	i.play(t, 1, 2)
	for port, metric := range map[int32]string{8081: "kerf_actuator_leader 1", 8082: "kerf_plan_duration", 8083: "kerf_watcher_driver 1"} {
		if text := metrics(t, i.of("kerf")[0].at[port]); !strings.Contains(text, metric) {
			t.Errorf("port %d serves no %s:\n%s", port, metric, text)
		}
	}
	i.play(t, 6)
}

// TestTheOverlayShadowReports has it look at pods that Kerf would buy a node for.
func TestTheOverlayShadowReports(t *testing.T) {
	i := install(t, "shadow")
	for _, file := range []string{"nodeclass", "nodepool", "inflate-5"} {
		if err := i.cluster.ApplyFile(t.Context(), filepath.Join(root(t), "deploy/examples/inflate", file+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	unscheduled := harness.Pods(i.client, "default", "app=inflate", 5, corev1.PodPending)
	harness.Eventually(t, "five pods without a node", patience, unscheduled)
	i.run(t, settings)
	shadow := i.of("shadow")[0]
	harness.Eventually(t, "a report", patience, i.alive(t, func(context.Context) (string, bool) {
		text := shadow.log(t)
		return text, strings.Contains(text, "m5.large")
	}))
	harness.Eventually(t, "pods as before", patience, unscheduled)
	nodeClaims, _ := kubectl(t, i.cluster, "get", "nodeclaims", "-o", "name")
	if nodeClaims != "" {
		t.Errorf("there are %s", nodeClaims)
	}
}

// installation is an overlay in the cluster, and a kubelet for its pods.
type installation struct {
	*kubelet

	certs string // what kerf certs has made
	sim   stack.Sim
}

// install applies an overlay by a kustomization with settings, as docs/install.md says, with certificates by kerf certs.
func install(t *testing.T, overlay string, settings ...string) *installation {
	t.Helper()
	c, client := cluster(t)
	k := &kubelet{cluster: c, client: client, dir: t.TempDir(), bin: build(t)}
	i := &installation{kubelet: k, certs: filepath.Join(k.dir, "kerf-certs")}
	if err := c.ApplyFile(t.Context(), filepath.Join(root(t), "deploy/crds")); err != nil {
		t.Fatal(err)
	}
	if overlay != "kind" {
		i.aws(t, overlay)
	}
	t.Cleanup(func() { i.leave(t) })
	kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-k", i.kustomization(t, overlay, settings))
	i.renew(t)
	i.scheduled(t, overlay)
	return i
}

// scheduled waits for the overlay's pods.
func (i *installation) scheduled(t *testing.T, overlay string) {
	t.Helper()
	o := render(t, i.cluster, overlay)
	for _, w := range o.workloads(t) {
		o.running(t, i.client, w)
	}
}

// kustomization is a folder with one for the overlay, with settings.
func (i *installation) kustomization(t *testing.T, overlay string, settings []string) string {
	t.Helper()
	dir := filepath.Join(i.dir, "my-kerf")
	text := "resources: [" + relative(t, dir, overlayDir(t, overlay)) + "]\n"
	if len(settings) > 0 {
		text += "configMapGenerator: [{name: kerf-settings, namespace: kerf-system, behavior: merge, literals: [" + strings.Join(settings, ", ") + "]}]\n"
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// renew makes certificates, the first time and again, and has pods see them.
func (i *installation) renew(t *testing.T) {
	t.Helper()
	file := filepath.Join(i.dir, "secrets.yaml")
	if err := os.WriteFile(file, i.makeCerts(t, i.certs), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, i.cluster, "apply", "--server-side", "-f", file)
	i.refresh(t)
}

// makeCerts makes an installation's certificates in a folder, and returns them as Secrets.
func (i *installation) makeCerts(t *testing.T, dir string) []byte {
	t.Helper()
	secrets, err := exec.CommandContext(t.Context(), filepath.Join(i.bin, "kerf"), "certs", "--dir", dir).Output()
	if err != nil {
		t.Fatalf("kerf certs: %v", err)
	}
	return secrets
}

// leave ends what runs, and takes away what was applied.
func (i *installation) leave(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	run(ctx, t, i.cluster, "delete", "deployment,pod,pdb", "-n", "default", "--all", "--wait=false")
	run(ctx, t, i.cluster, "delete", "nodepool,nodeclaims", "--all", "--timeout="+patience.String())
	run(ctx, t, i.cluster, "delete", "ec2nodeclass", "--all", "--timeout="+patience.String())
	i.stop(t)
	remove(t, i.cluster, i.client)
	run(ctx, t, i.cluster, "uncordon", "node-0", "node-1", "node-2")
}

// hurry has the simulated AWS take less time than it does for onlookers.
func hurry() []string {
	return []string{"-launch-latency=500ms", "-join-latency=200ms", "-terminate-latency=500ms"}
}

// settings are what differs from life: certificates are read again soon, streams that end are logged, and the story's
// own haste.
func settings(p *pod) []string {
	const reload = "reload_every=200ms"
	repair := fmt.Sprintf(`repair={conditions: [{type: Ready, status: "False", after: %[1]s}, {type: Ready, status: Unknown, after: %[1]s}]}`, stack.RepairAfter)
	services := map[string][]string{
		"planner": {"log.level=debug"},
		"watcher": {
			"batch.idle=150ms", "disruption.idle=300ms", "disruption.interval=1s", `policy.per_node_overhead="0"`, "policy.pod_rest=0s",
			"policy." + repair,
		},
		"actuator": {"log.level=debug", "intervals.fast_poll=200ms", "intervals.poll=5s", "intervals.orphans=5s", "intervals.classes=2s", repair},
	}
	certificates := map[string][]string{
		"planner": {"tls." + reload}, "watcher": {"tls." + reload, "planner.tls." + reload, "actuator.tls." + reload}, "actuator": {"tls." + reload},
	}
	var args []string
	if p.component() == "awssim" {
		args = hurry()
	}
	for _, set := range append(services[p.component()], certificates[p.component()]...) {
		args = append(args, "-set="+set)
	}
	if p.component() == "kerf" {
		for service, port := range map[string]int32{"planner": plannerPort, "watcher": watcherPort, "actuator": actuatorPort} {
			for _, set := range append(services[service], "listen="+p.at[port]) {
				args = append(args, "-set="+service+"."+set)
			}
		}
	}
	return args
}

// play plays steps of the demo's story.
func (i *installation) play(t *testing.T, numbers ...int) {
	t.Helper()
	processes := map[string]*proc.Process{}
	for _, p := range i.pods {
		processes[strings.TrimSuffix(p.name, "-0")] = p.proc
	}
	s, err := stack.Of(i.bin, i.cluster, i.sim, processes, map[string]*grpc.ClientConn{
		"planner": i.dial(t, "kerf-operator-tls", i.serving(plannerPort)[0], plannerPort),
		"watcher": i.dial(t, "kerf-operator-tls", i.serving(watcherPort)[0], watcherPort),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Actuators = nil
	for _, p := range i.serving(actuatorPort) {
		s.Actuators = append(s.Actuators, actuatorpb.NewActuatorServiceClient(i.dial(t, "kerf-operator-tls", p, actuatorPort)))
	}
	steps := slices.DeleteFunc(story.Steps(), func(step story.Step) bool { return !slices.Contains(numbers, step.Number) })
	var text strings.Builder
	line := show.New(&text, true)
	results, err := story.Play(t.Context(), story.Options{Stack: s, Line: line, Steps: steps})
	line.Table(results)
	t.Log("\n" + text.String())
	if err != nil {
		t.Fatal(err)
	}
}

// aws starts a simulated AWS beside an overlay that has none, where the machine's environment has the services look for
// AWS.
func (i *installation) aws(t *testing.T, overlay string) {
	t.Helper()
	free, err := proc.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	i.sim.URL = fmt.Sprintf("http://127.0.0.1:%d", free[0])
	p, err := proc.Start(proc.Spec{
		Name: "aws", Path: filepath.Join(i.bin, "awssim"), Log: filepath.Join(i.dir, "aws.log"),
		Args: append(hurry(), fmt.Sprintf("-listen=127.0.0.1:%d", free[0]), "-kubeconfig="+i.cluster.Kubeconfig(harness.Admin)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	harness.Eventually(t, "the simulated AWS", patience, harness.Answers(i.sim.URL+"/_sim/ready"))
	env := map[string]string{"AWS_ENDPOINT_URL": i.sim.URL, "AWS_EC2_METADATA_DISABLED": "true"}
	if overlay != "eks" { // which has credentials by identity
		env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = "test", "test"
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// identity does what EKS Pod Identity does: it gives the actuator's pods, and no others, a token and an agent that
// takes it for credentials. It returns how often the agent was asked.
func (i *installation) identity(t *testing.T) *atomic.Int32 {
	t.Helper()
	const token = "of the actuator's pod"
	var asked atomic.Int32
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			http.Error(w, "whose token is this?", http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		fmt.Fprintf(w, `{"AccessKeyId": "pod", "SecretAccessKey": "secret", "Token": "session", "Expiration": %q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(agent.Close)
	file := filepath.Join(i.dir, "eks-pod-identity-token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	i.injected = map[string]map[string]string{"kerf-actuator": {
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file,
	}}
	return &asked
}

// withoutStorage is the overlay without its storage class.
func withoutStorage(o overlay) overlay {
	o.objects = slices.DeleteFunc(o.objects, func(u unstructured.Unstructured) bool { return u.GetKind() == "StorageClass" })
	for _, u := range o.objects {
		claims, _, _ := unstructured.NestedSlice(u.Object, "spec", "volumeClaimTemplates")
		for _, c := range claims {
			unstructured.RemoveNestedField(c.(map[string]any), "spec", "storageClassName")
		}
		if len(claims) > 0 {
			u.Object["spec"].(map[string]any)["volumeClaimTemplates"] = claims
		}
	}
	return o
}

// with is the component's pod whose gauge is 1; nil when none is, and then the state says what there is.
func (i *installation) with(t *testing.T, component, gauge string) (found *pod, state string) {
	t.Helper()
	for _, p := range i.of(component) {
		if !p.proc.Running() {
			continue
		}
		text := metrics(t, p.at[healthPort])
		state += p.name + ": " + regexp.MustCompile("(?m)^"+gauge+".*$").FindString(text) + "\n"
		if regexp.MustCompile("(?m)^" + gauge + "({.*})? 1$").MatchString(text) {
			return p, state
		}
	}
	return nil, state
}

func metrics(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // it is read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writesNothing asks with tokens of the installed service accounts, and tries.
func (i *installation) writesNothing(t *testing.T) {
	if i.named("planner-0").token != "" {
		t.Error("the planner's pod has a token")
	}
	for _, account := range []string{"kerf-planner", "kerf-watcher"} {
		token, _ := kubectl(t, i.cluster, "create", "token", account, "-n", namespace)
		config, err := clientcmd.BuildConfigFromFlags("", i.kubeconfig(t, account, strings.TrimSpace(token)))
		if err != nil {
			t.Fatal(err)
		}
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if list := writes(t, client); len(list) > 0 {
			t.Errorf("%s may %s", account, strings.Join(list, ", "))
		}
		err = client.CoreV1().Nodes().Delete(t.Context(), "node-0", metav1.DeleteOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s deletes a node: %v", account, err)
		}
	}
}
