// Package moto runs moto's server, another AWS than awssim, by people who never saw Kerf, and furnishes a world on it
// that the suite of the cloud port can use.
//
// It must never know what Kerf does there. Start reading at Start, then Furnish; the suite is in moto_test.go.
package moto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Server is a running moto.
type Server struct {
	// URL is the base endpoint for all clients.
	URL string

	stop context.CancelFunc
	done chan struct{} // closed when the server has ended, with err
	err  error
}

// Start runs the server with a Python that has moto, and returns when it answers. It starts one goroutine; Close ends it.
func Start(ctx context.Context, python string, out io.Writer) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	run := exec.CommandContext(ctx, python, "-m", "moto.server", "-H", "127.0.0.1", "-p", strconv.Itoa(port)) //nolint:gosec // of our own environment
	run.Stdout, run.Stderr = out, out
	if err := run.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("start moto's server: %w", err)
	}
	s := &Server{URL: "http://127.0.0.1:" + strconv.Itoa(port), stop: stop, done: make(chan struct{})}
	go func() {
		s.err = run.Wait()
		close(s.done)
	}()
	if err := s.ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) ready(ctx context.Context) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err := post(ctx, s.URL+"/moto-api/reset"); err == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("moto's server has ended: %w", s.err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("moto's server does not answer within a minute")
}

// Close ends the server.
func (s *Server) Close() {
	s.stop()
	<-s.done
}

func post(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // nothing of it is read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s", url, answer.Status)
	}
	return nil
}

// Region is where the world is.
const Region = "us-east-1"

// name is of the cluster and of the queue.
const name = "test"

// World is a world on moto: how the actuator finds it, a class that resolves in it, and its queue.
type World struct {
	Config actuator.AWSConfig
	Spec   cloud.ClassSpec

	sqs *sqs.Client
	url string
}

// Furnish forgets all that the server has, and makes a cluster, its role, its queue and what nodes need.
func Furnish(ctx context.Context, url string) (*World, error) {
	if err := post(ctx, url+"/moto-api/reset"); err != nil {
		return nil, err
	}
	conf, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(Region), awsconfig.WithBaseEndpoint(url))
	if err != nil {
		return nil, err
	}
	subnets, err := tagNetwork(ctx, ec2.NewFromConfig(conf))
	if err != nil {
		return nil, fmt.Errorf("tag the network: %w", err)
	}
	role := aws.String("KerfNodeRole-" + name)
	made, err := iam.NewFromConfig(conf).CreateRole(ctx, &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: aws.String("{}")})
	if err != nil {
		return nil, err
	}
	_, err = eks.NewFromConfig(conf).CreateCluster(ctx, &eks.CreateClusterInput{
		Name: aws.String(name), RoleArn: made.Role.Arn, ResourcesVpcConfig: &ekstypes.VpcConfigRequest{SubnetIds: subnets},
		KubernetesNetworkConfig: &ekstypes.KubernetesNetworkConfigRequest{ServiceIpv4Cidr: aws.String("10.100.0.0/16")},
	})
	if err != nil {
		return nil, err
	}
	w := &World{sqs: sqs.NewFromConfig(conf)}
	queue, err := w.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name)})
	if err != nil {
		return nil, err
	}
	w.url = *queue.QueueUrl
	w.Config = actuator.AWSConfig{Region: Region, Endpoint: url, Queue: name, Cluster: name}
	discovery := []cloud.SelectorTerm{{Tags: model.Labels{{Key: "karpenter.sh/discovery", Value: name}}}}
	w.Spec = cloud.ClassSpec{
		Name: "default", Role: *role, SubnetTerms: discovery, SecurityGroupTerms: discovery, AMIFamily: "AL2023",
		ImageTerms: []cloud.ImageTerm{{Name: "al2023-ami-2023.*", Owner: "amazon"}}, // moto has no images of EKS
		Metadata:   cloud.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
	}
	return w, nil
}

// tagNetwork tags the subnets and the group that an account begins with.
func tagNetwork(ctx context.Context, client *ec2.Client) (subnets []string, err error) {
	found, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		return nil, err
	}
	for _, s := range found.Subnets {
		subnets = append(subnets, *s.SubnetId)
	}
	groups, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		return nil, err
	}
	resources := subnets
	for _, g := range groups.SecurityGroups {
		resources = append(resources, *g.GroupId)
	}
	_, err = client.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: resources, Tags: []ec2types.Tag{{Key: aws.String("karpenter.sh/discovery"), Value: aws.String(name)}},
	})
	return subnets, err
}

// Send puts a message on the queue.
func (w *World) Send(ctx context.Context, body string) error {
	_, err := w.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body})
	return err
}

// Settle returns once no message is hidden: moto has the machine's clock, and all else of it happens at once.
func (w *World) Settle(ctx context.Context) error {
	const hidden = "ApproximateNumberOfMessagesNotVisible"
	for {
		out, err := w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &w.url, AttributeNames: []sqstypes.QueueAttributeName{hidden}})
		if err != nil || out.Attributes[hidden] == "0" {
			return err
		}
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // there is nothing to wait for
	}
}
