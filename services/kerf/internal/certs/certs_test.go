package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/kerf/internal/certs"
)

func config(dir string, at time.Time) certs.Config {
	return certs.Config{Dir: dir, Namespace: "kerf-system", Life: 24 * time.Hour, Now: at}
}

func renew(t *testing.T, cfg certs.Config) map[string]certs.Secret {
	t.Helper()
	list, err := certs.Renew(cfg)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]certs.Secret{}
	for _, s := range list {
		out[s.Name] = s
	}
	return out
}

// verify checks a certificate as one that meets it does, at a time, by what the other trusts.
func verify(t *testing.T, s, trusts certs.Secret, at time.Time, opts x509.VerifyOptions) error {
	t.Helper()
	pair, err := tls.X509KeyPair(s.Cert, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	opts.Roots = x509.NewCertPool()
	if !opts.Roots.AppendCertsFromPEM(trusts.CA) {
		t.Fatal("no authority")
	}
	opts.CurrentTime = at
	_, err = pair.Leaf.Verify(opts)
	return err
}

func TestEachCertificateServesItsPurposeAndNoOther(t *testing.T) {
	now := time.Now()
	got := renew(t, config(t.TempDir(), now))
	server, client := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	tests := map[string]struct {
		shows, trusts string
		opts          x509.VerifyOptions
		want          bool
	}{
		"the watcher trusts the planner by its short name":      {"kerf-planner-tls", "kerf-watcher-tls", x509.VerifyOptions{DNSName: "kerf-planner", KeyUsages: server}, true},
		"and by its long one":                                   {"kerf-planner-tls", "kerf-watcher-tls", x509.VerifyOptions{DNSName: "kerf-planner.kerf-system.svc", KeyUsages: server}, true},
		"the planner is not the actuator":                       {"kerf-planner-tls", "kerf-watcher-tls", x509.VerifyOptions{DNSName: "kerf-actuator", KeyUsages: server}, false},
		"the planner trusts the watcher":                        {"kerf-watcher-tls", "kerf-planner-tls", x509.VerifyOptions{KeyUsages: client}, true},
		"the planner calls no service":                          {"kerf-planner-tls", "kerf-watcher-tls", x509.VerifyOptions{KeyUsages: client}, false},
		"an operator is no server":                              {"kerf-operator-tls", "kerf-watcher-tls", x509.VerifyOptions{KeyUsages: server}, false},
		"etcd trusts the actuator's certificate for it":         {"kerf-etcd-client-tls", "kerf-etcd-tls", x509.VerifyOptions{KeyUsages: client}, true},
		"a service's certificate lets it into no store":         {"kerf-watcher-tls", "kerf-etcd-tls", x509.VerifyOptions{KeyUsages: client}, false},
		"what lets the actuator into etcd lets it call nothing": {"kerf-etcd-client-tls", "kerf-planner-tls", x509.VerifyOptions{KeyUsages: client}, false},
		"members of etcd know each other":                       {"kerf-etcd-tls", "kerf-etcd-tls", x509.VerifyOptions{DNSName: "kerf-etcd-2.kerf-etcd", KeyUsages: client}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := verify(t, got[tt.shows], got[tt.trusts], now, tt.opts); (err == nil) != tt.want {
				t.Errorf("verified with %v, want %v", err, tt.want)
			}
		})
	}
}

func TestARenewalKeepsTheAuthority(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	old := renew(t, config(dir, now))
	later := now.Add(20 * time.Hour)
	renewed := renew(t, config(dir, later))
	for name := range old {
		if string(old[name].CA) != string(renewed[name].CA) || string(old[name].Cert) == string(renewed[name].Cert) {
			t.Errorf("%s: want a new certificate of the same authority", name)
		}
	}
	// The renewed certificate is trusted by who still has the old ones.
	if err := verify(t, renewed["kerf-watcher-tls"], old["kerf-planner-tls"], now.Add(30*time.Hour), x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Error(err)
	}
	onDisk, err := os.ReadFile(filepath.Join(dir, "kerf-watcher-tls", certs.CertFile))
	if err != nil || string(onDisk) != string(renewed["kerf-watcher-tls"].Cert) {
		t.Errorf("on disk is another certificate than was returned (%v)", err)
	}
	info, err := os.Stat(filepath.Join(dir, "kerf-ca", certs.KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the authority's key: %v, %v", info.Mode(), err)
	}
}

func TestAnAuthorityThatCannotSignIsRefused(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	renew(t, config(dir, now))
	if _, err := certs.Renew(config(dir, now.AddDate(11, 0, 0))); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired authority: %v", err)
	}
	other := t.TempDir()
	renew(t, config(other, now))
	key, err := os.ReadFile(filepath.Join(other, "kerf-ca", certs.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{string(key): "is not the key of", "words": "no PEM"} {
		if err := os.WriteFile(filepath.Join(dir, "kerf-ca", certs.KeyFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := certs.Renew(config(dir, now)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
