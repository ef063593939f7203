package facts

import (
	"fmt"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Violation is one broken rule.
type Violation struct {
	// Subject is the part of the plan that breaks it, for example "claim c-1" or "placement of pod shop/web-0".
	Subject string
	// Problem says how.
	Problem string
	// Disruption is the decision that breaks the rule, where it is one; without it the rest of the plan might stand.
	Disruption model.DisruptionID
}

// String is the violation on one line.
func (v Violation) String() string { return v.Subject + ": " + v.Problem }

// Join puts violations on one line, the first few of them.
func Join(vs []Violation) string {
	const most = 5
	texts := make([]string, 0, most+1)
	for i, v := range vs {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(vs)-most))
			break
		}
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "; ")
}

// Report collects violations in the order in which they are found. The zero Report is empty.
type Report struct {
	Found []Violation
	// blamed is the disruption that what is found now is due to; "" when it is none.
	blamed model.DisruptionID
}

// Fail notes a violation.
func (r *Report) Fail(subject, format string, args ...any) {
	r.Found = append(r.Found, Violation{Subject: subject, Problem: fmt.Sprintf(format, args...), Disruption: r.blamed})
}

// Blame runs a check whose violations are due to a disruption.
func (r *Report) Blame(id model.DisruptionID, check func()) {
	before := r.blamed
	r.blamed = id
	check()
	r.blamed = before
}
