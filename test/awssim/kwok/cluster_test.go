package kwok_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	patch "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/awssim"
	"github.com/kerf-dev/kerf/test/awssim/kwok"
	"github.com/kerf-dev/kerf/test/harness"
)

var shared harness.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m, harness.Options{})) }

const (
	patience  = time.Minute
	cluster   = "kwok-test"
	finalizer = "example.com/held"
)

// mimeUserData is what a launch template for AL2023 carries.
const mimeUserData = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n--//\r\n" +
	"Content-Type: application/node.eks.aws\r\n\r\n" + `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: kwok-test, apiServerEndpoint: "https://c.example", certificateAuthority: Y2E=, cidr: 10.100.0.0/16}
  kubelet:
    config: {maxPods: 29}
    flags: ["--node-labels=type=karpenter"]
` + "\r\n--//--\r\n"

// launch buys one m5.large through the SDK.
func launch(t *testing.T, s *awssim.Server) string {
	t.Helper()
	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	}
	ctx, name := t.Context(), aws.String("node")
	profiles, servers := iam.NewFromConfig(cfg), ec2.NewFromConfig(cfg)
	if _, err := profiles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := profiles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: name, RoleName: aws.String("KerfNodeRole-" + cluster),
	}); err != nil {
		t.Fatal(err)
	}
	image, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.37/amazon-linux-2023/x86_64/standard/recommended/image_id"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := servers.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: image.Parameter.Value, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(mimeUserData))),
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: name},
		},
	}); err != nil {
		t.Fatal(err)
	}
	out, err := servers.CreateFleet(ctx, &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: name, Version: aws.String("$Latest")},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{{
				InstanceType: "m5.large", SubnetId: aws.String("subnet-0aaaaaaaaaaaaaaa1"),
			}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 1 {
		t.Fatalf("fleet errors: %v", out.Errors)
	}
	return out.Instances[0].InstanceIds[0]
}

// nodeOf is the node's name once the instance has one.
func nodeOf(s *awssim.Server, id string) string {
	for _, i := range s.State().Instances {
		if i.ID == id {
			return i.NodeName
		}
	}
	return ""
}

// ready is done when the node's Ready condition has the status.
func ready(client kubernetes.Interface, name string, want corev1.ConditionStatus) harness.Check {
	return func(ctx context.Context) (string, bool) {
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return fmt.Sprintf("Ready is %s, deletion asked: %v", c.Status, n.DeletionTimestamp != nil), c.Status == want
			}
		}
		return "no Ready condition", false
	}
}

func TestAnInstanceIsANodeOfARealClusterForAsLongAsItLives(t *testing.T) {
	c := shared.Cluster(t)
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	cfg := awssim.Default(cluster)
	cfg.Kubelet = kwok.Kubelet{Client: client}
	cfg.LaunchLatency, cfg.TerminateLatency = 100*time.Millisecond, 100*time.Millisecond
	s, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})

	id := launch(t, s)
	name := nodeOf(s, id)
	harness.Eventually(t, "a ready node", patience, ready(client, name, corev1.ConditionTrue))
	node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.Status.Allocatable.Memory().String(); got != "6903Mi" || node.Labels["type"] != "karpenter" {
		t.Errorf("kwok changed the node: memory %s, labels %v", got, node.Labels)
	}

	if err := cfg.Kubelet.(kwok.Kubelet).MakeUnhealthy(t.Context(), name, "the runtime is stuck"); err != nil {
		t.Fatal(err)
	}
	for range 20 { // kwok would set it right within a moment
		if seen, unhealthy := ready(client, name, corev1.ConditionFalse)(t.Context()); !unhealthy {
			t.Fatalf("an unhealthy node, %s", seen)
		}
		<-time.After(50 * time.Millisecond)
	}

	hold := fmt.Appendf(nil, `{"metadata":{"finalizers":[%q]}}`, finalizer)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), name, patch.MergePatchType, hold, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(id); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a node that is deleted but held", patience, func(ctx context.Context) (string, bool) {
		seen, done := ready(client, name, corev1.ConditionUnknown)(ctx)
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return seen, done && err == nil && n.DeletionTimestamp != nil
	})
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), name, patch.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "no node", patience, func(ctx context.Context) (string, bool) {
		_, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
}
