package offline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	coreconvert "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// small is a catalogue of few types, because the whole one takes longer than all that is looked at here.
func small(f *testing.F) *catalog.Catalog {
	f.Helper()
	all, err := catalog.Bundled()
	if err != nil {
		f.Fatal(err)
	}
	some := *all
	some.Types = some.Types[:min(len(some.Types), 5)]
	return &some
}

// FuzzManifests reads manifests to the snapshot that the planner gets. An error names the file, and with the
// object where there is one; what is taken, the planner can read.
func FuzzManifests(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(examples, "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	world := convert.World{Catalog: small(f)}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := options()
		o.World = func() (convert.World, error) { return world, nil }
		in, err := offline.Load([]offline.File{{Name: "a.yaml", Data: text}}, o)
		if err != nil {
			if !strings.Contains(err.Error(), "a.yaml") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		if in.Snapshot == nil {
			t.Fatal("no snapshot and no error")
		}
		_, err = coreconvert.Input(in.Snapshot, &plannerpb.Decide{Now: timestamppb.New(in.Now)})
		var bad *coreconvert.Error
		if err != nil && (!errors.As(err, &bad) || bad.Problems[0].Object == "" || bad.Problems[0].Path == "") {
			t.Fatalf("refused without saying what: %v", err)
		}
	})
}
