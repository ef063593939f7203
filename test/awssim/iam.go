package awssim

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// profile is an instance profile. Guarded by Sim.mu.
type profile struct {
	id, name, path string
	created        time.Time
	role           string // empty for none; a profile holds one at most
	tags           map[string]string
}

// iamService lists the IAM calls.
func (s *Sim) iamService() queryService {
	return queryService{
		name:      "iam",
		namespace: "https://iam.amazonaws.com/doc/2010-05-08/",
		iam:       true,
		actions: map[string]queryAction{
			"AddRoleToInstanceProfile":      s.addRoleToProfile,
			"CreateInstanceProfile":         s.createProfile,
			"DeleteInstanceProfile":         s.deleteProfile,
			"GetInstanceProfile":            s.getProfile,
			"GetRole":                       s.getRole,
			"ListInstanceProfiles":          s.listProfiles,
			"ListInstanceProfilesForRole":   s.listProfilesForRole,
			"RemoveRoleFromInstanceProfile": s.removeRoleFromProfile,
			"TagInstanceProfile":            s.tagProfile,
		},
	}
}

type iamProfile struct {
	Path    string    `xml:"Path"`
	Name    string    `xml:"InstanceProfileName"`
	ID      string    `xml:"InstanceProfileId"`
	ARN     string    `xml:"Arn"`
	Created string    `xml:"CreateDate"`
	Roles   []iamRole `xml:"Roles>member"`
	Tags    []iamTag  `xml:"Tags>member"`
}

type iamRole struct {
	Path    string `xml:"Path"`
	Name    string `xml:"RoleName"`
	ID      string `xml:"RoleId"`
	ARN     string `xml:"Arn"`
	Created string `xml:"CreateDate"`
}

type iamTag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

type profileAnswer struct {
	Profile iamProfile `xml:"InstanceProfile"`
}

type profilesAnswer struct {
	Profiles  []iamProfile `xml:"InstanceProfiles>member"`
	Truncated bool         `xml:"IsTruncated"`
	Marker    string       `xml:"Marker,omitempty"`
}

type nothing struct{}

func (s *Sim) describeProfile(p *profile) iamProfile {
	out := iamProfile{
		Path: p.path, Name: p.name, ID: p.id, ARN: s.profileARN(p.name), Created: p.created.Format(time.RFC3339),
	}
	if p.role != "" {
		out.Roles = []iamRole{s.describeRole(p.role)}
	}
	for _, k := range sortedKeys(p.tags) {
		out.Tags = append(out.Tags, iamTag{k, p.tags[k]})
	}
	return out
}

func (s *Sim) describeRole(name string) iamRole {
	return iamRole{
		Path: "/", Name: name, ID: "AROA" + strings.ToUpper(digest("role", name)[:17]),
		ARN: "arn:aws:iam::" + s.cfg.AccountID + ":role/" + name, Created: "2026-01-01T00:00:00Z",
	}
}

// profileARN is the ARN of a profile, with its path when it exists.
func (s *Sim) profileARN(name string) string {
	path := "/"
	if p := s.profiles[name]; p != nil {
		path = p.path
	}
	return "arn:aws:iam::" + s.cfg.AccountID + ":instance-profile" + path + name
}

// profileOf is the profile that a request names, whose other parameters have been read.
func (s *Sim) profileOf(f *form) (*profile, error) {
	name := f.str("InstanceProfileName")
	if err := f.finish(); err != nil {
		return nil, err
	}
	if p := s.profiles[name]; p != nil {
		return p, nil
	}
	return nil, fail("NoSuchEntity", "Instance Profile %s cannot be found.", name)
}

func (s *Sim) hasRole(name string) error {
	if slices.Contains(s.cfg.Roles, name) {
		return nil
	}
	return fail("NoSuchEntity", "The role with name %s cannot be found.", name)
}

func (s *Sim) createProfile(f *form) (any, error) {
	p := &profile{
		name: f.str("InstanceProfileName"), path: f.str("Path"), created: s.clock.Now(), tags: f.tags("Tags.member"),
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	orString(&p.path, "/")
	switch {
	case !regexp.MustCompile(`^[\w+=,.@-]{1,128}$`).MatchString(p.name):
		return nil, fail("ValidationError", "The specified value for instanceProfileName is invalid.")
	case !strings.HasPrefix(p.path, "/") || !strings.HasSuffix(p.path, "/"):
		return nil, fail("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	case s.profiles[p.name] != nil:
		return nil, fail("EntityAlreadyExists", "Instance Profile %s already exists.", p.name)
	}
	p.id = "AIPA" + strings.ToUpper(digest(p.name)[:17])
	s.profiles[p.name] = p
	return profileAnswer{s.describeProfile(p)}, nil
}

func (s *Sim) getProfile(f *form) (any, error) {
	p, err := s.profileOf(f)
	if err != nil {
		return nil, err
	}
	return profileAnswer{s.describeProfile(p)}, nil
}

func (s *Sim) deleteProfile(f *form) (any, error) {
	p, err := s.profileOf(f)
	switch {
	case err != nil:
		return nil, err
	case p.role != "":
		return nil, fail("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(s.profiles, p.name)
	return nothing{}, nil
}

func (s *Sim) listProfiles(f *form) (any, error) {
	prefix := f.str("PathPrefix")
	return s.profilePage(f, func(p *profile) bool { return strings.HasPrefix(p.path, prefix) })
}

func (s *Sim) listProfilesForRole(f *form) (any, error) {
	role := f.str("RoleName")
	if err := s.hasRole(role); err != nil {
		return nil, err
	}
	return s.profilePage(f, func(p *profile) bool { return p.role == role })
}

// profilePage lists without tags, as IAM does.
func (s *Sim) profilePage(f *form, pass func(*profile) bool) (any, error) {
	size := f.int("MaxItems", 100)
	after, ok := decodeToken(f.str("Marker"))
	if !ok || size < 1 || size > 1000 {
		return nil, fail("ValidationError", "The specified value for marker or maxItems is invalid.")
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	var all []*profile
	for _, name := range sortedKeys(s.profiles) {
		if pass(s.profiles[name]) {
			all = append(all, s.profiles[name])
		}
	}
	all, marker := cut(all, func(p *profile) string { return p.name }, after, size)
	out := profilesAnswer{Truncated: marker != "", Marker: marker}
	for _, p := range all {
		item := s.describeProfile(p)
		item.Tags = nil
		out.Profiles = append(out.Profiles, item)
	}
	return out, nil
}

func (s *Sim) tagProfile(f *form) (any, error) {
	tags := f.tags("Tags.member")
	p, err := s.profileOf(f)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.tags, tags)
	return nothing{}, nil
}

func (s *Sim) addRoleToProfile(f *form) (any, error) {
	role := f.str("RoleName")
	p, err := s.profileOf(f)
	if err != nil {
		return nil, err
	}
	if err := s.hasRole(role); err != nil {
		return nil, err
	}
	if p.role != "" {
		return nil, fail("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.role = role
	return nothing{}, nil
}

func (s *Sim) removeRoleFromProfile(f *form) (any, error) {
	role := f.str("RoleName")
	p, err := s.profileOf(f)
	if err != nil {
		return nil, err
	}
	if p.role != role {
		return nil, fail("NoSuchEntity", "The role with name %s cannot be found in instance profile %s.", role, p.name)
	}
	p.role = ""
	return nothing{}, nil
}

func (s *Sim) getRole(f *form) (any, error) {
	name := f.str("RoleName")
	if err := f.finish(); err != nil {
		return nil, err
	}
	if err := s.hasRole(name); err != nil {
		return nil, err
	}
	return struct {
		Role iamRole `xml:"Role"`
	}{s.describeRole(name)}, nil
}
