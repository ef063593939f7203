package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/test/harness/assets"
)

// programs are the packages behind the images' commands; etcd is none of ours.
var programs = map[string]string{
	"kerf-planner": "./services/planner/cmd/planner", "kerf-watcher": "./services/watcher/cmd/watcher",
	"kerf-actuator": "./services/actuator/cmd/actuator", "kerf": "./services/kerf/cmd/kerf", "kerf-up": "./services/kerf/cmd/kerf-up",
	"kerf-awssim": "./test/awssim/cmd/awssim",
}

// TestEachServiceTakesItsConfig gives each program the config and the arguments that an overlay gives its container,
// and has it check them as strictly as it does when it starts.
func TestEachServiceTakesItsConfig(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	bin := build(t)
	checked := map[string]bool{}
	for _, name := range overlays(t) {
		t.Run(name, func(t *testing.T) {
			o := render(t, c, name)
			for _, w := range o.workloads(t) {
				for i := range w.template.Spec.Containers {
					program := check(t, bin, o, w, &w.template.Spec.Containers[i])
					checked[program] = true
				}
			}
		})
	}
	for program := range programs {
		if !checked[program] {
			t.Errorf("no overlay runs %s", program)
		}
	}
}

var building sync.Mutex

// build makes the programs where e2e makes them, so that what is up to date is not built again, and returns their
// folder. $KERF_PROGRAMS is a folder that has them already, such as bin/images/programs/amd64, where make images leaves
// those of images.
func build(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("KERF_PROGRAMS"); dir != "" {
		return filepath.Join(root(t), dir)
	}
	building.Lock() // a program that is being linked cannot run
	defer building.Unlock()
	bin := filepath.Join(root(t), "bin")
	packages := slices.Sorted(maps.Values(programs))
	if err := assets.Programs(t.Context(), root(t), bin, os.Stderr, packages...); err != nil {
		t.Fatal(err)
	}
	return bin
}

func check(t *testing.T, bin string, o overlay, w workload, container *corev1.Container) string {
	t.Helper()
	image, _, _ := strings.Cut(container.Image, ":")
	program := image
	if len(container.Command) > 0 {
		program = container.Command[0]
	}
	path, ok := programs[program]
	if !ok {
		if image != "quay.io/coreos/etcd" {
			t.Errorf("%s runs %s, which no test knows", w.name, image)
		}
		return program
	}
	args := arguments(t, o, w, container)
	switch program {
	case "kerf", "kerf-awssim":
		args = append(args, "--help") // the flags before it are read
	default:
		args = append(args, "-check-config")
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, filepath.Base(path)), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", program, args, err, out)
	}
	return program
}

// arguments are the container's, with its environment put in, and with the mounted config in a folder of the test's.
func arguments(t *testing.T, o overlay, w workload, container *corev1.Container) []string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range w.template.Spec.Volumes {
		if v.ConfigMap == nil {
			continue
		}
		for file, text := range o.configMap(t, v.ConfigMap.Name) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	env := environment(t, o, container)
	args := make([]string, len(container.Args))
	for i, arg := range container.Args {
		args[i] = os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(arg), func(name string) string {
			value, ok := env[name]
			if !ok {
				t.Errorf("%s: %s uses %s, which its environment has not", w.name, arg, name)
			}
			return value
		})
		args[i] = strings.ReplaceAll(args[i], "/etc/kerf/config", dir)
	}
	return args
}

func environment(t *testing.T, o overlay, container *corev1.Container) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			value, ok := o.configMap(t, ref.Name)[ref.Key]
			if !ok && (ref.Optional == nil || !*ref.Optional) {
				t.Errorf("%s: ConfigMap %s has no %s", e.Name, ref.Name, ref.Key)
			}
			env[e.Name] = value
		}
		if ref := e.ValueFrom.FieldRef; ref != nil && ref.FieldPath == "status.podIP" {
			env[e.Name] = "10.0.0.7"
		}
	}
	if env["KERF_CLUSTER"] == "" { // what users must set
		env["KERF_CLUSTER"] = "test"
	}
	return env
}
