// Package cli is the kerf command line: what a user types, and what is printed to whom.
//
// It parses flags, opens what they name, and hands over: package offline reads, the planner decides, package render
// writes, package up runs the services. Nothing is decided here but exit codes. Results go to standard output and nothing
// else does; warnings and errors go to standard error. Start reading at Main, then plan.go.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/boot"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// Exit codes.
const (
	ExitOK      = 0 // done; for plan: all pods are planned for
	ExitError   = 1 // bad input, or a service can't be reached
	ExitPending = 2 // plan: some pods stay pending
	// ExitInterrupted is what shells have for a process that SIGINT ended.
	ExitInterrupted = 130
)

// IO is what the command line reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	// Getenv finds an environment variable; "" when it is not set. nil finds none.
	Getenv func(string) string
	// Now is the clock.
	Now func() time.Time
}

// System is the IO of the process.
func System() IO {
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
}

// errPending ends a command with ExitPending, after it has said everything.
var errPending = errors.New("some pods stay pending")

// Main runs the command line that args make up, until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, args []string, std IO) int {
	if std.Getenv == nil {
		std.Getenv = func(string) string { return "" }
	}
	root := newRoot(std)
	root.SetArgs(doubleDash(root, args))
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errPending):
		return ExitPending
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(std.Err, "kerf: interrupted"+whole(err))
		return ExitInterrupted
	default:
		for l := range strings.SplitSeq(message(err), "\n") {
			fmt.Fprintf(std.Err, "kerf: %s\n", page.Plain(l))
		}
		return ExitError
	}
}

// whole says of an interrupted search for advice that the plan is there.
func whole(err error) string {
	if errors.Is(err, errNoAdvice) {
		return " while looking for advice: the plan itself is whole"
	}
	return ""
}

// message is an error for people, without the wrapping that gRPC puts around what came over the wire.
func message(err error) string {
	text := err.Error()
	var remote interface {
		error
		GRPCStatus() *status.Status
	}
	if !errors.As(err, &remote) {
		// cobra writes its suggestions below one another.
		if before, like, ok := strings.Cut(strings.TrimSpace(text), "\n\nDid you mean this?\n\t"); ok {
			return before + "; did you mean " + strings.ReplaceAll(like, "\n\t", " or ") + "?"
		}
		if strings.HasPrefix(text, "unknown command") {
			text += "; see kerf --help"
		}
		return text
	}
	words := remote.GRPCStatus().Message()
	if i := strings.LastIndex(words, "desc = "); i >= 0 {
		words = words[i+len("desc = "):]
	}
	words = strings.TrimPrefix(strings.Trim(words, `"`), "transport: Error while dialing: ")
	switch {
	case remote.GRPCStatus().Code() == codes.DeadlineExceeded:
		words = "no answer in time"
	case strings.HasPrefix(words, "unknown service kerf."):
		// What is one word of a contract to gRPC is a wrong port to people.
		name, _, _ := strings.Cut(strings.TrimPrefix(words, "unknown service kerf."), ".")
		words = "another service than " + kindOf(name) + " answers there; " + usualPorts
	case strings.HasSuffix(words, "connection refused"):
		words += "; a service in a cluster is reached by kubectl port-forward -n kerf-system"
	}
	before, _, _ := strings.Cut(text, remote.Error())
	before, _, _ = strings.Cut(before, "max retries exhausted")
	return before + words
}

func newRoot(std IO) *cobra.Command {
	root := &cobra.Command{
		Use:   "kerf",
		Short: "The cheapest nodes for your pods, and the reasons why",
		Long: `Kerf buys nodes on AWS for pods that have none, and removes nodes that are
not worth their price. This program asks it what it would do, and runs it.`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.Version = boot.ReadVersion().String()
	root.SetVersionTemplate("kerf {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", flagError(c, err), c.CommandPath())
	})
	root.AddCommand(newPlan(std), newConvert(std), newClaims(std), newSnapshot(std), newShadow(std), newCerts(std), newCatalog(), newUp(), newVersion(std))
	// The library's own command prints its help for a shell that it does not know, and ends well: a profile would read
	// that.
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	helpFails(root)
	return root
}

// helpFails makes help of a command that is not there an error, as the command itself is; the library's own ends well.
func helpFails(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run = nil
		c.RunE = func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil {
				err = about.ValidateArgs(rest)
			}
			if err != nil {
				return err
			}
			if about.DisableFlagParsing { // the program that it runs knows
				return about.RunE(about, []string{"--help"})
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		}
	}
}

// noArguments refuses what follows the flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; see %s --help", args[0], c.CommandPath())
	}
	return nil
}

// flagError says what the library's error about a flag does not: which flag was meant, and what its value should be.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	switch {
	case errors.As(err, &unknown):
		var all []string
		c.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
		if question := near.Question("--"+unknown.GetSpecifiedName(), all); question != "" {
			return fmt.Errorf("%w (%s)", err, question)
		}
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		return fmt.Errorf("--%s %q: want a duration such as 30s, 10m or 24h", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid) && errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s %q: out of range", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid) && errors.As(err, &number):
		return fmt.Errorf("--%s %q: want a number", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err
}

// style is how text looks where it goes: coloured and wrapped on a terminal, plain otherwise.
func (std IO) style() page.Style {
	f, ok := std.Out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return page.Style{}
	}
	s := page.Style{Color: std.Getenv("NO_COLOR") == "" && std.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width = min(width, 140)
	}
	return s
}

// mostWarnings is how many warnings are written, so that what is wrong with one file of thousands can still be read.
const mostWarnings = 100

// warn writes warnings, a line each.
func (std IO) warn(warnings []string) {
	for _, w := range warnings[:min(len(warnings), mostWarnings)] {
		fmt.Fprintf(std.Err, "warning: %s\n", strings.ReplaceAll(page.Plain(w), "\n", `\n`))
	}
	if more := len(warnings) - mostWarnings; more > 0 {
		fmt.Fprintf(std.Err, "warning: and %d more, which -o json has\n", more)
	}
}

// complete makes the shell suggest values for a flag.
func complete(c *cobra.Command, flag string, values func() []string) {
	//nolint:errcheck // the flag is there, and has no other function
	c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// outputFlag is -o with its possible values, the first being the default.
type outputFlag struct {
	value  string
	values []string
}

const (
	outputJSON = "json"
	outputYAML = "yaml"
)

// addOutput adds -o: what people read, or else JSON or YAML.
func addOutput(c *cobra.Command, people string) *outputFlag {
	o := &outputFlag{value: people, values: []string{people, outputJSON, outputYAML}}
	c.Flags().VarP(o, "output", "o", "how to print: "+strings.Join(o.values, " or "))
	complete(c, "output", func() []string { return o.values })
	return o
}

// write writes what asJSON writes, as YAML where that is asked for: a document each time.
func (o *outputFlag) write(w io.Writer, asJSON func(io.Writer) error) error {
	if o.value != outputYAML {
		return asJSON(w)
	}
	var b bytes.Buffer
	if err := asJSON(&b); err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(b.Bytes())
	if err != nil {
		return fmt.Errorf("to YAML: %w", err)
	}
	_, err = w.Write(append([]byte("---\n"), text...))
	return err
}

// String implements pflag.Value.
func (o *outputFlag) String() string { return o.value }

// Type implements pflag.Value.
func (o *outputFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (o *outputFlag) Set(v string) error {
	if slices.Contains(o.values, v) {
		o.value = v
		return nil
	}
	return fmt.Errorf("want %s", strings.Join(o.values, " or "))
}

// json says whether programs read what is printed.
func (o *outputFlag) json() bool { return o.value == outputJSON || o.value == outputYAML }
