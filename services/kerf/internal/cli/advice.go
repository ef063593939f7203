package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	coreconvert "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// defaultAdviceTime is how long a user waits for advice who did not say.
const defaultAdviceTime = 5 * time.Second

// errNoAdvice is that the plan was made, and the search for advice ended before its time.
var errNoAdvice = errors.New("no advice")

// search is a search for advice: bounded in time, with its progress on a terminal, and over when the user interrupts it.
type search struct {
	std IO
	// over says that the user has interrupted it.
	over func() bool
	// limit is when it ends, zero for never.
	limit time.Time
	tried int
	late  bool
}

// advise looks for changes that would help. It says nothing about one object alone: changes are about the whole plan.
// warning says why not all was looked for, such as that there was no time; "" where all was.
func (p *planFlags) advise(ctx context.Context, std IO, req *plannerpb.PlanRequest, resp *plannerpb.PlanResponse) (found []advise.Advice, warning string, err error) {
	if p.advice == 0 || p.explain != "" {
		return nil, "", nil
	}
	in, err := coreconvert.Input(req.GetSnapshot(), req.GetDecide())
	if err != nil {
		return nil, "", fmt.Errorf("look for advice: %w", err)
	}
	base, err := coreconvert.ReadPlan(resp.GetPlan())
	if err != nil { // a planner that runs elsewhere may be of a newer release, and the plan itself is shown all the same
		warning = "advice was not looked for, as the plan has what this kerf does not know: " + err.Error() + "; take the kerf of the planner's release"
		return nil, warning, nil //nolint:nilerr // it is told
	}
	s := &search{std: std, over: func() bool { return ctx.Err() != nil }}
	if p.adviceTime > 0 {
		s.limit = std.Now().Add(p.adviceTime)
	}
	found, err = interruptible(ctx, func() ([]advise.Advice, error) {
		return advise.For(in, base, advise.Options{Most: p.advice, Stop: s.stop, Halt: s.halt}), nil
	})
	if err != nil {
		s.progress("")
		return nil, "", errors.Join(errNoAdvice, err)
	}
	s.progress("")
	if s.late {
		warning = fmt.Sprintf("advice was looked for until %s had passed, with %s tried: --advice-time 1m looks longer, --advice 0 not at all", p.adviceTime, page.Count(s.tried, "change"))
	}
	return found, warning, nil
}

// stop is asked before each plan.
func (s *search) stop() bool {
	if s.halt() {
		return true
	}
	s.tried++
	s.progress(fmt.Sprintf("looking for advice: change %d", s.tried))
	return false
}

// halt is asked during each plan.
func (s *search) halt() bool {
	s.late = s.late || (!s.limit.IsZero() && s.std.Now().After(s.limit))
	return s.late || s.over()
}

// progress shows one line in the place of the one before, where people watch.
func (s *search) progress(line string) {
	if f, ok := s.std.Err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !s.over() {
		fmt.Fprintf(f, "\r\x1b[K%s", line)
	}
}
