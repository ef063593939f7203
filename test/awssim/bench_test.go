package awssim_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/test/awssim"
)

// startTime is of prices from now on.
var startTime = regexp.MustCompile("StartTime=[^&]*")

// tape is a server that asks another one for what it was never asked, and answers the same to the same from then on:
// what a client costs is hardly mixed with what answering does.
type tape struct {
	ask *httputil.ReverseProxy

	mu      sync.Mutex
	answers map[string]*httptest.ResponseRecorder
}

func (p *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Header.Get("X-Amz-Target") + " " + string(startTime.ReplaceAll(body, nil))
	answer := p.answers[key]
	if answer == nil {
		answer = httptest.NewRecorder()
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ask.ServeHTTP(answer, r)
		p.answers[key] = answer
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func openMarket(b *testing.B) cloud.Market {
	b.Helper()
	b.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	b.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	cfg := awssim.Default("test")
	cfg.Clock = awssim.NewFakeClock(time.Now())
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		b.Fatal(err)
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	front := httptest.NewServer(&tape{ask: httputil.NewSingleHostReverseProxy(at), answers: map[string]*httptest.ResponseRecorder{}})
	b.Cleanup(func() {
		front.Close()
		if err := server.Close(); err != nil {
			b.Error(err)
		}
	})
	_, _, market, _, err := actuator.OpenCloud(b.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: front.URL, Cluster: "test",
		API: actuator.APIConfig{Endpoint: "https://test.example", CABase64: "Y2E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.37"},
	})
	if err != nil {
		b.Fatal(err)
	}
	return market
}

// BenchmarkMarket is what it costs the actuator to ask what EC2 sells, as it does when it starts. Of the CPU time a few
// milliseconds are the server's.
func BenchmarkMarket(b *testing.B) {
	market := openMarket(b)
	ask := map[string]func() error{
		"types":  func() error { _, err := market.InstanceTypes(b.Context()); return err },
		"prices": func() error { _, err := market.OnDemandPrices(b.Context()); return err },
		"spot":   func() error { _, err := market.SpotPrices(b.Context()); return err },
	}
	for _, name := range []string{"types", "prices", "spot"} {
		if err := ask[name](); err != nil { // the tape
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			began := cpu(b)
			for b.Loop() {
				if err := ask[name](); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpu is what the process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
