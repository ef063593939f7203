// Package profiles makes the IAM instance profiles of node classes that name a role. A profile holds one role for as
// long as it exists: its name is of the class and the role, so that another role makes another profile, and what
// instances run with is never changed. One of a former role goes once no instance has it.
//
// It must never know what a class is for. Its errors are the SDK's, wrapped. Start reading at Profiles.Ensure.
package profiles

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/kerf-dev/kerf/services/actuator/internal/awserror"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Config is what profiles depend on.
type Config struct {
	Cluster, Region string
	IAM             *iam.Client
	EC2             *sdk.Client
	// Tags are on all that is made for the cluster.
	Tags map[string]string
	Log  *slog.Logger
	Now  func() time.Time
}

// Profiles are the instance profiles of a cluster's classes. Safe for concurrent use.
type Profiles struct {
	Config

	mu sync.Mutex
	// current is each class's profile, by what its spec said last.
	current map[model.NodeClassName]string
	// made are those that this process found or made for roles of each class.
	made map[model.NodeClassName]map[string]bool
	// idle is since when a profile is seen to be no class's, and no instance's.
	idle map[string]time.Time
	// unknown is when EC2 said last that it does not know a profile that a user names.
	unknown map[string]time.Time
	// unlisted tells that profiles can't be listed, unreached that IAM can't be asked.
	unlisted, unreached sync.Once
}

// New makes profiles of which none is known.
func New(c Config) *Profiles {
	return &Profiles{
		Config: c, current: map[model.NodeClassName]string{}, made: map[model.NodeClassName]map[string]bool{}, idle: map[string]time.Time{},
		unknown: map[string]time.Time{},
	}
}

func notFound(err error) bool { return awserror.Of(err) == awserror.NotFound }

// profilePrefix is how the cluster's profiles' names begin; profiles of clusters whose names begin alike have it, too.
func (x *Profiles) profilePrefix() string { return "kerf-" + x.Cluster[:min(len(x.Cluster), 64)] + "-" }

// classProfile is how the class's profiles' names begin, and the whole name of one that an earlier release made.
func (x *Profiles) classProfile(class model.NodeClassName) string {
	sum := sha256.Sum256([]byte(x.Region + "\x00" + x.Cluster + "\x00" + string(class)))
	return x.profilePrefix() + hex.EncodeToString(sum[:8])
}

// profileName is the instance profile that Kerf makes for a class with a role; at most 128 characters.
func (x *Profiles) profileName(class model.NodeClassName, role string) string {
	sum := sha256.Sum256([]byte(role))
	return x.classProfile(class) + "-" + hex.EncodeToString(sum[:4])
}

// bareRole is the role as IAM answers with it: without its path.
func bareRole(role string) string { return role[strings.LastIndex(role, "/")+1:] }

// profile is an instance profile, with its role; "" for none.
type profile struct {
	name, arn, role string
	tags            map[string]string
}

// getProfile reads a profile; false where there is none.
func (x *Profiles) getProfile(ctx context.Context, name string) (profile, bool, error) {
	got, err := x.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if notFound(err) || err == nil && got.InstanceProfile == nil {
		return profile{}, false, nil
	}
	if err != nil {
		return profile{}, false, fmt.Errorf("get instance profile %s: %w", name, err)
	}
	p := profile{name: name, arn: aws.ToString(got.InstanceProfile.Arn), tags: map[string]string{}}
	for _, r := range got.InstanceProfile.Roles {
		p.role = aws.ToString(r.RoleName)
	}
	for _, t := range got.InstanceProfile.Tags {
		p.tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return p, true, nil
}

// held is what there is of a class's profile: its name, "" where none has the role yet; what is wrong with it, in
// words; and that there is one that was given no role yet.
type held struct {
	name, wrong string
	roleless    bool
}

// have looks for the profile with the class's role. One that an earlier release made, when profiles were of the class
// alone, is as good.
func (x *Profiles) have(ctx context.Context, class model.NodeClassName, role string) (held, error) {
	bare := bareRole(role)
	own := x.profileName(class, bare)
	roleless := false
	for _, candidate := range []string{own, x.classProfile(class)} {
		p, there, err := x.getProfile(ctx, candidate)
		switch {
		case err != nil:
			return held{}, err
		case there && p.role == bare:
			return held{name: candidate}, nil
		case there && candidate == own && p.role != "":
			return held{wrong: fmt.Sprintf("instance profile %s was given the role %s: take it off", own, p.role)}, nil
		}
		roleless = roleless || there && candidate == own
	}
	return held{roleless: roleless}, nil
}

// Find finds the profile with the class's role, or says in words what is missing.
func (x *Profiles) Find(ctx context.Context, class model.NodeClassName, role string) (name, missing string, err error) {
	h, err := x.have(ctx, class, role)
	if err == nil && h.name == "" && h.wrong == "" {
		h.wrong = "instance profile " + x.profileName(class, bareRole(role)) + " is not made yet"
	}
	return h.name, h.wrong, err
}

// Ensure finds the profile with the class's role, or makes it. `missing` says, in words for the user, that the role does
// not exist, or that the profile is not as it was made.
func (x *Profiles) Ensure(ctx context.Context, class model.NodeClassName, role string) (name, missing string, err error) {
	h, err := x.have(ctx, class, role)
	if err != nil || h.wrong != "" {
		return "", h.wrong, err
	}
	name = h.name
	if name == "" {
		name, missing, err = x.make(ctx, class, role, h.roleless)
	}
	if name != "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.current[class] = name
		if x.made[class] == nil {
			x.made[class] = map[string]bool{}
		}
		x.made[class][name] = true
	}
	return name, missing, err
}

// Named notes that the class names a profile of its user's. What was made for a role that it had before is a former one
// then.
func (x *Profiles) Named(class model.NodeClassName, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current[class] = name
}

// Unknown notes that EC2 has said that it does not know a profile which a user names. IAM need not be asked for that,
// whose rights are those of Kerf's own profiles.
func (x *Profiles) Unknown(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unknown[name] = x.Now()
}

// UnknownAt is when EC2 said so last; zero: never.
func (x *Profiles) UnknownAt(name string) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.unknown[name]
}

// make makes the profile, unless it is there and only lacks the role, and gives it the role.
func (x *Profiles) make(ctx context.Context, class model.NodeClassName, role string, there bool) (name, missing string, err error) {
	bare := bareRole(role)
	name = x.profileName(class, bare)
	if !there {
		_, err = x.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
			InstanceProfileName: aws.String(name), Tags: x.profileTags(class),
		})
		if err != nil && awserror.Of(err) != awserror.Exists {
			return "", "", fmt.Errorf("create instance profile %s: %w", name, err)
		}
	}
	_, err = x.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: aws.String(name), RoleName: aws.String(bare),
	})
	// By its words, since the code is the same, IAM may mean the profile, which it has not heard of yet: that is tried
	// again.
	if notFound(err) && !strings.Contains(err.Error(), "Instance Profile") {
		return "", "IAM role " + role + " does not exist", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("add role %s to instance profile %s: %w", bare, name, err)
	}
	x.Log.InfoContext(ctx, "created instance profile", "profile", name, "class", class, "role", role)
	return name, "", nil
}

func (x *Profiles) profileTags(class model.NodeClassName) []types.Tag {
	out := []types.Tag{
		{Key: aws.String(labels.NodeClass), Value: aws.String(string(class))}, {Key: aws.String(labels.Region), Value: aws.String(x.Region)},
	}
	for k, v := range x.Tags {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(out, func(a, b types.Tag) int { return cmp.Compare(*a.Key, *b.Key) })
	return out
}

// listProfiles lists the names that begin so. Where the credentials do not allow that there are none, which is logged once.
func (x *Profiles) listProfiles(ctx context.Context, prefix string) ([]string, error) {
	var out []string
	pages := iam.NewListInstanceProfilesPaginator(x.IAM, &iam.ListInstanceProfilesInput{MaxItems: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			if awserror.Of(err) != awserror.Unauthorized {
				return nil, fmt.Errorf("list instance profiles: %w", err)
			}
			x.unlisted.Do(func() {
				x.Log.WarnContext(ctx, "instance profiles of former roles stay: allow iam:ListInstanceProfiles", "error", err)
			})
			return nil, nil
		}
		for _, p := range page.InstanceProfiles {
			if name := aws.ToString(p.InstanceProfileName); strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// Sweep deletes profiles that a class had for a former role, once they were no instance's for the given time. Those of
// classes that this process has not resolved stay: it does not know which they need. Where no class has a role, IAM may
// be out of reach.
func (x *Profiles) Sweep(ctx context.Context, unused time.Duration) error {
	x.mu.Lock()
	needed := len(x.made) > 0
	x.mu.Unlock()
	if needed {
		return x.sweep(ctx, unused)
	}
	return x.optional(ctx, func(ctx context.Context) error { return x.sweep(ctx, unused) })
}

// patience is how long an IAM that need not be there is waited for. Where nothing leads to it, connections hang.
const patience = 10 * time.Second

// optional asks IAM for what may be left undone where it can't be reached, or where the credentials allow nothing of
// it. That is logged once.
func (x *Profiles) optional(ctx context.Context, ask func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := ask(within)
	if err == nil || ctx.Err() != nil || awserror.Code(err) != "" && !awserror.LacksRight(err) {
		return err
	}
	x.unreached.Do(func() {
		x.Log.WarnContext(ctx, "IAM can't be asked: an instance profile that was made for a former role stays, if there is one", "error", err)
	})
	return nil
}

func (x *Profiles) sweep(ctx context.Context, unused time.Duration) error {
	names, err := x.listProfiles(ctx, x.profilePrefix())
	if err != nil {
		return err
	}
	for _, name := range names {
		if x.isCurrent(name) {
			continue
		}
		p, there, err := x.getProfile(ctx, name)
		if err != nil {
			return err
		}
		if !there || p.tags[labels.TagCluster] != x.Cluster || !x.former(p) {
			continue
		}
		used, err := x.profileUsed(ctx, p)
		if err != nil {
			return err
		}
		if idle := x.idleFor(name, used); used || idle < unused {
			continue
		}
		if err := x.deleteProfile(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (x *Profiles) isCurrent(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, current := range x.current {
		if current == name {
			return true
		}
	}
	return false
}

// former says that the profile is of a class that is known to have another. IAM has those of all regions, where a
// cluster and a class may have the same names: the region is in the profile's.
func (x *Profiles) former(p profile) bool {
	class := model.NodeClassName(p.tags[labels.NodeClass])
	x.mu.Lock()
	defer x.mu.Unlock()
	current := x.current[class]
	return current != "" && current != p.name && strings.HasPrefix(p.name, x.classProfile(class))
}

// idleFor is for how long a profile was seen to be no instance's.
func (x *Profiles) idleFor(name string, used bool) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if used {
		delete(x.idle, name)
		return 0
	}
	since, known := x.idle[name]
	if !known {
		since = x.Now()
		x.idle[name] = since
	}
	return x.Now().Sub(since)
}

// profileUsed says that there is an instance with the profile which has not ended.
func (x *Profiles) profileUsed(ctx context.Context, p profile) (bool, error) {
	pages := sdk.NewDescribeInstancesPaginator(x.EC2, &sdk.DescribeInstancesInput{
		Filters: []ec2types.Filter{
			{Name: aws.String("iam-instance-profile.arn"), Values: []string{p.arn}},
			{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}},
		},
		MaxResults: aws.Int32(5),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, fmt.Errorf("list instances with profile %s: %w", p.name, err)
		}
		for _, r := range page.Reservations {
			if len(r.Instances) > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// Release deletes the profiles that Kerf made for the class. Where it has no role, and had none while this process knew
// it, IAM may be out of reach: nothing says that there is any.
func (x *Profiles) Release(ctx context.Context, class model.NodeClassName, role string) error {
	x.mu.Lock()
	made := slices.Sorted(maps.Keys(x.made[class]))
	x.mu.Unlock()
	release := func(ctx context.Context) error { return x.release(ctx, class, made) }
	var err error
	if role != "" || len(made) > 0 {
		err = release(ctx)
	} else {
		err = x.optional(ctx, release)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.current, class)
	delete(x.made, class)
	return nil
}

// release deletes the class's profiles, those that were made among them even where they can't be listed.
func (x *Profiles) release(ctx context.Context, class model.NodeClassName, made []string) error {
	names, err := x.listProfiles(ctx, x.classProfile(class))
	if err != nil {
		return err
	}
	for _, name := range append(append(names, made...), x.classProfile(class)) {
		p, there, err := x.getProfile(ctx, name)
		if err == nil && there {
			err = x.deleteProfile(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *Profiles) deleteProfile(ctx context.Context, p profile) error {
	if p.role != "" {
		_, err := x.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: aws.String(p.name), RoleName: aws.String(p.role),
		})
		if err != nil && !notFound(err) {
			return fmt.Errorf("remove role %s from instance profile %s: %w", p.role, p.name, err)
		}
	}
	_, err := x.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(p.name)})
	if err != nil && !notFound(err) {
		return fmt.Errorf("delete instance profile %s: %w", p.name, err)
	}
	x.mu.Lock()
	delete(x.idle, p.name)
	for _, names := range x.made {
		delete(names, p.name)
	}
	x.mu.Unlock()
	x.Log.InfoContext(ctx, "deleted instance profile", "profile", p.name, "role", p.role)
	return nil
}
