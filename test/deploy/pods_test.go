package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// kubelet runs the pods of Kerf's namespace as processes of this machine: each container's program with its arguments
// and environment, the ConfigMaps and Secrets that it mounts, and a token of its service account if it mounts one. Only
// addresses and folders differ, as there is neither a network of pods nor a file system for each.
type kubelet struct {
	cluster *harness.Cluster
	client  kubernetes.Interface
	dir     string // logs, and what pods mount
	bin     string
	pods    []*pod // in the order in which they start
	mounted int    // counts what was put into folders
	// injected is what the cloud adds to the environment of pods, by their service account.
	injected map[string]map[string]string
}

type pod struct {
	*corev1.Pod

	name  string           // its component and a number, such as planner-0
	at    map[int32]string // where it listens, by the port that it would have
	token string           // the kubeconfig of its service account; "" where it mounts no token
	proc  *proc.Process
}

// The ports of deploy/base.
const (
	plannerPort, actuatorPort, watcherPort, healthPort = 7400, 7500, 7600, 8081

	awsPort = 4577
)

// components of Kerf's pods, in the order in which they start.
func components() []string {
	return []string{"etcd", "awssim", "planner", "actuator", "watcher", "kerf", "shadow"}
}

// run starts all pods that are in the namespace, and waits until their probes are answered.
func (k *kubelet) run(t *testing.T, settings func(*pod) []string) {
	t.Helper()
	for _, component := range components() {
		list, err := k.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			k.pods = append(k.pods, &pod{Pod: &list.Items[i], name: fmt.Sprintf("%s-%d", component, i), at: ports(t, &list.Items[i])})
		}
	}
	if len(k.pods) == 0 {
		t.Fatal("no pods")
	}
	kubectl(t, k.cluster, "cordon", "node-0", "node-1", "node-2") // what comes after Kerf is to find no node
	for _, p := range k.pods {
		k.start(t, p, settings(p))
	}
	for _, p := range k.pods {
		harness.Eventually(t, p.name+" to be ready", patience, k.alive(t, p.ready()))
	}
}

func (p *pod) component() string { return p.Labels["app.kubernetes.io/component"] }

// ports chooses a port for each that the container has, and for those on its loopback.
func ports(t *testing.T, p *corev1.Pod) map[int32]string {
	t.Helper()
	numbers := []int32{}
	for _, port := range p.Spec.Containers[0].Ports {
		numbers = append(numbers, port.ContainerPort)
	}
	if p.Labels["app.kubernetes.io/component"] == "kerf" {
		numbers = append(numbers, plannerPort, actuatorPort, watcherPort)
	}
	if len(numbers) == 0 {
		return nil
	}
	free, err := proc.Ports(len(numbers))
	if err != nil {
		t.Fatal(err)
	}
	at := map[int32]string{}
	for i, number := range numbers {
		at[number] = fmt.Sprintf("127.0.0.1:%d", free[i])
	}
	return at
}

// of are the pods of a component.
func (k *kubelet) of(component string) []*pod {
	return slices.DeleteFunc(slices.Clone(k.pods), func(p *pod) bool { return p.component() != component })
}

// serving are the pods that listen on the port.
func (k *kubelet) serving(port int32) []*pod {
	return slices.DeleteFunc(slices.Clone(k.pods), func(p *pod) bool { return p.at[port] == "" })
}

// named is the pod of that name, such as planner-0.
func (k *kubelet) named(name string) *pod {
	return k.pods[slices.IndexFunc(k.pods, func(p *pod) bool { return p.name == name })]
}

func (k *kubelet) start(t *testing.T, p *pod, settings []string) {
	t.Helper()
	c := &p.Spec.Containers[0]
	program, _, _ := strings.Cut(c.Image, ":")
	if len(c.Command) > 0 {
		program = c.Command[0]
	}
	path := filepath.Join(k.bin, filepath.Base(programs[program]))
	if program == "etcd" {
		set, err := assets.Find(root(t))
		if err != nil {
			t.Fatal(err)
		}
		path = set.Path(assets.Etcd)
	}
	env := k.environment(t, p)
	here := k.mount(t, p)
	var args []string
	for _, arg := range c.Args {
		arg = os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(arg), func(name string) string { return env[name] })
		args = append(args, here.Replace(arg))
	}
	if p.token = k.token(t, p); p.token != "" {
		env["KUBECONFIG"] = p.token
		if n := slices.Index(args, "-in-cluster"); n >= 0 {
			args[n] = "-kubeconfig=" + p.token
		}
	}
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	var err error
	if p.proc, err = proc.Start(proc.Spec{
		Name: p.name, Path: path, Args: append(args, settings...), Env: list, Log: filepath.Join(k.dir, p.name+".log"),
	}); err != nil {
		t.Fatal(err)
	}
}

func (k *kubelet) environment(t *testing.T, p *pod) map[string]string {
	t.Helper()
	c := &p.Spec.Containers[0]
	env := map[string]string{}
	maps.Copy(env, k.injected[p.Spec.ServiceAccountName])
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if e.ValueFrom == nil {
			continue
		}
		switch from := e.ValueFrom; {
		case from.ConfigMapKeyRef != nil:
			settings, err := k.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), from.ConfigMapKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			env[e.Name] = settings.Data[from.ConfigMapKeyRef.Key]
		case from.ResourceFieldRef != nil:
			env[e.Name] = fmt.Sprint(c.Resources.Limits.Memory().Value())
		case from.FieldRef.FieldPath == "status.podIP":
			env[e.Name] = "127.0.0.1"
		default:
			env[e.Name] = p.Name
		}
	}
	return env
}

// mount makes a folder for each volume, and returns what puts folders and addresses of this machine in the place of a
// pod's.
func (k *kubelet) mount(t *testing.T, p *pod) *strings.Replacer {
	t.Helper()
	pairs := k.addresses(p)
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		pairs = append(pairs, m.MountPath+"/", k.folder(p, m.Name)+"/")
	}
	here := strings.NewReplacer(pairs...)
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		files := map[string][]byte{}
		switch {
		case v.ConfigMap != nil:
			config, err := k.client.CoreV1().ConfigMaps(namespace).Get(t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range config.Data {
				files[name] = []byte(here.Replace(text))
			}
		case v.Secret != nil:
			files = k.secret(t, v.Secret.SecretName)
		}
		k.put(t, k.folder(p, v.Name), files)
	}
	return here
}

func (k *kubelet) folder(p *pod, volume string) string {
	return filepath.Join(k.dir, "mounts", p.name, volume)
}

func (k *kubelet) secret(t *testing.T, name string) map[string][]byte {
	t.Helper()
	secret, err := k.client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// put makes the folder have these files, all at once, as a kubelet does: by a link to another folder.
func (k *kubelet) put(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	k.mounted++
	version := fmt.Sprintf("%s.%d", folder, k.mounted)
	if err := os.MkdirAll(version, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(version, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(version, version+".link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(version+".link", folder); err != nil {
		t.Fatal(err)
	}
}

// refresh brings Secrets that have changed to all pods.
func (k *kubelet) refresh(t *testing.T) {
	t.Helper()
	for _, p := range k.pods {
		for i := range p.Spec.Volumes {
			if v := &p.Spec.Volumes[i]; v.Secret != nil {
				k.put(t, k.folder(p, v.Name), k.secret(t, v.Secret.SecretName))
			}
		}
	}
}

// addresses are pairs of a pod's addresses and this machine's, as they are written in configs and arguments.
func (k *kubelet) addresses(p *pod) []string {
	var pairs []string
	for port, at := range p.at {
		_, number, _ := strings.Cut(at, ":")
		pairs = append(pairs, fmt.Sprintf("0.0.0.0:%d", port), at, fmt.Sprintf(`":%d"`, port), fmt.Sprintf("%q", at),
			fmt.Sprintf("=:%d", port), "="+at, fmt.Sprintf("]:%d", port), "]:"+number)
	}
	for _, other := range k.pods {
		for port, at := range other.at {
			switch other.component() {
			case "etcd":
				pairs = append(pairs, fmt.Sprintf("%s.kerf-etcd:%d", other.Name, port), at)
			case "awssim":
				pairs = append(pairs, fmt.Sprintf("kerf-awssim:%d", port), at)
			}
		}
	}
	if planners := k.of("planner"); len(planners) > 0 { // each watcher has another first, as by DNS
		pairs = append(pairs, "dns:///kerf-planner:7400", planners[int(p.name[len(p.name)-1]-'0')%len(planners)].at[plannerPort])
	}
	var actuators []string
	for _, other := range k.of("actuator") {
		actuators = append(actuators, fmt.Sprintf("%q", other.at[actuatorPort]))
	}
	return append(pairs, `"dns:///kerf-actuator:7500"`, strings.Join(actuators, ", "))
}

// token is a kubeconfig with which a process is the pod's service account, and nothing else; "" where the pod mounts no
// token.
func (k *kubelet) token(t *testing.T, p *pod) string {
	t.Helper()
	if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Projected != nil }) {
		return ""
	}
	token, _ := kubectl(t, k.cluster, "create", "token", p.Spec.ServiceAccountName, "-n", namespace, "--bound-object-kind=Pod", "--bound-object-name="+p.Name)
	return k.kubeconfig(t, p.name, strings.TrimSpace(token))
}

func (k *kubelet) kubeconfig(t *testing.T, name, token string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(k.cluster.Kubeconfig(harness.Admin))
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos = map[string]*api.AuthInfo{name: {Token: token}}
	config.Contexts[config.CurrentContext].AuthInfo = name
	file := filepath.Join(k.dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// ready is done when the pod's readiness probe succeeds.
func (p *pod) ready() harness.Check {
	probe := p.Spec.Containers[0].ReadinessProbe
	switch {
	case probe == nil:
		return func(context.Context) (string, bool) { return "", true }
	case probe.HTTPGet != nil:
		for _, port := range p.Spec.Containers[0].Ports {
			if port.Name == probe.HTTPGet.Port.StrVal {
				return harness.Answers("http://" + p.at[port.ContainerPort] + probe.HTTPGet.Path)
			}
		}
	}
	request := &healthv1.HealthCheckRequest{}
	if service := probe.GRPC.Service; service != nil {
		request.Service = *service
	}
	return func(ctx context.Context) (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		conn, err := grpc.NewClient(p.at[probe.GRPC.Port], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err.Error(), false
		}
		defer conn.Close() //nolint:errcheck // it was only asked
		resp, err := healthv1.NewHealthClient(conn).Check(ctx, request)
		return fmt.Sprint(resp.GetStatus(), err), resp.GetStatus() == healthv1.HealthCheckResponse_SERVING
	}
}

// alive is a check that ends the test when a process has ended.
func (k *kubelet) alive(t *testing.T, check harness.Check) harness.Check {
	t.Helper()
	return func(ctx context.Context) (string, bool) {
		for _, p := range k.pods {
			if !p.proc.Running() {
				t.Fatalf("%s has ended: %v", p.name, p.proc.Err())
			}
		}
		return check(ctx)
	}
}

// log is what a pod has said so far.
func (p *pod) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.proc.Log())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stop ends all processes, those first that depend on others.
func (k *kubelet) stop(t *testing.T) {
	t.Helper()
	for _, p := range slices.Backward(k.pods) {
		if p.proc == nil {
			continue
		}
		if err := p.proc.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("--- %s\n%s", p.name, strings.Join(p.proc.Tail(25), "\n"))
		}
	}
}
