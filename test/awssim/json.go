package awssim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// jsonAction handles one call of a JSON service. It takes Sim.mu itself.
type jsonAction struct {
	name    string // service:Action
	version string // 1.0 or 1.1
	do      func(ctx context.Context, body []byte) (any, error)
}

type jsonCall struct {
	target   string
	body     []byte
	tooLarge bool
}

// jsonActions are all JSON calls by their target.
func (s *Sim) jsonActions() map[string]jsonAction {
	actions := map[string]jsonAction{}
	add := func(prefix, service, version string, calls map[string]func(context.Context, []byte) (any, error)) {
		for name, do := range calls {
			actions[prefix+"."+name] = jsonAction{name: service + ":" + name, version: version, do: do}
		}
	}
	add("AmazonSQS", "sqs", "1.0", s.sqsCalls())
	add("AmazonSSM", "ssm", "1.1", map[string]func(context.Context, []byte) (any, error){"GetParameter": s.getParameter})
	add("AWSPriceListService", "pricing", "1.1", map[string]func(context.Context, []byte) (any, error){"GetProducts": s.getProducts})
	return actions
}

func (s *Sim) serveJSON(w http.ResponseWriter, r *http.Request, c jsonCall) {
	action, ok := s.json[c.target]
	if !ok {
		action = jsonAction{name: c.target, version: "1.1"}
	}
	contentType := "application/x-amz-json-" + action.version
	out, err := s.call(r.Context(), action.name, func(ctx context.Context) (any, error) {
		switch {
		case !ok:
			return nil, fail("UnknownOperationException", "The operation %s is not known.", c.target)
		case c.tooLarge:
			return nil, fail("RequestEntityTooLarge", "The request is larger than %d bytes.", s.cfg.MaxBodyBytes)
		}
		if err := signed(r); err != nil {
			return nil, err
		}
		return action.do(ctx, c.body)
	})
	if err != nil {
		if code := queryCode(action.name, err); code != "" {
			w.Header().Set("X-Amzn-Query-Error", code+";Sender")
		}
		writeJSONError(w, contentType, err)
		return
	}
	writeJSON(w, contentType, http.StatusOK, out)
}

// queryCode is what SQS calls an error since before it spoke JSON, and tells clients in a header; "" where it is the same.
func queryCode(action string, err error) string {
	if strings.HasPrefix(action, "sqs:") && asAPIError(err).code == "QueueDoesNotExist" {
		return "AWS.SimpleQueueService.NonExistentQueue"
	}
	return ""
}

// decode reads a JSON request strictly: a member that no one understands is an error.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fail("SerializationException", "%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fail("SerializationException", "more than one JSON value")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, contentType string, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		writeJSONError(w, contentType, err)
		return
	}
	send(w, contentType, status, b)
}

func writeJSONError(w http.ResponseWriter, contentType string, err error) {
	e := asAPIError(err)
	if e.code == CodeDrop {
		drop(w)
		return
	}
	w.Header().Set("X-Amzn-ErrorType", e.code)
	writeJSON(w, contentType, e.status(), map[string]string{"__type": e.code, "message": e.message})
}
