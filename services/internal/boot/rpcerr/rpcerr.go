// Package rpcerr is the one error type that crosses Kerf's RPCs: a gRPC code and
// a stable reason for machines, a message for people, and google.rpc details
// (ErrorInfo, BadRequest, RetryInfo). It comes out of From on the client as it
// went in on the server; context that Go code wrapped around it before it
// crossed is kept as text in the message only. It must never know what a reason
// means. Start reading at Error.
package rpcerr

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// Domain is the ErrorInfo domain of every error made here.
	Domain = "kerf.dev"
	// ReasonInvalid: the request is wrong in the fields that it names.
	ReasonInvalid = "INVALID_REQUEST"
	// ReasonNotLeader: another replica must be asked; see Error.Leader.
	ReasonNotLeader = "NOT_LEADER"

	leaderKey     = "leader"
	maxViolations = 50 // details travel in trailers, which are small
)

// Violation is one wrong field of a request.
type Violation struct {
	Field   string // path in the request, such as "snapshot.nodes[3].name"
	Problem string // what is wrong and what would be right
}

// Error is an error with a gRPC status. Return it (wrapped or not) from a
// handler. A zero Code counts as Unknown.
type Error struct {
	Code       codes.Code
	Reason     string // UPPER_SNAKE_CASE; part of the contract
	Message    string
	Metadata   map[string]string // facts that a machine may act on
	Violations []Violation       // at most 50 travel
	RetryAfter time.Duration     // zero: no advice
}

// Invalid says which fields of a request are wrong.
func Invalid(violations ...Violation) *Error {
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.Field + ": " + v.Problem
	}
	return &Error{
		Code:       codes.InvalidArgument,
		Reason:     ReasonInvalid,
		Message:    "invalid request: " + strings.Join(texts[:min(len(texts), maxViolations)], "; "),
		Violations: violations,
	}
}

// NotLeader sends the caller to the leader, an address to dial, or empty while
// there is none. Its code is FAILED_PRECONDITION and not UNAVAILABLE, because
// trying the same replica again does not help.
func NotLeader(leader string) *Error {
	e := &Error{Code: codes.FailedPrecondition, Reason: ReasonNotLeader, Message: "not the leader"}
	if leader == "" {
		e.Message += "; there is none at the moment"
		return e
	}
	e.Message += "; ask " + leader
	e.Metadata = map[string]string{leaderKey: leader}
	return e
}

// New makes an Error with a formatted message.
func New(code codes.Code, reason, format string, args ...any) *Error {
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Leader returns the address that NotLeader named.
func (e *Error) Leader() (string, bool) {
	leader, ok := e.Metadata[leaderKey]
	return leader, ok && e.Reason == ReasonNotLeader
}

// GRPCStatus is how the gRPC library finds code and details.
func (e *Error) GRPCStatus() *status.Status {
	code := e.Code
	if code == codes.OK {
		code = codes.Unknown
	}
	st := status.New(code, e.Message)
	withDetails, err := st.WithDetails(e.details()...)
	if err != nil { // a string in a detail is not UTF-8; the code still counts
		return st
	}
	return withDetails
}

func (e *Error) details() []protoadapt.MessageV1 {
	var out []protoadapt.MessageV1
	if e.Reason != "" {
		out = append(out, &errdetails.ErrorInfo{Reason: e.Reason, Domain: Domain, Metadata: e.Metadata})
	}
	if len(e.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range e.Violations[:min(len(e.Violations), maxViolations)] {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Problem})
		}
		out = append(out, bad)
	}
	if e.RetryAfter > 0 {
		out = append(out, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return out
}

// From reads back what a call returned: an Error of this process, or a gRPC
// status, whose ErrorInfo counts only in our Domain. It is false for nil and for
// errors that carry no status.
func From(err error) (*Error, bool) {
	if err == nil {
		return nil, false
	}
	st, ok := status.FromError(err)
	if !ok || st.Code() == codes.OK {
		return nil, false
	}
	e := &Error{Code: st.Code(), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain {
				e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Violations = append(e.Violations, Violation{Field: v.GetField(), Problem: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return e, true
}

// Reason returns the reason of err, or "" where it has none.
func Reason(err error) string {
	e, ok := From(err)
	if !ok {
		return ""
	}
	return e.Reason
}
