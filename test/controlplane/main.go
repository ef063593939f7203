// Command controlplane is etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl in one binary, so that
// the Kubernetes tree is linked once. It acts as the component that it is called as (by a symlink's name, or by its first
// argument).
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "controlplane" && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append([]string{name}, os.Args[2:]...)
	}

	// A component's command is built only once it is known to be wanted: building kube-apiserver's installs a signal
	// handler, and a second one panics.
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubectl":
		run(kubectl.NewDefaultKubectlCommand())
	default:
		fmt.Fprintf(os.Stderr, "controlplane: unknown component %q; use etcd, kube-apiserver, "+
			"kube-controller-manager, kube-scheduler or kubectl\n", name)
		os.Exit(2)
	}
}

func run(cmd *cobra.Command) {
	os.Exit(cli.Run(cmd))
}
