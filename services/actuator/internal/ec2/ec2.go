// Package ec2 implements the cloud port on AWS: it launches and ends instances, resolves node classes, and knows what EC2
// sells and for how much.
//
// It must never decide which instance to buy: it offers EC2 what the plan ranked. Requests are built in pure helpers
// (fleet.go, template.go, userdata) and what errors mean is decided in awserror. Start at New, then Launch.
package ec2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/budget"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/controlplane"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/ending"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/profiles"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/rights"
	"github.com/kerf-dev/kerf/services/actuator/internal/ec2/subnets"
	"github.com/kerf-dev/kerf/services/actuator/userdata"
)

// Config is what the adapter depends on.
type Config struct {
	// Cluster is the cluster's name, as EKS and the tags know it.
	Cluster string
	// Region is the AWS region; "" takes it from the environment.
	Region string
	// Endpoint replaces every AWS endpoint; "" for AWS itself.
	Endpoint string
	// API says how nodes reach the API server; what is empty is asked of EKS.
	API userdata.APIServer
	// Known has what EC2 does not tell of instance types: the interfaces of single pods.
	Known *catalog.Catalog
	// NoPriceList says that nothing leads to AWS's price list: it is never asked.
	NoPriceList bool
	// NoDryRuns says not to ask EC2 whether launches are allowed before there are any.
	NoDryRuns bool
	// ZonalShift says that zonal shifts are asked for, by the ARN that EKS tells.
	ZonalShift bool
	// Log gets one line per thing made or deleted in AWS.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Adapter is the cloud port on AWS. Safe for concurrent use.
type Adapter struct {
	cluster string
	plane   *controlplane.Plane
	log     *slog.Logger
	now     func() time.Time

	*Market
	ec2 *sdk.Client
	ssm *ssm.Client
	iam *iam.Client
	// arc is nil where zonal shifts are not asked for.
	arc *arczonalshift.Client

	addresses *subnets.Book
	ending    *ending.Batch

	asking    sync.Mutex // for types, where a launch needs them
	mu        sync.Mutex // guards types and templates
	types     map[string]catalog.Type
	templates map[string]time.Time // launch templates by name, and when they were last used

	profiles *profiles.Profiles
	rights   *rights.Checker // nil where rights are not asked for
}

var (
	_ cloud.Cloud   = (*Adapter)(nil)
	_ cloud.Classes = (*Adapter)(nil)
	_ cloud.Market  = (*Adapter)(nil)
)

// ErrNoRegion says that nothing names a region; test with errors.Is.
var ErrNoRegion = errors.New("no AWS region")

// maxAttempts bounds the SDK's own retries of one call; the loop above retries whole operations.
const maxAttempts = 4

// LoadAWS loads credentials and region the way every AWS program does, with Kerf's retries.
func LoadAWS(ctx context.Context, region, endpoint string) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = maxAttempts })
		}),
	}
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if endpoint != "" {
		options = append(options, awsconfig.WithBaseEndpoint(endpoint))
	}
	c, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %w", err)
	}
	if c.Region == "" {
		return aws.Config{}, fmt.Errorf("%w: set aws.region in the configuration, or AWS_REGION", ErrNoRegion)
	}
	return c, nil
}

// New builds the clients and asks EKS for what the configuration leaves open about the API server.
func New(ctx context.Context, c Config) (*Adapter, error) {
	if c.Cluster == "" {
		return nil, errors.New("cluster name is empty")
	}
	conf, err := LoadAWS(ctx, c.Region, c.Endpoint)
	if err != nil {
		return nil, err
	}
	budget.New().Attach(&conf)
	a := &Adapter{
		cluster: c.Cluster, log: c.Log, now: c.Now,
		Market: openMarket(conf, c), ec2: sdk.NewFromConfig(conf), ssm: ssm.NewFromConfig(conf), iam: iam.NewFromConfig(conf),
		templates: make(map[string]time.Time),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if !a.HasPriceList() && !c.NoPriceList {
		a.log.WarnContext(ctx, "the partition has no price list: list prices are the catalogue's, as estimates", "region", conf.Region)
	}
	if a.now == nil {
		a.now = time.Now
	}
	a.addresses = subnets.New(a.now)
	a.ending = ending.New(func(ctx context.Context, ids []string) error {
		_, err := a.ec2.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: ids})
		return err
	})
	a.profiles = profiles.New(profiles.Config{
		Cluster: a.cluster, Region: a.region, IAM: a.iam, EC2: a.ec2, Tags: a.ownTags(), Log: a.log, Now: a.now,
	})
	if !c.NoDryRuns {
		a.rights = &rights.Checker{EC2: a.ec2, Log: a.log, Now: a.now}
	}
	if c.ZonalShift {
		a.arc = arczonalshift.NewFromConfig(conf)
	}
	a.plane, err = controlplane.Open(ctx, controlplane.Config{
		EKS: eks.NewFromConfig(conf), Cluster: a.cluster, Region: a.region, Given: c.API, ARN: c.ZonalShift, Log: a.log, Now: a.now,
	})
	if err != nil {
		return nil, classify(err)
	}
	return a, nil
}
