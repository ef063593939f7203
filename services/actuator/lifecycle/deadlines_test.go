package lifecycle

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// silentBetween is a silence between two moments, in minutes, as it is known at the second.
func silentBetween(from, to float64) Silence {
	return func(since time.Time) time.Duration { return max(at(to).Sub(latest(since, at(from))), 0) }
}

func TestWhenALaunchIsGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		begun  time.Time
		waited time.Duration
		ec2    Silence
		code   model.Code
		want   time.Time
	}{
		"five minutes after it began":          {ec2: silentBetween(0, 0), want: at(5)},
		"or after its leader did":              {begun: at(3), ec2: silentBetween(0, 0), want: at(8)},
		"what waits for others is not late":    {waited: time.Minute, ec2: silentBetween(0, 0), want: at(6)},
		"nor what EC2 does not answer":         {ec2: silentBetween(2, 62), want: at(65)},
		"what was before its leader is not it": {begun: at(30), ec2: silentBetween(2, 62), want: at(67)},
		"nor what EC2 has put off":             {ec2: silentBetween(2, 3), code: model.CodeThrottled, want: at(75)},
	} {
		c := inState(model.ClaimLaunching)
		c.Failure.Code = tt.code
		if got := LaunchDeadline(&c, tt.begun, tt.waited, tt.ec2, at(70)); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestWhenAnInstanceThatIsNoNodeIsGivenUp(t *testing.T) {
	joined := func(minutes float64) *cluster.Node { return &cluster.Node{CreateTime: at(minutes)} }
	for name, tt := range map[string]struct {
		node  *cluster.Node
		begun time.Time
		api   Silence
		want  time.Time
	}{
		"a quarter of an hour after its launch":                        {api: silentBetween(0, 0), want: at(15)},
		"whatever leader there is":                                     {begun: at(10), api: silentBetween(0, 0), want: at(15)},
		"but not at once by one that has just begun":                   {begun: at(60), api: silentBetween(0, 0), want: at(63)},
		"nor by one that has not seen any node yet":                    {begun: at(60), api: silentBetween(60, 70), want: at(73)},
		"while no node can be seen it is not late":                     {api: silentBetween(10, 70), want: at(75)},
		"nor by what was before":                                       {api: silentBetween(-60, 5), want: at(20)},
		"one that has joined may be let open late":                     {node: joined(14), api: silentBetween(0, 0), want: at(29)},
		"also where that was after a silence":                          {node: joined(73), api: silentBetween(10, 70), want: at(88)},
		"with what the API server is silent then":                      {node: joined(14), api: silentBetween(20, 30), want: at(39)},
		"one that joins late, or is made again and again, is given up": {node: joined(16), api: silentBetween(0, 0), want: at(15)},
		"one that waited for a leader has the time again":              {node: joined(16), begun: at(60), api: silentBetween(0, 0), want: at(75)},
	} {
		c := inState(model.ClaimLaunched)
		if got := RegistrationDeadline(&c, tt.node, tt.begun, tt.api); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestWhenANodeThatIsNotInitializedIsGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		begun time.Time
		api   Silence
		want  time.Time
	}{
		"after its time":                           {api: silentBetween(0, 0), want: at(30)},
		"whatever leader there is":                 {begun: at(20), api: silentBetween(0, 0), want: at(30)},
		"while no node can be seen it is not late": {api: silentBetween(10, 70), want: at(90)},
		"nor at once by a leader that has begun":   {begun: at(60), api: silentBetween(0, 0), want: at(63)},
	} {
		c := inState(model.ClaimRegistered)
		if got := InitializationDeadline(&c, InitializationTimeout, tt.begun, tt.api); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
