package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// renew writes a certificate that signs itself.
func renew(t *testing.T, c Config, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{c.CertFile: {Type: "CERTIFICATE", Bytes: cert}, c.KeyFile: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARenewedCertificateIsShown: an actuator may run for longer than its certificate lasts.
func TestARenewedCertificateIsShown(t *testing.T) {
	dir := t.TempDir()
	c := Config{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	renew(t, c, 1)
	cfg, err := tlsConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() int64 {
		pair, err := cfg.GetClientCertificate(&tls.CertificateRequestInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	if got := shown(); got != 1 {
		t.Errorf("the certificate %d, want the first", got)
	}
	renew(t, c, 2)
	if got := shown(); got != 2 {
		t.Errorf("the certificate %d, want the second", got)
	}
	if err := os.WriteFile(c.KeyFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != 2 {
		t.Errorf("the certificate %d while the files do not fit together, want the second", got)
	}
}
