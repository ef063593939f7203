package rules

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// longestLead is how long before its expiry a node is replaced at the earliest. A short life leaves less: its last tenth.
const longestLead = time.Hour

// Expired says that a claim is as old as it may become: it goes whatever budgets say.
func Expired(c *model.Claim, now time.Time) (model.Reason, time.Time) {
	switch {
	case c.ExpireTime.IsZero():
		return model.Reason{}, time.Time{}
	case now.Before(c.ExpireTime):
		return model.Reason{}, c.ExpireTime
	}
	return expiry("it was to live until %s", c), time.Time{}
}

// ForcedByAge says that a claim's node goes whatever its pods say: it is too old, and its termination grace period
// bounds the drain, so that pods can't hold it up for ever.
func ForcedByAge(c *model.Claim, now time.Time) bool {
	expired, _ := Expired(c, now)
	return !expired.OK() && c.TerminationGracePeriod != nil
}

// Expiring says that a claim has expired, or is about to: then it is replaced in time, by the rules of what could wait.
func Expiring(c *model.Claim, now time.Time) (model.Reason, time.Time) {
	if r, until := Expired(c, now); !r.OK() || until.IsZero() {
		return r, until
	}
	lead := time.Duration(0)
	if !c.CreateTime.IsZero() {
		lead = max(0, min(longestLead, c.ExpireTime.Sub(c.CreateTime)/10))
	}
	if soon := c.ExpireTime.Add(-lead); now.Before(soon) {
		return model.Reason{}, soon
	}
	return expiry("it is to live until %s, and is replaced in time", c), c.ExpireTime
}

func expiry(format string, c *model.Claim) model.Reason {
	return model.Reason{Code: model.CodeExpired, Message: fmt.Sprintf(format, c.ExpireTime.UTC().Format("2006-01-02 15:04:05"))}
}
