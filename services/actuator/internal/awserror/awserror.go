// Package awserror is the table of AWS's error codes: what each of them means, and so what happens next.
//
// It decides by code, and where one code stands for several things by AWS's words too. It never retries, and knows no
// caller. Start reading at Kind, then at the table in codes.go.
package awserror

import (
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

// Kind is what an error means for the caller.
type Kind int

// The kinds of errors, and what happens next.
const (
	// Unknown: the call may have had an effect or not. What is there is looked at, and then it is tried again.
	Unknown Kind = iota
	// Capacity: there is none of the offering now. It is remembered as short, and the next one is tried.
	Capacity
	// Addresses: the subnet has no free address, or no block of them for a prefix. It is passed over for a while, and
	// offerings of its zone are remembered as short where the class has no other subnet there.
	Addresses
	// Quota: the account may have no more instances of the kind. Offerings that count towards the same quota and need no
	// less of it are remembered as short too.
	Quota
	// Market: the account can have nothing of the capacity type. All offerings that were asked for are remembered as short.
	Market
	// Throttled: too many calls. The same again, later each time.
	Throttled
	// Server: the fault is at AWS. As Unknown.
	Server
	// Later: nothing was made. The same will do in a while, with another token.
	Later
	// Profile: EC2 does not know the instance profile. For some seconds that is so of one that IAM has just made: one
	// of Kerf's is as Later, one that a user names as NotFound.
	Profile
	// Template: the launch template is not there, or not seen yet. It is made again once, and then as Later.
	Template
	// Unauthorized: the account or its rights do not allow the call. A user has to act; it is tried again meanwhile.
	Unauthorized
	// Invalid: AWS will never accept the request. Launches of the class are held, since a user has to change it.
	Invalid
	// NotFound: what the call names is not there. Whether that is as it should be is for the caller to say; a launch
	// has the class resolved again.
	NotFound
	// Exists: what was to be made is there.
	Exists
	// Mismatch: the token was used with another request. Another token is taken.
	Mismatch
)

// Code is AWS's code of an error; "" where AWS has not answered.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// Of sorts an error of a call.
func Of(err error) Kind {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return OfCode(api.ErrorCode(), api.ErrorMessage())
	}
	return Unknown
}

// OfCode sorts an error by its code and AWS's words.
func OfCode(code, words string) Kind {
	for _, e := range exceptions {
		if e.code == code && strings.Contains(words, e.words) {
			return e.kind
		}
	}
	if k, ok := codes[code]; ok {
		return k
	}
	for _, f := range families {
		if strings.HasPrefix(code, f.prefix) && strings.HasSuffix(code, f.suffix) {
			return f.kind
		}
	}
	return Unknown
}

// Protected says that somebody has forbidden what was asked of this one instance, as by its termination protection: the
// credentials are right, and would do for another.
func Protected(err error) bool { return Code(err) == "OperationNotPermitted" }

// LacksRight says that AWS knows the credentials, and that they may not do what was asked. Other errors of the kind
// Unauthorized are of credentials that are wrong, or of the account.
func LacksRight(err error) bool {
	switch Code(err) {
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException":
		return true
	default:
		return false
	}
}
