package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

func newConvert(std IO) *cobra.Command {
	var paths []string
	var options manifest.Options
	c := &cobra.Command{
		Use:   "convert -f FILE...",
		Short: "Print manifests in their present form",
		Long: `Convert reads manifests and prints them as karpenter.sh/v1 and
karpenter.k8s.aws/v1, with their defaults written out. It reads v1beta1 NodePools
and EC2NodeClasses, and Provisioners and AWSNodeTemplates. What changed its meaning
or place is reported on standard error. Give files together that belong together:
settings may move from one object to another.`,
		Example: `  kerf convert -f deploy/examples/v1beta1 > new.yaml`,
		Args:    moreFiles(&paths),
	}
	c.Flags().StringSliceVarP(&paths, "file", "f", nil, "`file` or directory of manifests; - is standard input; may be repeated")
	c.Flags().StringVar(&options.InstanceProfile, "default-instance-profile", "", "what the old setting aws.defaultInstanceProfile was: the `name` that AWSNodeTemplates without one get")
	addStrict(c, &options.Strict)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(paths) == 0 {
			return errors.New("nothing to convert: name manifests with -f; see kerf convert --help")
		}
		files, err := read(cmd.Context(), paths, std.In)
		if err != nil {
			return err
		}
		objects, warnings, err := offline.Objects(files, options)
		std.warn(warnings)
		if err != nil {
			return err
		}
		return manifest.Encode(std.Out, objects...)
	}
	return c
}

// addStrict is the flag of commands that read manifests.
func addStrict(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "strict", false, "refuse fields that are not known, and objects without required ones, instead of a warning")
}
