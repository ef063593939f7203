package awssim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Server is a Sim that listens.
type Server struct {
	*Sim
	// URL is the base endpoint for all clients, without a slash at the end.
	URL string

	http *http.Server
	done chan error
}

// Start builds a Sim and serves it on addr, such as 127.0.0.1:0. It starts one goroutine; Close ends it.
func Start(addr string, cfg Config) (*Server, error) {
	sim, err := New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("awssim: %w", err)
	}
	s := &Server{
		Sim: sim, URL: "http://" + l.Addr().String(), done: make(chan error, 1),
		http: &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Close stops listening, ends open requests and closes the Sim.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.Sim.Close()
	return err
}

// ServeHTTP tells the services apart by their protocols: a target header means JSON, a form means Query, a path below
// /clusters means EKS, one below /managedresources ARC, and /_sim/ is the simulator's own.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes))
	tooLarge := err != nil
	target := r.Header.Get("X-Amz-Target")
	if s.cfg.Record != nil && !strings.HasPrefix(r.URL.Path, "/_sim/") {
		kept := &keptAnswer{ResponseWriter: w, Exchange: Exchange{Method: r.Method, Path: r.URL.EscapedPath(), Target: target, Request: body}}
		defer func() { s.cfg.Record(kept.Exchange) }()
		w = kept
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/_sim/"):
		s.serveAdmin(w, r, body)
	case target != "":
		s.serveJSON(w, r, jsonCall{target: target, body: body, tooLarge: tooLarge})
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/clusters"):
		s.serveEKS(w, r)
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/managedresources/"):
		s.serveShifts(w, r)
	case r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		values, err := url.ParseQuery(string(body))
		s.serveQuery(w, r, queryCall{values: values, malformed: err != nil, tooLarge: tooLarge})
	default:
		writeJSONError(w, "application/x-amz-json-1.1", fail("UnknownOperationException", "%s %s belongs to no service here", r.Method, r.URL.Path))
	}
}

// keptAnswer keeps what is written.
type keptAnswer struct {
	http.ResponseWriter
	Exchange
}

// WriteHeader keeps the status.
func (k *keptAnswer) WriteHeader(status int) {
	k.Status = status
	k.ResponseWriter.WriteHeader(status)
}

// Write keeps the answer.
func (k *keptAnswer) Write(b []byte) (int, error) {
	k.Answer = append(k.Answer, b...)
	return k.ResponseWriter.Write(b)
}

// Unwrap leads to what a connection is dropped by.
func (k *keptAnswer) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// signed refuses requests that no SDK would send. The signature itself is not checked: there are no secrets here.
func signed(r *http.Request) error {
	auth := r.Header.Get("Authorization")
	if auth == "" {
		return fail("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	if !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=") {
		return fail("AuthFailure", "AWS was not able to validate the provided access credentials")
	}
	return nil
}

// largeAnswer is what a client's transport surely has not buffered whole when it returns the response.
const largeAnswer = 2048

// send writes an answer. A large one waits a moment first: the SDK closes the request's body as soon as the response
// begins, and when the transport's writer has not yet looked for the body's end by then, it takes that for a failed
// write and closes the connection under the response. No network is as fast as loopback, so only here it happens; the
// SDK's standard retries cover what is left.
func send(w http.ResponseWriter, contentType string, status int, body []byte) {
	if len(body) > largeAnswer {
		time.Sleep(3 * time.Millisecond) //nolint:forbidigo // there is nothing to wait for: see above
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// call passes one API call through the gate, makes it, and writes it into the log.
func (s *Sim) call(ctx context.Context, action string, do func(context.Context) (any, error)) (any, error) {
	fault, err := s.enter(action)
	if err == nil && fault.Code != "" && !fault.After {
		err = fault.err()
	}
	var out any
	if err == nil {
		out, err = do(ctx)
	}
	if err == nil && fault.Code != "" && fault.After {
		err = fault.err()
	}
	s.record(action, err)
	return out, err
}
