package cli

import (
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
)

// fieldOf names the field of a policy that each flag sets.
func fieldOf() map[string]string {
	return map[string]string{
		"preferences": "preferences", "min-values": "min_values", "default-spread": "default_spread", "work": "work",
		"gap-target": "gap_target", "max-pods-of-workload-per-node": "max_pods_of_workload_per_node",
		"per-node-overhead": "per_node_overhead_micro_usd_per_hour", "min-saving": "min_saving_micro_usd_per_hour",
	}
}

// said says whether any of the flags was given.
func (p *policyFlags) said() bool {
	found := false
	p.flags.Visit(func(f *pflag.Flag) { found = found || fieldOf()[f.Name] != "" })
	return found
}

// over is a policy with what flags say in the place of what it says.
func (p *policyFlags) over(base, said *clusterv1.Policy) *clusterv1.Policy {
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
