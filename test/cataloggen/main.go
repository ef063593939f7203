// Command cataloggen makes the catalogue that is bundled with Kerf, by joining what two published packages say of each
// instance type: sizes, devices and zones from the wheel of the Python package moto, prices, bandwidth and pod
// interface limits from the source of the Go module github.com/aws/karpenter-provider-aws.
//
// It reads both as data (a zip archive of JSON; Go syntax trees), runs nothing of theirs and reaches no network.
// The same inputs give the same bytes. services/actuator/catalog/SOURCES.md says how to fetch them and run it.
//
// Start reading at run.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

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
	wheel := flags.String("moto", "", "the moto package's wheel `file`")
	module := flags.String("karpenter", "", "the karpenter-provider-aws module's `folder`")
	region := flags.String("region", "us-east-1", "the region to take zones and prices of")
	to := flags.String("o", "bundled.json.gz", "the `file` to write; gzipped if it ends in .gz")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *wheel == "" || *module == "" {
		return errors.New("flags -moto and -karpenter: want both; see SOURCES.md")
	}

	m, err := readMoto(*wheel, *region)
	if err != nil {
		return fmt.Errorf("%s: %w", *wheel, err)
	}
	k, err := readKarpenter(*module, *region)
	if err != nil {
		return fmt.Errorf("%s: %w", *module, err)
	}
	c, left, err := join(m, k, *region)
	if err != nil {
		return err
	}
	data, err := encode(c, *to)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*to, data, 0o644); err != nil { //nolint:gosec // a file of the repository, for everyone to read
		return err
	}
	fmt.Fprintf(out, "%s: %d types, %d zones, %d bytes\n", *to, len(c.Types), len(c.Zones), len(data))
	for _, l := range left {
		fmt.Fprintf(out, "left out %s: %s\n", l.name, l.why)
	}
	return nil
}

// encode returns the bytes of the file; gzip gets neither a time nor a name, so that they depend on c alone.
func encode(c *catalog.Catalog, name string) ([]byte, error) {
	var b bytes.Buffer
	if len(name) < 3 || name[len(name)-3:] != ".gz" {
		err := catalog.Write(&b, c)
		return b.Bytes(), err
	}
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := catalog.Write(z, c); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
