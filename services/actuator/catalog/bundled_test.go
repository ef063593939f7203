package catalog

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// The file must be the generator's own output, so that the next run shows nothing but real changes.
func TestTheBundledFileIsWhatWriteMakes(t *testing.T) {
	t.Parallel()
	if len(bundled) > 1<<20 {
		t.Errorf("%d bytes, want less than 1 MiB", len(bundled))
	}
	z, err := gzip.NewReader(bytes.NewReader(bundled))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip header holds time %v, name %q", z.ModTime, z.Name)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, c); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, again.Bytes()) {
		t.Error("the file's text is not what Write makes of it: run the generator (SOURCES.md)")
	}
}
