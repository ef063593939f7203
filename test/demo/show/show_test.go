package show_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/demo/show"
)

func TestElsewhereThanOnATerminalTheTimelineIsPlainLines(t *testing.T) {
	var out strings.Builder
	line := show.New(&out, false)
	line.Title("demo", "all of it")
	line.Fact("aws", "simulated")
	line.Step(2, "five pods", "one node")
	line.Status("waiting")
	line.Line(show.Plan, "buy one")
	line.Line(show.Why, "cheapest")
	line.Block("a\n  b\n")
	good := show.Result{Number: 2, Title: "five pods", Took: 2500 * time.Millisecond, Nodes: 1, Pods: "5/5", PerHour: 96_000}
	bad := show.Result{Number: 3, Title: "twelve", Err: errors.New("no"), Took: time.Second, Nodes: 2, PerHour: 192_000, Note: "late"}
	line.Done(good)
	line.Done(bad)
	line.Table([]show.Result{good, bad})

	want := `demo  all of it

  aws            simulated

 2  five pods
    → one node
    +0.0s ◆ buy one
            cheapest
    a
      b
    +0.0s ✔ as expected after 2.5s   1 node · 5/5 pods run · $0.0960/h
    +0.0s ✘ not as expected after 1.0s

      step                      result seconds  nodes         $/h
   2  five pods                 ok         2.5      1     $0.0960
   3  twelve                    FAILED     1.0      2     $0.1920  late
      1 of 2 steps as expected             3.5
`
	got := regexp.MustCompile(`(?m) +$`).ReplaceAllString(out.String(), "")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
