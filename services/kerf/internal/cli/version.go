package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kerf-dev/kerf/services/internal/boot"
)

func newVersion(std IO) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print what was built, from what, with what",
		Args:  noArguments,
	}
	out := addOutput(c, "text")
	c.RunE = func(*cobra.Command, []string) error {
		v := boot.ReadVersion()
		if !out.json() {
			_, err := fmt.Fprintf(std.Out, "kerf %s\n", v)
			return err
		}
		return out.write(std.Out, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
			}{v.Version, v.Revision, v.Go})
		})
	}
	return c
}
