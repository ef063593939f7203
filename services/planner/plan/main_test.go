package plan_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same worlds in every run, so that a run says something about the change that it is for. To search for
// new worlds, set KERF_DRAW=anew or pass -rapid.seed.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" && os.Getenv("KERF_DRAW") != "anew" {
		if err := seed.Value.Set("20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
