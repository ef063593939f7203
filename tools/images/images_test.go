package main

import (
	"archive/tar"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build builds the planner's image into a folder of its own.
func build(t *testing.T) (dir string, digest v1.Hash) {
	t.Helper()
	dir = t.TempDir()
	if err := run(t.Context(), []string{"-out", dir, "-only", "kerf-planner", "-arch", "amd64", "-version", "v0.0.0-test"}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, "kerf-planner"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("manifest %v, error %v", manifest, err)
	}
	return dir, manifest.Manifests[0].Digest
}

func TestAnImageIsReproducibleAndMinimal(t *testing.T) {
	dir, digest := build(t)
	if _, again := build(t); again != digest {
		t.Errorf("the same tree gave %s, then %s", digest, again)
	}
	img, err := tarball.ImageFromPath(filepath.Join(dir, "kerf-planner-amd64.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Config.User != "65532:65532" || strings.Join(cfg.Config.Entrypoint, " ") != "/usr/local/bin/planner" || cfg.Architecture != "amd64" {
		t.Errorf("config %+v", cfg)
	}
	files := unpack(t, img)
	for _, want := range []string{"etc/passwd", "etc/group", rootsAt, "usr/local/bin/planner", "usr/local/share/sbom/kerf-planner.cdx.json"} {
		if _, ok := files[want]; !ok {
			t.Errorf("no %s", want)
		}
	}
	if len(files) != 5 {
		t.Errorf("%d files, want five", len(files))
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM([]byte(files[rootsAt])) || strings.Count(files[rootsAt], "BEGIN") < 80 {
		t.Error("too few roots")
	}
	static(t, files["usr/local/bin/planner"])
	listed(t, files["usr/local/share/sbom/kerf-planner.cdx.json"])
}

func unpack(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close() //nolint:errcheck // only read
	files := map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Mode&0o022 != 0 {
			t.Errorf("%s belongs to %d with mode %o: want root's, and written by none else", h.Name, h.Uid, h.Mode)
		}
		if h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] = string(data)
		}
	}
}

// static checks that a program asks for no loader: there is none in the image.
func static(t *testing.T, program string) {
	t.Helper()
	f, err := elf.NewFile(strings.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program is linked dynamically")
		}
	}
}

func listed(t *testing.T, text string) {
	t.Helper()
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal([]byte(text), &bom); err != nil {
		t.Fatal(err)
	}
	for _, c := range bom.Components {
		if c.Name == "google.golang.org/grpc" && strings.HasPrefix(c.Version, "v1.") && strings.HasPrefix(c.Purl, "pkg:golang/") {
			return
		}
	}
	t.Errorf("%s list of %d components without grpc", bom.BOMFormat, len(bom.Components))
}

// TestEveryOverlaysImageIsBuilt finds a recipe for each image that the manifests name.
func TestEveryOverlaysImageIsBuilt(t *testing.T) {
	known := map[string]bool{}
	for _, img := range images() {
		known[img.name] = true
	}
	used := 0
	err := filepath.WalkDir("../../deploy", func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if ref, ok := strings.CutPrefix(strings.TrimSpace(line), "image: kerf"); ok {
				used++
				if name, _, _ := strings.Cut("kerf"+ref, ":"); !known[name] {
					t.Errorf("%s: no recipe for %s", path, name)
				}
			}
		}
		return nil
	})
	if err != nil || used < 5 {
		t.Errorf("%d images used, error %v", used, err)
	}
}
