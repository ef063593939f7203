package certs_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// certificate is what cert-manager is asked for, as far as both can say it.
type certificate struct {
	Metadata struct{ Name string }
	Spec     struct {
		SecretName, CommonName              string
		URIs, DNSNames, IPAddresses, Usages []string
		IssuerRef                           struct{ Name string }
	}
}

// TestItMakesWhatCertManagerIsAskedFor holds both ways to certificates against each other.
func TestItMakesWhatCertManagerIsAskedFor(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/components/cert-manager/certificates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var asked []certificate
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var c certificate
		if err := yaml.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, c)
	}
	var made []certificate
	for _, s := range renew(t, config(t.TempDir(), time.Now())) {
		block, _ := pem.Decode(s.Cert)
		x, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, described(s.Name, x))
	}
	byName := func(a, b certificate) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) }
	slices.SortFunc(asked, byName)
	slices.SortFunc(made, byName)
	if diff := cmp.Diff(asked, made); diff != "" {
		t.Errorf("cert-manager is asked for, and kerf certs makes (-asked +made):\n%s", diff)
	}
}

func described(secret string, x *x509.Certificate) certificate {
	var c certificate
	c.Metadata.Name, c.Spec.SecretName, c.Spec.CommonName = secret, secret, x.Subject.CommonName
	for _, u := range x.URIs {
		c.Spec.URIs = append(c.Spec.URIs, u.String())
	}
	c.Spec.DNSNames, c.Spec.IssuerRef.Name = x.DNSNames, x.Issuer.CommonName
	for _, ip := range x.IPAddresses {
		c.Spec.IPAddresses = append(c.Spec.IPAddresses, ip.String())
	}
	if x.KeyUsage == x509.KeyUsageDigitalSignature {
		c.Spec.Usages = []string{"digital signature"}
	}
	for _, u := range x.ExtKeyUsage {
		c.Spec.Usages = append(c.Spec.Usages, map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "server auth", x509.ExtKeyUsageClientAuth: "client auth"}[u])
	}
	return c
}
