package awssim

import (
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error answer of an AWS service; each protocol writes it in its own shape.
type apiError struct {
	code    string
	message string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// fail makes an error answer.
func fail(code, format string, args ...any) error {
	return &apiError{code: code, message: fmt.Sprintf(format, args...)}
}

// asAPIError turns anything else into the service's internal error.
func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	return &apiError{code: "InternalError", message: err.Error()}
}

// status is the HTTP status of an error code.
func (e *apiError) status() int {
	switch e.code {
	case "RequestLimitExceeded", "Unavailable", "ServiceUnavailable", "InsufficientInstanceCapacity":
		return http.StatusServiceUnavailable
	case "InternalError", "InternalFailure", "ServiceFailure":
		return http.StatusInternalServerError
	case "UnauthorizedOperation", "MissingAuthenticationToken", "AccessDenied", "AccessDeniedException":
		return http.StatusForbidden
	case "AuthFailure":
		return http.StatusUnauthorized
	case "NoSuchEntity", "ResourceNotFoundException":
		return http.StatusNotFound
	case "EntityAlreadyExists", "DeleteConflict", "LimitExceeded":
		return http.StatusConflict
	case "DryRunOperation":
		return http.StatusPreconditionFailed
	case "RequestEntityTooLarge":
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func dryRun() error {
	return fail("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
}
