package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// doubleDash spells long flags that were written with one dash, such as -zones, the way that cobra reads them. It
// leaves alone what is no long flag of the command that the arguments name: -o json, -f, a value.
func doubleDash(root *cobra.Command, args []string) []string {
	c, _, err := root.Find(args)
	if err != nil {
		return args // cobra will say why
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "--" {
			copy(out[i:], args[i:])
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(a, "-") && c.Flags().Lookup(name) != nil {
			out[i] = "-" + a
		}
	}
	return out
}
