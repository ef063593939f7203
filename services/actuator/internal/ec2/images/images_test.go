package images

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

func TestImagesOfOtherArchitecturesAreNone(t *testing.T) {
	for said, want := range map[types.ArchitectureValues]string{"x86_64": "amd64", "arm64": "arm64", "i386": "", "x86_64_mac": "", "arm64_mac": ""} {
		got, ok := image(&types.Image{ImageId: aws.String("ami-1"), Architecture: said, State: types.ImageStateAvailable}, time.Unix(0, 0))
		if ok != (want != "") || ok && got.Requirements[0].Values[0] != want {
			t.Errorf("%s: %+v, %v; want %q", said, got, ok, want)
		}
	}
}

func TestAnAliasLeadsToItsBuilds(t *testing.T) {
	tests := map[string]struct {
		alias, kubernetes string
		want              []string // parameter, then what instance types it boots on
	}{
		"AL2023": {"al2023@latest", "1.34", []string{
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id amd64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/recommended/image_id arm64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id amd64 +gpu",
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/nvidia/recommended/image_id arm64 +gpu",
			"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/neuron/recommended/image_id amd64 +accelerator",
		}},
		"AL2": {"al2@latest", "1.32", []string{
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id amd64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id arm64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id amd64 +gpu",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id amd64 +accelerator",
		}},
		"AL2 of a day": {"al2@v20251101", "1.32", []string{
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20251101/image_id amd64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20251101/image_id arm64 -gpu -accelerator",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20251101/image_id amd64 +gpu",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20251101/image_id amd64 +accelerator",
		}},
		"Bottlerocket of a version": {"bottlerocket@v1.50.0", "1.34", []string{
			"/aws/service/bottlerocket/aws-k8s-1.34/x86_64/1.50.0/image_id amd64 -gpu",
			"/aws/service/bottlerocket/aws-k8s-1.34/arm64/1.50.0/image_id arm64 -gpu",
			"/aws/service/bottlerocket/aws-k8s-1.34-nvidia/x86_64/1.50.0/image_id amd64 +gpu",
			"/aws/service/bottlerocket/aws-k8s-1.34-nvidia/arm64/1.50.0/image_id arm64 +gpu",
		}},
		"Windows 2022": {"windows2022@latest", "1.34", []string{
			"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id amd64",
		}},
		"Windows 2025": {"windows2025@latest", "1.35", []string{
			"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.35/image_id amd64",
		}},
		"AL2 for a version that has none":          {"al2@latest", "1.33", nil},
		"Windows 2025 for a version that has none": {"windows2025@latest", "1.34", nil},
	}
	for name, tt := range tests {
		builds, err := buildsOf(tt.alias, tt.kubernetes)
		var unsupported *UnsupportedError
		if errors.As(err, &unsupported) != (tt.want == nil) || (err != nil) != (tt.want == nil) {
			t.Errorf("%s: error %v", name, err)
		}
		var got []string
		for _, b := range builds {
			text := b.parameter
			for _, r := range b.requirements {
				switch kind := strings.TrimSuffix(strings.TrimPrefix(r.Key, "karpenter.k8s.aws/instance-"), "-count"); r.Operator.String() {
				case "Exists":
					text += " +" + kind
				case "DoesNotExist":
					text += " -" + kind
				default:
					text += fmt.Sprint(" ", strings.Join(r.Values, ","))
				}
			}
			got = append(got, text)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	if _, err := buildsOf("ubuntu@latest", "1.34"); !errors.Is(err, cloud.ErrInvalid) {
		t.Errorf("error %v, want that the alias is invalid", err)
	}
}
