package assets

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fill makes an empty file for each name.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMissingProgramIsNamedWithTheRemedy(t *testing.T) {
	cache := t.TempDir()
	fill(t, cache, links()...)
	_, err := find(cache)
	if !errors.Is(err, ErrMissing) {
		t.Fatalf("error %v, want %v", err, ErrMissing)
	}
	for _, want := range []string{Kwok, cache, "make controlplane"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
}

func TestTheCacheIsKeyedByWhatIsBuilt(t *testing.T) {
	t.Setenv("KERF_CACHE", "")
	root := t.TempDir()
	fill(t, root, sources()...)
	before, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	if before != again {
		t.Errorf("the same sources give %s and %s", before, again)
	}
	for _, name := range sources() {
		if err := os.WriteFile(filepath.Join(root, name), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := Dir(root)
		if err != nil {
			t.Fatal(err)
		}
		if after == before {
			t.Errorf("%s changed and the folder is still %s", name, after)
		}
		before = after
	}
	t.Setenv("KERF_CACHE", t.TempDir())
	if elsewhere, err := Dir(root); err != nil || filepath.Dir(elsewhere) != os.Getenv("KERF_CACHE") {
		t.Errorf("with KERF_CACHE the folder is %s (error %v)", elsewhere, err)
	}
}

// What releases are built with is said once more where the harness can't be asked: in images, by a module of their own
// and by Docker.
func TestImagesAreBuiltAsReleasesAre(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer(`"`, "", ",", "")
	for _, file := range []string{"tools/images/main.go", "Dockerfile"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-tags " + tags, "-ldflags " + stripped + " -X"} {
			if !strings.Contains(bare.Replace(string(text)), want) {
				t.Errorf("%s does not build with %s", file, want)
			}
		}
	}
}

func TestOneBuildAtATime(t *testing.T) {
	path, out := filepath.Join(t.TempDir(), "lock"), devNull(t)
	var holders, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			unlock, err := lock(path, out)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			mu.Lock()
			holders++
			most = max(most, holders)
			mu.Unlock()
			mu.Lock()
			holders--
			mu.Unlock()
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
}

func TestProgressSaysHowFarItIs(t *testing.T) {
	tests := map[string]struct {
		total int
		done  int64
		want  string
	}{
		"before anything is known":        {0, 0, "  x  5s"},
		"while modules arrive":            {0, 7, "  x  7  5s"},
		"while packages are compiled":     {100, 7, "  x  7 of 100 packages compiled  5s"},
		"when only the link is left":      {100, 100, "  x  100 packages compiled, linking  5s"},
		"when more came than was counted": {100, 101, "  x  100 packages compiled, linking  5s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &progress{title: "x", total: tt.total, began: time.Now().Add(-5 * time.Second)}
			p.done.Store(tt.done)
			if got := p.line(); got != tt.want {
				t.Errorf("line %q, want %q", got, tt.want)
			}
		})
	}
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
