package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// fieldOf names the field of a policy that each flag sets.
func fieldOf() map[string]string {
	return map[string]string{
		"preferences": "preferences", "min-values": "min_values", "default-spread": "default_spread", "work": "work",
		"gap-target": "gap_target", "max-pods-of-workload-per-node": "max_pods_of_workload_per_node",
		"per-node-overhead": "per_node_overhead_micro_usd_per_hour", "min-saving": "min_saving_micro_usd_per_hour",
		"scheduler-names": "scheduler_names",
	}
}

// weigh is the policy to plan with: the file's or else the cluster's, nil where that is not known, and over it what the
// flags say.
func (p *policyFlags) weigh(ctx context.Context, stdin io.Reader, cluster *clusterpb.Policy) (*clusterpb.Policy, error) {
	base := cluster
	if p.file != "" {
		files, err := read(ctx, []string{p.file}, stdin)
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		read, err := offline.LoadPreview(files, manifest.Options{})
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		if read.Policy == nil || len(files) > 1 {
			return nil, fmt.Errorf("--policy %s: want one file with a policy, not manifests", p.file)
		}
		base = read.Policy
	}
	said, err := p.policy(ctx, stdin)
	if err != nil || base == nil {
		return said, err
	}
	return p.over(base, said), nil
}

// said says whether any of the flags was given.
func (p *policyFlags) said() bool {
	found := p.file != ""
	p.flags.Visit(func(f *pflag.Flag) { found = found || fieldOf()[f.Name] != "" })
	return found
}

// over is a policy with what flags say in the place of what it says.
func (p *policyFlags) over(base, said *clusterpb.Policy) *clusterpb.Policy {
	out := proto.CloneOf(base)
	p.flags.Visit(func(f *pflag.Flag) {
		name := fieldOf()[f.Name]
		if name == "" {
			return
		}
		from, to := said.ProtoReflect(), out.ProtoReflect()
		field := from.Descriptor().Fields().ByTextName(name)
		if from.Has(field) {
			to.Set(field, from.Get(field))
		} else {
			to.Clear(field)
		}
	})
	return out
}
