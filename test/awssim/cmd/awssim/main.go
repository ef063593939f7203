// Command awssim serves the simulated AWS on one port until it is stopped. See package awssim for what it
// simulates, and GET /_sim/state for what is going on in it.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "awssim:", err)
		os.Exit(1)
	}
}

type options struct {
	listen, cluster, kubeconfig, endpoint, serviceCIDR, version, seed string

	reservations []awssim.CapacityReservation

	launch, join, terminate, describeLag, spotWarning time.Duration
	limits, fake, inCluster, shifts                   bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("awssim", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "127.0.0.1:4577", "address to listen on; port 0 picks a free one")
	f.StringVar(&o.cluster, "cluster", "kerf-demo", "name of the EKS cluster, of its queue and in its tags")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "cluster that booted instances join as kwok nodes; empty for none")
	f.BoolVar(&o.inCluster, "in-cluster", false, "booted instances join the cluster whose pod this is")
	f.StringVar(&o.endpoint, "k8s-endpoint", "", "API endpoint that EKS reports; empty for the kubeconfig's")
	f.StringVar(&o.serviceCIDR, "service-cidr", "", "service address range that EKS reports")
	f.StringVar(&o.version, "k8s-version", "", "Kubernetes version that EKS reports, major.minor")
	f.StringVar(&o.seed, "seed", "", "mixed into all ids")
	f.DurationVar(&o.launch, "launch-latency", 2*time.Second, "from CreateFleet to running; zero means the default")
	f.DurationVar(&o.join, "join-latency", time.Second, "from running to the node's registration")
	f.DurationVar(&o.terminate, "terminate-latency", 2*time.Second, "from shutting-down to terminated; zero means the default")
	f.DurationVar(&o.describeLag, "describe-lag", 0, "how far Describe lies behind the truth")
	f.DurationVar(&o.spotWarning, "spot-warning", 2*time.Minute, "from the interruption warning to the end of the instance")
	f.BoolVar(&o.limits, "limits", false, "throttle calls like an ordinary account")
	f.BoolVar(&o.shifts, "zonal-shift", false, "the cluster is enabled for zonal shifts")
	f.BoolVar(&o.fake, "fake-clock", false, "time stands still until POST /_sim/advance")
	f.Func("reserve", "a capacity reservation or block as id,type,zone,count,kind; may be repeated", func(text string) error {
		r, err := reservation(text)
		o.reservations = append(o.reservations, r)
		return err
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, nil
}

// reservation reads id,type,zone,count,kind. A block ends a day from now.
func reservation(text string) (awssim.CapacityReservation, error) {
	part := strings.Split(text, ",")
	if len(part) != 5 || part[4] != "default" && part[4] != "block" {
		return awssim.CapacityReservation{}, fmt.Errorf("%q: want id,type,zone,count,kind, of the kind default or block", text)
	}
	n, err := strconv.ParseInt(part[3], 10, 64)
	if err != nil {
		return awssim.CapacityReservation{}, fmt.Errorf("%q: count: %w", text, err)
	}
	r := awssim.CapacityReservation{ID: part[0], InstanceType: part[1], Zone: part[2], Total: n, Available: n, Block: part[4] == "block"}
	if r.Block {
		r.End = time.Now().Add(24 * time.Hour)
	}
	return r, nil
}

func (o options) config() (awssim.Config, error) {
	c := awssim.Default(o.cluster)
	c.Endpoint, c.ServiceCIDR, c.KubernetesVersion, c.Seed = o.endpoint, o.serviceCIDR, o.version, o.seed
	c.LaunchLatency, c.JoinLatency, c.TerminateLatency = o.launch, o.join, o.terminate
	c.CapacityReservations, c.ZonalShift = o.reservations, o.shifts
	c.DescribeLag, c.SpotWarning = o.describeLag, o.spotWarning
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if o.limits {
		c.Limits = awssim.RealLimits()
	}
	if o.fake {
		c.Clock = awssim.NewFakeClock(time.Now())
	}
	switch {
	case o.inCluster:
		k8s, err := rest.InClusterConfig()
		if err != nil {
			return c, err
		}
		return c, joinCluster(&c, k8s)
	case o.kubeconfig != "":
		k8s, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return c, fmt.Errorf("kubeconfig %s: %w", o.kubeconfig, err)
		}
		return c, joinCluster(&c, k8s)
	default:
		return c, nil
	}
}

// joinCluster lets instances join the cluster, and EKS report where it is.
func joinCluster(c *awssim.Config, k8s *rest.Config) error {
	k8s.QPS, k8s.Burst = 200, 400
	client, err := kubernetes.NewForConfig(k8s)
	if err != nil {
		return fmt.Errorf("kubernetes client: %w", err)
	}
	c.Kubelet = kwok.Kubelet{Client: client}
	if c.Endpoint == "" {
		c.Endpoint = k8s.Host
	}
	if err := rest.LoadTLSFiles(k8s); err != nil {
		return fmt.Errorf("kubeconfig certificates: %w", err)
	}
	c.CertificateAuthority = base64.StdEncoding.EncodeToString(k8s.CAData)
	return nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := o.config()
	if err != nil {
		return err
	}
	s, err := awssim.Start(o.listen, c)
	if err != nil {
		return err
	}
	fmt.Printf("awssim ready at %s for cluster %s\n", s.URL, o.cluster)
	<-ctx.Done()
	return s.Close()
}
