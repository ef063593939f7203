package template

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
)

const gib = 1 << 30

// blockDevices are the class's mappings, or the family's own. Sizes are rounded up to whole GiB, which EC2 counts in.
func blockDevices(s cloud.ClassSpec) []types.LaunchTemplateBlockDeviceMappingRequest {
	devices := s.BlockDevices
	if len(devices) == 0 {
		devices = defaultDevices(awsv1.AMIFamily(s.AMIFamily))
	}
	out := make([]types.LaunchTemplateBlockDeviceMappingRequest, 0, len(devices))
	for _, d := range devices {
		ebs := &types.LaunchTemplateEbsBlockDeviceRequest{
			DeleteOnTermination: d.DeleteOnTermination, Encrypted: d.Encrypted, VolumeType: types.VolumeType(d.VolumeType),
		}
		if d.VolumeBytes > 0 {
			ebs.VolumeSize = aws.Int32(int32((d.VolumeBytes + gib - 1) / gib))
		}
		if d.IOPS > 0 {
			ebs.Iops = aws.Int32(int32(d.IOPS))
		}
		if d.Throughput > 0 {
			ebs.Throughput = aws.Int32(int32(d.Throughput))
		}
		if d.InitializationRate > 0 {
			ebs.VolumeInitializationRate = aws.Int32(d.InitializationRate)
		}
		if d.KMSKeyID != "" {
			ebs.KmsKeyId = aws.String(d.KMSKeyID)
		}
		if d.SnapshotID != "" {
			ebs.SnapshotId = aws.String(d.SnapshotID)
		}
		out = append(out, types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: aws.String(d.DeviceName), Ebs: ebs})
	}
	return out
}

// defaultDevices are encrypted gp3: 20 GiB, for Bottlerocket 4 GiB for the system beside it, and 50 GiB for Windows.
func defaultDevices(f awsv1.AMIFamily) []cloud.BlockDevice {
	disk := func(name string, bytes int64) cloud.BlockDevice {
		return cloud.BlockDevice{DeviceName: name, VolumeBytes: bytes, VolumeType: "gp3", Encrypted: aws.Bool(true)}
	}
	switch f {
	case awsv1.FamilyBottlerocket:
		return []cloud.BlockDevice{disk("/dev/xvda", 4*gib), disk("/dev/xvdb", 20*gib)}
	case awsv1.FamilyWindows2019, awsv1.FamilyWindows2022, awsv1.FamilyWindows2025:
		return []cloud.BlockDevice{disk("/dev/sda1", 50*gib)}
	case awsv1.FamilyCustom:
		return nil // the image's own
	default:
		return []cloud.BlockDevice{disk("/dev/xvda", 20*gib)}
	}
}
