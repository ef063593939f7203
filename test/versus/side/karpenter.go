package side

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// karpenterClass lets nodes appear LaunchDelay after their launch.
const karpenterClass = `apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata:
  name: default
spec:
  nodeRegistrationDelay: %s
---
`

// karpenter starts Karpenter's kwok provider. All that is set is what it can't know: where the API server is, the types,
// and ports that are free.
func (s *Side) karpenter(ctx context.Context, o Options) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	built, err := findKarpenter(root)
	if err != nil {
		return err
	}
	if s.Cluster, err = harness.Start(ctx, harness.Options{Dir: o.Dir}); err != nil {
		return err
	}
	s.stop = append(s.stop, s.Cluster.Stop)
	if s.Client, err = s.Cluster.Client(harness.Admin); err != nil {
		return err
	}
	if err := s.Cluster.ApplyFile(ctx, filepath.Join(built, "crds")); err != nil {
		return err
	}
	if err := s.startKarpenter(ctx, o, filepath.Join(built, karpenterProgram)); err != nil {
		return err
	}
	text, err := pool{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Capacity: []string{"on-demand"}}.yaml()
	if err != nil {
		return err
	}
	if err := s.Cluster.Apply(ctx, append(fmt.Appendf(nil, karpenterClass, LaunchDelay), text...)); err != nil {
		return err
	}
	return s.ready(ctx)
}

func (s *Side) startKarpenter(ctx context.Context, o Options, program string) error {
	types, err := o.Market.Kwok()
	if err != nil {
		return err
	}
	file := filepath.Join(o.Dir, "instance-types.json")
	if err := os.WriteFile(file, types, 0o600); err != nil {
		return err
	}
	ports, err := proc.Ports(2)
	if err != nil {
		return err
	}
	p, err := proc.Start(proc.Spec{
		Name: Karpenter, Path: program, Log: filepath.Join(o.Dir, "karpenter.log"),
		Env: []string{
			"KUBECONFIG=" + s.Cluster.Kubeconfig(harness.Admin), "INSTANCE_TYPES_FILE_PATH=" + file,
			fmt.Sprintf("METRICS_PORT=%d", ports[0]), fmt.Sprintf("HEALTH_PROBE_PORT=%d", ports[1]),
			"LEADER_ELECTION_NAMESPACE=kube-system", "SYSTEM_NAMESPACE=kube-system",
		},
	})
	if err != nil {
		return err
	}
	s.stop = append(s.stop, p.Stop)
	s.Pids[Karpenter] = p.Pid()
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1])
	answers := harness.Answers(url)
	return harness.Until(ctx, "karpenter to answer on "+url, readyTimeout, func(ctx context.Context) (string, bool) {
		if !p.Running() {
			return fmt.Sprint("it has ended: ", p.Err()), false
		}
		return answers(ctx)
	})
}
