// Package fetch is the command `kerf catalog fetch`: it has AWS asked what a region sells, and writes that as a
// catalogue file.
//
// What is asked and what errors mean, package survey of the actuator knows. It is part of the program kerf-up, which
// has AWS's clients in it. Start reading at Main.
package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/survey"
)

const usage = `Usage: kerf catalog fetch --region REGION [-o FILE] [--no-price-list] [--endpoint URL]

Fetch asks AWS, with your credentials, what EC2 sells in a region: instance types,
zones, list prices and the present spot prices. It writes a catalogue, which
kerf plan --catalog FILE plans with, and the actuator where its config names it.
It makes nothing in AWS. Credentials and region are found as by every AWS program.

  -o FILE           where to write: catalog-REGION.json by default; a name that ends
                    in .gz is compressed; json or - is standard output
  --no-price-list   ask for no list prices, where nothing leads to AWS's price list:
                    the bundled ones stand in, marked as estimates
  --endpoint URL    ask there in place of AWS

The credentials need ec2:DescribeAvailabilityZones, ec2:DescribeInstanceTypes,
ec2:DescribeInstanceTypeOfferings, ec2:DescribeSpotPriceHistory, pricing:GetProducts.
`

// IO is what the command writes to.
type IO struct {
	Out, Err io.Writer
	Now      func() time.Time
}

// flags are the command's.
type flags struct {
	survey.Config
	output string
}

// Main runs the command. flag.ErrHelp says that help was asked for, and given.
func Main(ctx context.Context, args []string, std IO) error {
	f, err := parse(args, std)
	if err != nil {
		return err
	}
	f.Now = std.Now
	f.Say = func(text string) { fmt.Fprintln(std.Err, text) }
	c, err := survey.Region(ctx, f.Config)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := catalog.Write(&b, c); err != nil {
		return fmt.Errorf("what AWS says of %s makes no catalogue: %w", c.Region, err)
	}
	if f.output == "json" || f.output == "-" {
		_, err := std.Out.Write(b.Bytes())
		return err
	}
	if f.output == "" {
		f.output = "catalog-" + c.Region + ".json"
	}
	if err := write(f.output, b.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s: %s\n", f.output, summary(c))
	return nil
}

func parse(args []string, std IO) (f flags, err error) {
	set := flag.NewFlagSet("kerf catalog fetch", flag.ContinueOnError)
	set.Usage = func() {}
	set.StringVar(&f.Region, "region", "", "")
	set.StringVar(&f.output, "o", "", "")
	set.StringVar(&f.output, "output", "", "")
	set.StringVar(&f.Endpoint, "endpoint", "", "")
	set.BoolVar(&f.NoPriceList, "no-price-list", false, "")
	set.SetOutput(io.Discard) // the error says the same
	err = set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(std.Out, usage)
	case err != nil:
		err = fmt.Errorf("%w; see kerf catalog fetch --help", err)
	case set.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; see kerf catalog fetch --help", set.Arg(0))
	}
	return f, err
}

// summary says what is in a catalogue, and what is not.
func summary(c *catalog.Catalog) string {
	unpriced, estimated := survey.Unpriced(c)
	text := fmt.Sprintf("%d types in %d zones of %s", len(c.Types), len(c.Zones), c.Region)
	if estimated > 0 {
		text += fmt.Sprintf("; %d list prices are the bundled ones, marked as estimates", estimated)
	}
	if len(unpriced) > 0 {
		text += fmt.Sprintf("; %d without any price, which are not planned with: %s", len(unpriced), strings.Join(unpriced[:min(len(unpriced), 5)], ", "))
	}
	return text
}

// write puts the file there as a whole or not at all.
func write(name string, data []byte) (err error) {
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		data = b.Bytes()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".catalog-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
