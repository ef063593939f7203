// Package certs makes the certificates by which Kerf's services know each other, for clusters without cert-manager: the
// same that deploy/components/cert-manager asks for, as files and as Secrets.
//
// Two authorities sign: one for the services and their operators, and one for etcd, so that what lets a service call
// another lets it into no store. It must never know who may call what; that is in each service's config. Start reading
// at Renew.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// The files of a Secret that holds a certificate, as cert-manager names them.
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
	CAFile   = "ca.crt"
)

// skew is how much earlier than now a certificate begins: clocks differ.
const skew = 5 * time.Minute

// authorityLife is how long an authority lasts.
const authorityLife = 10 * 365 * 24 * time.Hour

// Config says what to make.
type Config struct {
	// Dir holds the authorities, which are made once and kept, and a folder for each certificate.
	Dir string
	// Namespace is where Kerf's Services are.
	Namespace string
	// Life is how long certificates last.
	Life time.Duration
	Now  time.Time
}

// Secret is a certificate with its key, and the authority to trust.
type Secret struct {
	Name          string
	Cert, Key, CA []byte // PEM
	// Ends is when the certificate does: with its authority, where that is sooner than was asked for.
	Ends time.Time
}

// leaf is a certificate that is made anew each time.
type leaf struct {
	name, authority string // of Secrets
	commonName      string
	identity        string // a URI; what authz goes by
	dns             []string
	ips             []net.IP
	server, client  bool
}

const (
	servicesCA = "kerf-ca"
	etcdCA     = "kerf-etcd-ca"
	etcdName   = "kerf-etcd"
	members    = 3 // of etcd, at most

	prefix   = "kerf-" // of Services
	domain   = "spiffe://kerf/"
	actuator = "actuator"
)

// leaves are all certificates of an installation. Those that etcd gets from a client must have no names of hosts: it would
// look for the client there.
func leaves(namespace string) []leaf {
	service := func(name string, client bool) leaf {
		return leaf{
			name: prefix + name + "-tls", authority: servicesCA, commonName: prefix + name, identity: domain + name,
			dns: []string{prefix + name, prefix + name + "." + namespace + ".svc"}, server: true, client: client,
		}
	}
	etcd := leaf{
		name: etcdName + "-tls", authority: etcdCA, commonName: etcdName, dns: []string{etcdName},
		ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true, client: true,
	}
	for i := range members {
		etcd.dns = append(etcd.dns, fmt.Sprintf("%s-%d.%s", etcdName, i, etcdName))
	}
	etcd.dns = append(etcd.dns, "localhost")
	return []leaf{
		service("planner", false), service("watcher", true), service(actuator, false), etcd,
		{name: "kerf-operator-tls", authority: servicesCA, commonName: prefix + "operator", identity: domain + "operator", client: true},
		{name: "kerf-etcd-client-tls", authority: etcdCA, commonName: prefix + actuator, identity: domain + actuator, client: true},
	}
}

// Renew makes every certificate anew, signed by the authorities in the folder, or by new ones where there are none, and
// writes them to files. What services hold already goes on to work: they trust the authority, not the certificate.
func Renew(cfg Config) ([]Secret, error) {
	authorities := map[string]*authority{}
	for _, name := range []string{servicesCA, etcdCA} {
		a, err := openAuthority(filepath.Join(cfg.Dir, name), name, cfg.Now)
		if err != nil {
			return nil, err
		}
		authorities[name] = a
	}
	var out []Secret
	for _, l := range leaves(cfg.Namespace) {
		s, err := authorities[l.authority].issue(l, cfg.Now, cfg.Life)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		if err := s.write(filepath.Join(cfg.Dir, l.name)); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s Secret) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The key first: who reads in between finds a pair that does not fit, and keeps what it has.
	for _, f := range []struct {
		name string
		data []byte
	}{{KeyFile, s.Key}, {CertFile, s.Cert}, {CAFile, s.CA}} {
		if f.data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// authority signs.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// openAuthority reads an authority, or makes it where there is none.
func openAuthority(dir, name string, now time.Time) (*authority, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, CertFile))
	if errors.Is(err, fs.ErrNotExist) {
		return newAuthority(dir, name, now)
	}
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if err != nil {
		return nil, err
	}
	return readAuthority(dir, certPEM, keyPEM, now)
}

func readAuthority(dir string, certPEM, keyPEM []byte, now time.Time) (*authority, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("%s: %s or %s is no PEM", dir, CertFile, KeyFile)
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	switch {
	case !key.PublicKey.Equal(cert.PublicKey):
		return nil, fmt.Errorf("%s: %s is not the key of %s", dir, KeyFile, CertFile)
	case now.After(cert.NotAfter):
		return nil, fmt.Errorf("%s: the authority has expired on %s: remove the folder, and give all services the new certificates at once",
			dir, cert.NotAfter.Format(time.DateOnly))
	}
	return &authority{cert: cert, key: key, pem: certPEM}, nil
}

func newAuthority(dir, name string, now time.Time) (*authority, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	s, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := s.write(dir); err != nil {
		return nil, err
	}
	return readAuthority(dir, s.Cert, s.Key, now)
}

func (a *authority) issue(l leaf, now time.Time, life time.Duration) (Secret, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: l.commonName}, NotBefore: now.Add(-skew), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, DNSNames: l.dns, IPAddresses: l.ips,
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	if l.identity != "" {
		uri, err := url.Parse(l.identity)
		if err != nil {
			return Secret{}, err
		}
		template.URIs = []*url.URL{uri}
	}
	if l.server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if l.client {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	s, err := sign(template, a)
	s.Name, s.CA, s.Ends = l.name, a.pem, template.NotAfter
	return s, err
}

// sign makes a key and a certificate, signed by the authority, or by itself without one.
func sign(template *x509.Certificate, by *authority) (Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Secret{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Secret{}, err
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return Secret{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Secret{}, err
	}
	return Secret{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
