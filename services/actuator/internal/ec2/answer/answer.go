// Package answer reads EC2's long answers, such as the list of all instance types: the SDK's way over encoding/xml
// makes an object of every tag, and takes most of what an actuator's start costs.
//
// An answer becomes the SDK's types, filled as the SDK would. Errors, and answers that are not of EC2's plain form, are
// left to the SDK. The package must never know what answers mean. Start reading at Of; then decode.go.
package answer

import (
	"bytes"
	"context"
	"fmt"
	"io"

	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// deserializer is the SDK's name of what reads answers.
const deserializer = "OperationDeserializer"

// Of has answers read into T, the SDK's type of them. It is for calls that follow one another, such as those for the
// pages of a list, which share what it holds.
func Of[T any]() func(*sdk.Options) {
	decode := newDecoder()
	return sdk.WithAPIOptions(func(s *middleware.Stack) error {
		r := &reader[T]{decoder: decode}
		var err error
		r.sdk, err = s.Deserialize.Swap(deserializer, r)
		return err
	})
}

// reader stands in the place of the SDK's.
type reader[T any] struct {
	sdk     middleware.DeserializeMiddleware
	decoder *decoder
}

// ID implements middleware.DeserializeMiddleware.
func (*reader[T]) ID() string { return deserializer }

// HandleDeserialize implements middleware.DeserializeMiddleware.
func (r *reader[T]) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.StatusCode != 200 {
		return r.sdk.HandleDeserialize(ctx, in, told{out, metadata, err})
	}
	text, err := r.decoder.readAll(response.Body)
	if err != nil {
		smithyhttp.CloseResponseBody(ctx, response, false, err)
		return out, metadata, &smithy.DeserializationError{Err: fmt.Errorf("read the answer: %w", err)}
	}
	var result T
	if r.decoder.decode(text, &result) != nil {
		response.Body = again{bytes.NewReader(text), response.Body}
		return r.sdk.HandleDeserialize(ctx, in, told{out, metadata, nil})
	}
	smithyhttp.CloseResponseBody(ctx, response, false, nil)
	out.Result = &result
	return out, metadata, nil
}

// again is a body that was read already.
type again struct {
	io.Reader
	io.Closer
}

// told hands on what was said already.
type told struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
	err      error
}

// HandleDeserialize implements middleware.DeserializeHandler.
func (t told) HandleDeserialize(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
	return t.out, t.metadata, t.err
}
