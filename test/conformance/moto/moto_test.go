package moto_test

import (
	"os"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/conformance/moto"
)

// TestTheAdapterOfAWSOnMoto is the suite on the server at $KERF_MOTO. Some of its cases fail for what moto can't do:
// the program test/conformance, which runs it, knows which.
func TestTheAdapterOfAWSOnMoto(t *testing.T) {
	url := os.Getenv("KERF_MOTO")
	if url == "" {
		t.Skip("needs moto's server: make conformance starts it")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	cloudtest.Suite(t, func(t *testing.T) cloudtest.World { t.Helper(); return open(t, url) })
}

func open(t *testing.T, url string) cloudtest.World {
	t.Helper()
	w, err := moto.Furnish(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	c, classes, market, queue, err := actuator.OpenCloud(t.Context(), w.Config)
	if err != nil {
		t.Fatal(err)
	}
	return cloudtest.World{
		Cloud: c, Classes: classes, Market: market, Queue: queue, Checks: c.(cloud.Checks), Spec: w.Spec,
		Send: func(body string) {
			if err := w.Send(t.Context(), body); err != nil {
				t.Fatal(err)
			}
		},
		Advance: func(time.Duration) {
			if err := w.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		// Moto never runs out of anything, and all is well with its instances.
		Exhaust: func(model.RankedOffering) {}, Limit: func(model.RankedOffering, int) {}, Impair: func(string, bool) {},
	}
}
