package assets

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// noDownload is the environment variable that, when it is "off", leaves the network alone: all is built.
const noDownload = "KERF_DOWNLOAD"

// download fetches released programs. It gives up soon: building takes its place.
type download struct {
	release

	// answer is how long the host may take to answer, stall how long no byte may come, and whole how long all of it may
	// take.
	answer, stall, whole time.Duration
	out                  *os.File
}

func newDownload(out *os.File) download {
	return download{release: published(), out: out, answer: 5 * time.Second, stall: 15 * time.Second, whole: 5 * time.Minute}
}

// errNone is that there is nothing to fetch for this machine.
var errNone = errors.New("none is published for this machine")

// fetch puts the programs into dir, once the archive's checksum is right. After an error dir may hold some of them.
func (d download) fetch(ctx context.Context, dir string, programs []string) error {
	if d.url == "" {
		return errNone
	}
	late := fmt.Errorf("%s: not here within %s", d.url, d.whole)
	ctx, cancel := context.WithTimeoutCause(ctx, d.whole, late)
	defer cancel()
	f, err := os.CreateTemp(dir, ".download")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // litter within the build folder, at worst
	defer f.Close()           //nolint:errcheck // it was only read since its checksum was right
	if err := d.save(ctx, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return extract(ctx, f, dir, programs)
}

// save writes the archive to f; what it wrote is whole and right unless it returns an error.
func (d download) save(ctx context.Context, f io.Writer) error {
	body, cancel, err := d.get(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	p := startProgress(d.out, "Kubernetes "+version+": KB downloaded", 0)
	defer p.stop(false)
	hash := sha512.New()
	if _, err := io.Copy(io.MultiWriter(f, hash, counter{&p.done}), body); err != nil {
		return fmt.Errorf("%s: %w", d.url, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != d.sum {
		return fmt.Errorf("%s has the checksum %s, and should have %s", d.url, got, d.sum)
	}
	return nil
}

// counter counts the KB that are written to it.
type counter struct{ kb *atomic.Int64 }

// Write implements io.Writer.
func (c counter) Write(b []byte) (int, error) {
	c.kb.Add(int64(len(b) >> 10))
	return len(b), nil
}

// get asks for the archive. Reading its body ends with an error when no byte comes for a while; cancel ends it at any time.
func (d download) get(ctx context.Context) (body io.Reader, cancel func(), err error) {
	ctx, stop := context.WithCancelCause(ctx)
	cancel = func() { stop(context.Canceled) }
	watch := time.AfterFunc(d.answer, func() { stop(fmt.Errorf("no answer within %s", d.answer)) })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:bodyclose // cancel ends it
	watch.Stop()
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // it says the address too
		}
		if why := context.Cause(ctx); why != nil {
			err = why
		}
		cancel()
		return nil, nil, fmt.Errorf("%s: %w", d.url, err)
	}
	if resp.StatusCode != http.StatusOK {
		cancel()
		return nil, nil, fmt.Errorf("%s: %s", d.url, resp.Status)
	}
	return &steady{body: resp.Body, ctx: ctx, stop: stop, stall: d.stall}, cancel, nil
}

// steady is a body that fails when nothing comes for a while.
type steady struct {
	body  io.Reader
	ctx   context.Context //nolint:containedctx // the request's, to know why reading failed
	stop  context.CancelCauseFunc
	stall time.Duration
}

// Read implements io.Reader.
func (s *steady) Read(b []byte) (int, error) {
	watch := time.AfterFunc(s.stall, func() { s.stop(fmt.Errorf("nothing came for %s", s.stall)) })
	n, err := s.body.Read(b)
	watch.Stop()
	if why := context.Cause(s.ctx); err != nil && err != io.EOF && why != nil { //nolint:errorlint // io.Reader returns it as it is
		err = why
	}
	return n, err
}

// extract takes the programs, by the names of their files, out of an archive.
func extract(ctx context.Context, archive io.Reader, dir string, programs []string) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	files := tar.NewReader(unzipped)
	for left := slices.Clone(programs); len(left) > 0; {
		h, err := files.Next()
		if err != nil {
			return fmt.Errorf("the archive has no %s: %w", strings.Join(left, ", "), err)
		}
		if why := context.Cause(ctx); why != nil {
			return why
		}
		i := slices.Index(left, path.Base(h.Name))
		if i < 0 || h.Typeflag != tar.TypeReg {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, left[i]), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700) //nolint:gosec // a program
		if err != nil {
			return err
		}
		_, err = io.Copy(f, files) //nolint:gosec // its checksum is right, and so is its size
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}
