package metrics

import (
	"net/http"
	"strconv"
	"time"
)

// Transport measures requests to the API server. A nil Recorder returns next as it is.
func (r *Recorder) Transport(next http.RoundTripper) http.RoundTripper {
	if r == nil {
		return next
	}
	return transport{r, next}
}

type transport struct {
	recorder *Recorder
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := t.next.RoundTrip(req)
	took := time.Since(begun).Seconds()
	if err != nil {
		t.recorder.Record(KubernetesDuration, took, Method.String(req.Method), ErrorType.String(ErrorOther))
		return nil, err
	}
	t.recorder.Record(KubernetesDuration, took, Method.String(req.Method), Status.String(strconv.Itoa(resp.StatusCode)))
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport that it made.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
