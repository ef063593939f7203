package ec2

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// profileName is the instance profile that Kerf makes for a class; at most 128 characters.
func (a *Adapter) profileName(class model.NodeClassName) string {
	sum := sha256.Sum256([]byte(a.region + "\x00" + a.cluster + "\x00" + string(class)))
	cluster := a.cluster
	if len(cluster) > 64 {
		cluster = cluster[:64]
	}
	return "kerf-" + cluster + "-" + hex.EncodeToString(sum[:8])
}

// ensureProfile makes the class's instance profile hold exactly the class's role. `missing` says, in words for the user,
// that the role does not exist.
func (a *Adapter) ensureProfile(ctx context.Context, s cloud.ClassSpec) (profile, missing string, err error) {
	name := a.profileName(s.Name)
	role := s.Role[strings.LastIndex(s.Role, "/")+1:] // IAM answers with the bare name of a role that has a path
	got, err := a.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	switch {
	case isNotFound(err):
		_, err = a.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
			InstanceProfileName: aws.String(name), Tags: a.profileTags(s.Name),
		})
		if err != nil && !isExists(err) {
			return "", "", fmt.Errorf("create instance profile %s: %w", name, classify(err))
		}
		a.log.InfoContext(ctx, "created instance profile", "profile", name, "class", s.Name)
	case err != nil:
		return "", "", fmt.Errorf("get instance profile %s: %w", name, classify(err))
	case got.InstanceProfile != nil:
		for _, r := range got.InstanceProfile.Roles {
			if aws.ToString(r.RoleName) == role {
				return name, "", nil
			}
			if err := a.removeRole(ctx, name, aws.ToString(r.RoleName)); err != nil {
				return "", "", err
			}
		}
	}

	_, err = a.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: aws.String(name), RoleName: aws.String(role),
	})
	if isNotFound(err) {
		return "", "IAM role " + s.Role + " does not exist", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("add role %s to instance profile %s: %w", role, name, classify(err))
	}
	return name, "", nil
}

func (a *Adapter) profileTags(class model.NodeClassName) []types.Tag {
	tags := a.ownTags()
	tags[tagClass] = string(class)
	var out []types.Tag
	for _, t := range sortedTags(tags) {
		out = append(out, types.Tag{Key: t.Key, Value: t.Value})
	}
	return out
}

func (a *Adapter) removeRole(ctx context.Context, profile, role string) error {
	_, err := a.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: aws.String(profile), RoleName: aws.String(role),
	})
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("remove role %s from instance profile %s: %w", role, profile, classify(err))
	}
	return nil
}

// deleteProfile deletes the profile that Kerf made for the class, if there is one.
func (a *Adapter) deleteProfile(ctx context.Context, class model.NodeClassName) error {
	name := a.profileName(class)
	got, err := a.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get instance profile %s: %w", name, classify(err))
	}
	if got.InstanceProfile != nil {
		for _, r := range got.InstanceProfile.Roles {
			if err := a.removeRole(ctx, name, aws.ToString(r.RoleName)); err != nil {
				return err
			}
		}
	}
	_, err = a.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("delete instance profile %s: %w", name, classify(err))
	}
	a.log.InfoContext(ctx, "deleted instance profile", "profile", name, "class", class)
	return nil
}
