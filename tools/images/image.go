package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	binDir  = "usr/local/bin"
	sbomDir = "usr/local/share/sbom"
	rootsAt = "etc/ssl/certs/ca-certificates.crt"
	// nonRoot is the user that programs run as; deploy/base says it too.
	nonRoot = "65532"
)

// file is one of an image.
type file struct {
	path string
	mode int64
	data []byte
}

// assemble makes the image of one processor: a layer with what seldom changes, and one with the programs.
func (o options) assemble(img image, arch string, programs []string) (v1.Image, error) {
	list, err := o.contents(img, arch, programs)
	if err != nil {
		return nil, err
	}
	base := []file{
		{"etc/passwd", 0o644, []byte("kerf:x:" + nonRoot + ":" + nonRoot + "::/:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("kerf:x:" + nonRoot + ":\n")},
		{rootsAt, 0o644, roots()},
	}
	own := []file{{filepath.Join(sbomDir, img.name+".cdx.json"), 0o644, list}}
	for _, program := range programs {
		data, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		own = append(own, file{filepath.Join(binDir, filepath.Base(program)), 0o755, data})
	}
	out := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	out = mutate.ConfigMediaType(out, types.OCIConfigJSON)
	for _, files := range [][]file{base, own} {
		layer, err := o.layer(files)
		if err != nil {
			return nil, err
		}
		add := mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "make images"}}
		if out, err = mutate.Append(out, add); err != nil {
			return nil, err
		}
	}
	return o.configure(out, img, arch)
}

func (o options) configure(in v1.Image, img image, arch string) (v1.Image, error) {
	cfg, err := in.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = "linux", arch, v1.Time{Time: o.created}
	cfg.Config = v1.Config{
		User: nonRoot + ":" + nonRoot, WorkingDir: "/", Env: []string{"PATH=/" + binDir},
		Entrypoint: []string{"/" + filepath.Join(binDir, filepath.Base(img.programs[0]))},
		Labels: map[string]string{
			"org.opencontainers.image.title": img.name, "org.opencontainers.image.description": img.what,
			"org.opencontainers.image.version": o.version, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(in, cfg)
}

// layer packs files: sorted, with the folders that they are in, owned by root, and as old as the commit.
func (o options) layer(files []file) (v1.Layer, error) {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{}
	for _, f := range files {
		for i, c := range f.path {
			if dir := f.path[:i]; c == '/' && !made[dir] {
				made[dir] = true
				if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: o.created}); err != nil {
					return nil, err
				}
			}
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.data)), ModTime: o.created}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// roots are Mozilla's, as the Go team keeps them. Those that may sign only under conditions, which a file can't say, are left out.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}

// write writes NAME/, an OCI layout for all processors, and NAME-ARCH.tar for each, and returns the layout's digest.
func (o options) write(img image, built []v1.Image) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, arch := range o.arches {
		platform := &v1.Platform{OS: "linux", Architecture: arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built[i], Descriptor: v1.Descriptor{Platform: platform}})
		ref, err := name.NewTag(img.name+":"+o.version, name.WithDefaultRegistry(""))
		if err != nil {
			return v1.Hash{}, err
		}
		if err := tarball.WriteToFile(filepath.Join(o.out, fmt.Sprintf("%s-%s.tar", img.name, arch)), ref, built[i]); err != nil {
			return v1.Hash{}, err
		}
	}
	dir := filepath.Join(o.out, img.name)
	if err := os.RemoveAll(dir); err != nil {
		return v1.Hash{}, err
	}
	whole, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := whole.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.version})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// stamp is a time as lists of contents write it.
func (o options) stamp() string { return o.created.Format(time.RFC3339) }
