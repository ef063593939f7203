package loop

import (
	"context"
	"log/slog"
	"strings"
)

// failure is what went wrong: its kind tells failures apart that are worth a line in the log each.
type failure struct{ kind, words string }

// trouble is what went wrong last with plans for pods alone, and with those for everything, until one succeeds.
type trouble struct{ pods, everything failure }

// report says once that plans fail, and once that they don't any more. Plans for everything may fail alone; what fails
// those for pods, fails them too, and is not said again.
func (l *Loop) report(ctx context.Context, r result) {
	told := &l.trouble.pods
	if r.everything {
		told = &l.trouble.everything
	}
	if r.err == nil {
		if told.kind != "" || r.everything && l.trouble.pods.kind != "" {
			l.cfg.Log.InfoContext(ctx, "plans are made and relayed again", keyEverything, r.everything)
		}
		if *told = (failure{}); r.everything {
			l.trouble.pods = failure{}
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	level := slog.LevelWarn
	if t := r.stage + " " + codeOf(r.err); t == told.kind || t == l.trouble.pods.kind {
		level = slog.LevelDebug
	} else {
		*told = failure{t, r.stage + ": " + innermost(r.err)}
	}
	l.cfg.Log.Log(ctx, level, "cycle failed; trying again, nothing is lost", "stage", r.stage, keyRevision, r.revision,
		keyEverything, r.everything, keyPods, r.pods,
		"planner", l.cfg.PlannerAddress, "actuators", l.cfg.ActuatorAddresses, keyError, r.err)
}

// innermost is an error for people, without what gRPC puts around it.
func innermost(err error) string {
	const mark = "desc = "
	text := err.Error()
	if i := strings.LastIndex(text, mark); i >= 0 {
		return strings.Trim(text[i+len(mark):], `"`)
	}
	return text
}

// maxTrouble bounds what tools are told of an error, in bytes.
const maxTrouble = 500

// admit says what is in the way of plans when that is another than before.
func (l *Loop) admit() {
	now := l.inTheWay()
	now = strings.ToValidUTF8(now[:min(len(now), maxTrouble)], "")
	if now == l.told {
		return
	}
	l.told = now
	l.cfg.Trouble(now)
}

// inTheWay is what keeps plans from being made or carried out. Where another watcher drives, that one knows.
func (l *Loop) inTheWay() string {
	switch {
	case l.paused != "":
		return l.paused
	case !l.led:
		return "no actuator leads that the watcher can reach (" + strings.Join(l.cfg.ActuatorAddresses, ", ") + ")"
	case !l.driver:
		return ""
	case l.trouble.pods.kind != "":
		return l.trouble.pods.words
	case l.trouble.everything.kind != "":
		return "no node is removed; " + l.trouble.everything.words
	}
	return ""
}
