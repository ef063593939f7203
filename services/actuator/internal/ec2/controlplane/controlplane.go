// Package controlplane knows how nodes reach the cluster's API server, and which version it has: what the configuration
// says, and of the rest what EKS says. An upgrade changes that while Kerf runs.
//
// It must never know what nodes do with it. Start reading at Plane.Renew.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
)

// renewal is how long an answer of EKS counts, and patience how long another one is waited for: what it is for waits
// with it.
const renewal, patience = 5 * time.Minute, 10 * time.Second

// Config is what a plane depends on.
type Config struct {
	EKS             *eks.Client
	Cluster, Region string
	// Given is what the configuration says; EKS is asked for what is empty.
	Given userdata.APIServer
	// ARN says that the cluster's ARN is needed as well.
	ARN bool
	Log *slog.Logger
	Now func() time.Time
}

// Plane is a cluster's control plane. Safe for concurrent use.
type Plane struct {
	cfg Config

	mu    sync.Mutex
	api   userdata.APIServer
	arn   string
	asked time.Time
	away  error // why nothing is known yet; nil once it is
}

// Open asks EKS for what the configuration leaves open. Where EKS does not answer, that is asked for again by Known and
// Renew; an error is what a user has to put right.
func Open(ctx context.Context, c Config) (*Plane, error) {
	p := &Plane{cfg: c}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.ask(ctx)
	if _, away := errors.AsType[*awayError](err); !away {
		return p, err
	}
	p.asked, p.away = c.Now(), err
	c.Log.WarnContext(ctx, "EKS does not say how nodes reach the API server; nothing is launched until it does", "error", err)
	return p, nil
}

// awayError says that EKS has not answered, or could not for the moment.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// Known is an error while it is not known how nodes reach the API server: EKS has not said yet.
func (p *Plane) Known(ctx context.Context) error {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	if away == nil {
		return nil
	}
	return p.Renew(ctx)
}

// API is how nodes reach the API server.
func (p *Plane) API() userdata.APIServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.api
}

// ARN is the cluster's; "" where it was not asked for.
func (p *Plane) ARN() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arn
}

// Renew asks EKS again where its answer is old. Where that fails the last answer stands; it is an error where there was
// none yet.
func (p *Plane) Renew(ctx context.Context) error {
	p.mu.Lock()
	every := renewal
	if p.away != nil {
		every = patience
	}
	due := !p.known() && p.cfg.Now().Sub(p.asked) >= every
	if due {
		p.asked = p.cfg.Now() // others need not ask meanwhile, nor again at once where it fails
	}
	before, away := p.api, p.away
	p.mu.Unlock()
	if !due {
		return away
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := p.ask(ctx); {
	case err != nil && away != nil:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.away != nil {
			p.away = err
		}
		return p.away
	case err != nil:
		p.cfg.Log.WarnContext(ctx, "what EKS says of the cluster is not renewed", "error", err)
		return nil
	}
	if now := p.API(); now != before {
		p.cfg.Log.InfoContext(ctx, "the cluster's control plane has changed", "kubernetes_version", now.KubernetesVersion, "endpoint", now.Endpoint)
	}
	return nil
}

// known says that the configuration leaves nothing open.
func (p *Plane) known() bool { return !p.cfg.ARN && p.cfg.Given.Check() == nil }

func (p *Plane) ask(ctx context.Context) error {
	api, arn := p.cfg.Given, ""
	if !p.known() {
		var err error
		if arn, err = p.complete(ctx, &api); err != nil {
			return err
		}
	}
	if err := api.Check(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.api, p.arn, p.asked, p.away = api, arn, p.cfg.Now(), nil
	return nil
}

// complete fills in what EKS says, and returns the cluster's ARN.
func (p *Plane) complete(ctx context.Context, api *userdata.APIServer) (arn string, err error) {
	out, err := p.cfg.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &p.cfg.Cluster})
	switch {
	case awserror.Of(err) == awserror.NotFound:
		return "", fmt.Errorf("EKS has no cluster %s in %s: correct cluster or aws.region in the configuration, or set aws.api: %w", p.cfg.Cluster, p.cfg.Region, err)
	case err != nil:
		err = fmt.Errorf("describe EKS cluster %s (or set aws.api in the configuration): %w", p.cfg.Cluster, err)
		if awserror.LacksRight(err) {
			return "", err
		}
		return "", &awayError{err}
	case out.Cluster == nil:
		return "", fmt.Errorf("describe EKS cluster %s: the answer has no cluster", p.cfg.Cluster)
	}
	fill := func(field *string, value *string) {
		if *field == "" {
			*field = aws.ToString(value)
		}
	}
	fill(&api.Endpoint, out.Cluster.Endpoint)
	fill(&api.KubernetesVersion, out.Cluster.Version)
	if ca := out.Cluster.CertificateAuthority; ca != nil {
		fill(&api.CABase64, ca.Data)
	}
	if n := out.Cluster.KubernetesNetworkConfig; n != nil {
		fill(&api.ServiceCIDR, n.ServiceIpv4Cidr)
		fill(&api.ServiceCIDR, n.ServiceIpv6Cidr)
	}
	return aws.ToString(out.Cluster.Arn), nil
}
