package rpc

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// lookAgain is how often a server whose certificate runs out is asked whether it shows another by now.
const lookAgain = 10 * time.Minute

// foreign is a server that is not Kerf's, as etcd, as it was met at an address: no metric else tells of its certificate.
type foreign struct {
	leaf         *x509.Certificate
	credentials  *clientCredentials
	authority    string
	looked, told time.Time // when it was asked again, and when it was last said that its certificate runs out
}

// meet takes in what a foreign server has shown in a handshake; a nil receiver does not care.
func (c *Certificates) meet(address net.Addr, met foreign, info credentials.AuthInfo) {
	secure, ok := info.(credentials.TLSInfo)
	if c == nil || !ok || len(secure.State.PeerCertificates) == 0 {
		return
	}
	met.leaf = secure.State.PeerCertificates[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.met[address.String()]; old != nil {
		met.looked, met.told = old.looked, old.told
	}
	if c.met == nil {
		c.met = map[string]*foreign{}
	}
	c.met[address.String()] = &met
}

// leftOfForeign is the least share of its life that a foreign server's certificate has left. A connection may be older than
// what the server shows by now: where the end is near it starts a goroutine that asks, and ends soon. Called with mu held.
func (c *Certificates) leftOfForeign(now time.Time) float64 {
	least := 1.0
	for address, met := range c.met {
		part := left(met.leaf, now)
		least = min(least, part)
		if part <= lastPart && now.Sub(met.looked) >= lookAgain {
			met.looked = now
			go c.look(address, *met)
		}
	}
	return least
}

// look connects to a foreign server anew, which takes in what it shows now. One that can't be connected with is
// forgotten: it is taken in again once it is back, or has no certificate to show any more.
func (c *Certificates) look(address string, met foreign) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	err := met.handshake(ctx, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var ended x509.CertificateInvalidError
	if err != nil && !(errors.As(err, &ended) && ended.Reason == x509.Expired) {
		delete(c.met, address)
		return
	}
	at := c.met[address]
	if at == nil || left(at.leaf, now) > lastPart || now.Sub(at.told) < tellAgain {
		return
	}
	at.told = now
	met.credentials.material.log.Warn("a certificate runs out: renew it", "server", met.authority, "not_after", at.leaf.NotAfter)
}

func (f foreign) handshake(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err //nolint:wrapcheck // only looked at
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	_, _, err = f.credentials.ClientHandshake(ctx, f.authority, conn)
	return err
}
