// Program conformance holds Kerf's side of AWS, and the AWS that tests have, against what others say of AWS.
//
// It runs the suite of the cloud port on awssim and on moto's server, checks what the adapter sends and awssim answers
// against the service models of botocore, the table of error codes against those too, and the bundled catalogue against
// the adapter's own reading of what moto has of EC2's DescribeInstanceTypes. What differs on purpose is named with its
// reason in known.go; what is named there and differs no longer is a failure too. It needs python3 and the network,
// once.
//
// Start reading at run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/kerf-dev/kerf/test/conformance/botocore"
	"github.com/kerf-dev/kerf/test/conformance/moto"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &report{out: os.Stdout}
	if err := run(ctx, r); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	if r.failed > 0 {
		fmt.Fprintf(os.Stderr, "\nconformance: %d failures. What differs on purpose belongs into test/conformance/known.go, with its reason.\n", r.failed)
		os.Exit(1)
	}
}

func run(ctx context.Context, r *report) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} { // neither AWS checks them
		if err := os.Setenv(name, "test"); err != nil {
			return err
		}
	}
	env, err := python(ctx, root, os.Stderr)
	if err != nil {
		return err
	}
	models, err := botocore.Read(env.data)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kerf-conformance-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // its files are only of this run

	ran, err := goTest(ctx, root, []string{"KERF_WIRE=" + dir}, "-short", "./test/e2e")
	if err != nil {
		return err
	}
	const suite = "TestTheAdapterOfAWSKeepsTheContractOfThePort"
	r.suite("suite on awssim", ran, suite, nil)
	for _, name := range sortedKeys(ran) {
		if ran[name] == "fail" && !strings.HasPrefix(name, suite) {
			r.fail("%s of test/e2e fails, so that less is recorded", name)
		}
	}
	calls, err := r.wire(models, dir)
	if err != nil {
		return err
	}
	if err := r.errors(ctx, models, calls, root, env.data); err != nil {
		return err
	}
	return r.moto(ctx, root, env)
}

// moto runs what needs its server.
func (r *report) moto(ctx context.Context, root string, env pythonEnv) error {
	log, err := os.Create(filepath.Join(env.dir, "server.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // it is for reading when something fails
	server, err := moto.Start(ctx, env.python, log)
	if err != nil {
		return fmt.Errorf("%w; it says why in %s", err, log.Name())
	}
	defer server.Close()
	ran, err := goTest(ctx, root, []string{"KERF_MOTO=" + server.URL}, "./test/conformance/moto")
	if err != nil {
		return err
	}
	r.suite("suite on moto", ran, "TestTheAdapterOfAWSOnMoto", motoCannot())
	return r.types(ctx, server.URL)
}

// report prints the table, a part at a time, and counts what failed.
type report struct {
	out    io.Writer
	failed int
}

func (r *report) row(part, format string, args ...any) {
	fmt.Fprintf(r.out, "%-16s %s\n", part, fmt.Sprintf(format, args...))
}

func (r *report) note(format string, args ...any) { r.row("", "  "+format, args...) }

func (r *report) fail(format string, args ...any) {
	r.failed++
	r.note("FAILED: "+format, args...)
}

// suite tells what became of a test's cases. All pass but those that are known to fail, and those fail.
func (r *report) suite(part string, ran map[string]string, test string, known map[string]string) {
	cases, passed := map[string]string{}, 0
	for name, outcome := range ran {
		if title, ok := strings.CutPrefix(name, test+"/"); ok {
			cases[strings.ReplaceAll(title, "_", " ")] = outcome
		}
	}
	for _, outcome := range cases {
		if outcome == "pass" {
			passed++
		}
	}
	r.row(part, "%d of %d cases pass", passed, len(cases))
	for _, title := range sortedKeys(cases) {
		reason, expected := known[title]
		switch pass := cases[title] == "pass"; {
		case pass && expected:
			r.fail("%s: it passes, and known.go has it fail: %s", title, reason)
		case expected:
			r.note("%s: %s", title, reason)
		case !pass:
			r.fail("%s: go test -run %s tells more", title, test)
		}
	}
	for _, title := range sortedKeys(known) {
		if cases[title] == "" {
			r.fail("%s: known.go names it, and there is no such case", title)
		}
	}
	if len(cases) == 0 {
		r.fail("%s did not run", test)
	}
}
