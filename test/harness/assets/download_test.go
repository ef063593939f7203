package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kubernetes are the programs that are fetched.
func kubernetes() []string { return []string{APIServer, ControllerManager, Scheduler, Kubectl} }

// archive holds files whose text is their own name.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, name := range names {
		content := []byte(filepath.Base(name))
		if err := files.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// from is a download of an archive from a server of the test's.
func from(t *testing.T, content []byte, handle http.HandlerFunc) download {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	d := newDownload(devNull(t))
	sum := sha512.Sum512(content)
	d.release = release{url: server.URL + "/some.tar.gz", sum: hex.EncodeToString(sum[:])}
	return d
}

func TestReleasedProgramsAreFetched(t *testing.T) {
	content := archive(t, "kubernetes/server/bin/kubelet", "kubernetes/server/bin/kube-apiserver.docker_tag", "kubernetes/server/bin/kube-apiserver",
		"kubernetes/server/bin/kube-scheduler", "kubernetes/server/bin/kubectl", "kubernetes/server/bin/kube-controller-manager")
	dir := t.TempDir()
	d := from(t, content, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	if err := d.fetch(t.Context(), dir, kubernetes()); err != nil {
		t.Fatal(err)
	}
	for _, name := range kubernetes() {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != name || info.Mode()&0o100 == 0 {
			t.Errorf("%s: %q, %v, %v", name, got, err, statErr)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(kubernetes()) {
		t.Errorf("there are %v, %v", files, err)
	}
}

func TestWhatCannotBeFetchedIsSaid(t *testing.T) {
	content := archive(t, "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
	for name, tt := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"not there": {http.NotFound, "404 Not Found"},
		"a host that does not answer": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, "no answer within"},
		"a body that stalls": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "some of it")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "nothing came for"},
		"a body that trickles": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, ".")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "not here within"},
		"a body that is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = w.Write(content[:len(content)/2])
		}, "unexpected EOF"},
		"half of it, as if it were all":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content[:len(content)/2]) }, "has the checksum"},
		"a page in the place of archive": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>please log in</html>") }, "has the checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			d := from(t, content, tt.handle)
			d.answer, d.stall, d.whole = 500*time.Millisecond, 500*time.Millisecond, 2*time.Second
			dir := t.TempDir()
			err := d.fetch(t.Context(), dir, kubernetes())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
				t.Errorf("there are %v, %v", files, err)
			}
		})
	}
	incomplete := archive(t, "kube-apiserver", "kubectl")
	d := from(t, incomplete, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(incomplete) })
	if err := d.fetch(t.Context(), t.TempDir(), kubernetes()); err == nil || !strings.Contains(err.Error(), "the archive has no kube-controller-manager, kube-scheduler") {
		t.Errorf("an archive without two programs: %v", err)
	}
}

// TestASetWithoutAProgramIsMadeAnew: what was linked from this machine may have been removed since.
func TestASetWithoutAProgramIsMadeAnew(t *testing.T) {
	t.Setenv("KERF_CACHE", t.TempDir())
	made, looks := 0, 0
	k := kept{
		name: "x", usable: func(dir string) bool { return exists(filepath.Join(dir, "program")) },
		into: func(_ context.Context, dir, _ string, _ *os.File) error {
			made++
			return os.WriteFile(filepath.Join(dir, "program"), nil, 0o600)
		},
	}
	for _, want := range []int{1, 1, 2} {
		dir, err := k.build(t.Context(), "", devNull(t))
		if err != nil || made != want {
			t.Fatalf("made %d times, want %d; error %v", made, want, err)
		}
		looks++
		if looks == 2 {
			if err := os.Remove(filepath.Join(dir, "program")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTheVersionsAreThoseOfTheModule: what is fetched, and what is stamped in, is what would be built.
func TestTheVersionsAreThoseOfTheModule(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "test", "controlplane", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"k8s.io/kubernetes " + version, "go.etcd.io/etcd/server/v3 " + etcdVersion} {
		if !strings.Contains(string(mod), "\t"+want+"\n") {
			t.Errorf("go.mod has no %s", want)
		}
	}
}

// TestWhatIsSharedHasOneVersion: what Kubernetes and Kerf both need is compiled once, as long as both have what it
// stands on in one version.
func TestWhatIsSharedHasOneVersion(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	versions := func(file string) map[string]string {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) >= 2 && strings.HasPrefix(words[1], "v") {
				out[words[0]] = words[1]
			}
		}
		return out
	}
	kerf, kubernetes := versions("test/go.mod"), versions("test/controlplane/go.mod")
	for _, module := range []string{
		"sigs.k8s.io/json", "sigs.k8s.io/yaml", "k8s.io/klog/v2", "k8s.io/utils", "google.golang.org/protobuf", "google.golang.org/grpc",
		"go.opentelemetry.io/otel", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "github.com/go-logr/logr",
	} {
		if kerf[module] == "" || kerf[module] != kubernetes[module] {
			t.Errorf("%s: %q in test/go.mod, %q in test/controlplane/go.mod", module, kerf[module], kubernetes[module])
		}
	}
}

func TestInstalledProgramsAreTakenIfAllFit(t *testing.T) {
	theirs := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("PATH", theirs+string(os.PathListSeparator)+os.Getenv("PATH"))
	script := func(name, says string) {
		if err := os.WriteFile(filepath.Join(theirs, name), []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range links() {
		script(name, "Kubernetes "+version)
	}
	script(Kubectl, "Client Version: "+version)
	script(Etcd, "etcd Version: "+strings.TrimPrefix(etcdVersion, "v"))
	dir := t.TempDir()
	if unfit, err := installed(t.Context(), dir, links()); unfit != "" || err != nil {
		t.Fatalf("not taken: %s, %v", unfit, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, Etcd)); err != nil || to != filepath.Join(theirs, Etcd) {
		t.Errorf("etcd is %s, %v", to, err)
	}
	script(Scheduler, "Kubernetes v1.2.3")
	if unfit, err := installed(t.Context(), t.TempDir(), links()); !strings.Contains(unfit, `kube-scheduler is of version "1.2", and 1.37`) || err != nil {
		t.Errorf("a scheduler of another version: %q, %v", unfit, err)
	}
}
