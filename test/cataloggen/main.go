// Command cataloggen makes the catalogues of all regions that are bundled with Kerf, by joining what three published
// packages say of each instance type: sizes, devices and zones from the wheel of the Python package moto; list prices
// of some regions, bandwidth and pod interface limits from the source of the Go module
// github.com/aws/karpenter-provider-aws; list prices of all regions, what spot saves and how often it is taken back
// from the Go module github.com/cristim/ec2-instances-info.
//
// It reads them as data (a zip archive of JSON; Go syntax trees; JSON) and runs nothing of theirs. Those that no flag names
// are downloaded with pip and go, in the versions that fetch.go names. The same inputs give the same bytes.
//
// Start reading at run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cataloggen:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cataloggen", flag.ContinueOnError)
	from := inputs{}
	flags.StringVar(&from.wheel, "moto", "", "the moto package's wheel `file`; empty downloads it")
	flags.StringVar(&from.karpenter, "karpenter", "", "the karpenter-provider-aws module's `folder`; empty downloads it")
	flags.StringVar(&from.instances, "instances", "", "the ec2-instances-info module's `folder`; empty downloads it")
	to := flags.String("o", "bundled", "the `folder` to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	clean, err := from.fetch()
	defer clean()
	if err != nil {
		return err
	}
	s, err := from.read()
	if err != nil {
		return err
	}
	var all []*catalog.Catalog
	for _, region := range s.regions() {
		c, left, err := s.join(region)
		if err != nil {
			return fmt.Errorf("region %s: %w", region, err)
		}
		all = append(all, c)
		fmt.Fprintln(out, summary(c, left))
	}
	files, err := catalog.Pack(all)
	if err != nil {
		return err
	}
	size := 0
	for name, data := range files {
		size += len(data)
		if err := os.WriteFile(filepath.Join(*to, name), data, 0o644); err != nil { //nolint:gosec // a file of the repository, for everyone to read
			return err
		}
	}
	fmt.Fprintf(out, "%d regions, %d bytes\n", len(all), size)
	return nil
}

// summary is a line about a region.
func summary(c *catalog.Catalog, left []omission) string {
	estimated, saves := 0, 0
	for _, t := range c.Types {
		if t.PriceEstimated {
			estimated++
		}
		if t.SpotSavesPercent > 0 {
			saves++
		}
	}
	why := map[string]int{}
	for _, l := range left {
		why[l.why]++
	}
	return fmt.Sprintf("%s: %d types, %d zones; %d prices estimated, %d with what spot saves; left out: %v",
		c.Region, len(c.Types), len(c.Zones), estimated, saves, why)
}
