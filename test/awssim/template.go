package awssim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

// launchTemplate is a launch template with its only version. Guarded by Sim.mu.
type launchTemplate struct {
	id, name string
	created  time.Time
	tags     map[string]string
	data     templateData
}

// templateData is the part of LaunchTemplateData that the simulator acts on or shows.
type templateData struct {
	imageID, instanceType string
	profileName           string
	userData              []byte
	securityGroups        []string
	subnetID              string // of the first network interface
	interfaces            []networkInterface
	tenancy               string
	// group is the id of a placement group, reservation that of a capacity reservation, and market how they are bought.
	group, reservation, market string
	// closed says that it stays out of open reservations.
	closed  bool
	devices []blockDevice
	tags    map[string]map[string]string // by resource type
}

type templateItem struct {
	ID      string    `xml:"launchTemplateId"`
	Name    string    `xml:"launchTemplateName"`
	Created string    `xml:"createTime"`
	By      string    `xml:"createdBy"`
	Default int       `xml:"defaultVersionNumber"`
	Latest  int       `xml:"latestVersionNumber"`
	Tags    []tagItem `xml:"tagSet>item"`
}

type oneTemplateAnswer struct {
	Template templateItem `xml:"launchTemplate"`
}

func (s *Sim) describeTemplate(t *launchTemplate) templateItem {
	return templateItem{
		ID: t.id, Name: t.name, Created: t.created.Format(time.RFC3339),
		By: "arn:aws:iam::" + s.cfg.AccountID + ":role/awssim", Default: 1, Latest: 1, Tags: tagItems(t.tags),
	}
}

// createLaunchTemplate makes version 1. With a client token the same request again gets the same answer.
func (s *Sim) createLaunchTemplate(f *form) (any, error) {
	f.ignore("VersionDescription")
	token, name := f.str("ClientToken"), f.str("LaunchTemplateName")
	tags := tagSpecs(f, "TagSpecification")
	data := readTemplateData(f)
	if err := checkTemplate(name, data); err != nil && f.bad == nil {
		f.bad = err
	}
	if err := f.checked(); err != nil {
		return nil, err
	}
	return s.once("CreateLaunchTemplate", token, f, func() (any, error) {
		if s.templateNamed(name) != nil {
			return nil, fail("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
		t := &launchTemplate{
			id: s.newID("lt-"), name: name, created: s.clock.Now(), tags: tags["launch-template"], data: data,
		}
		s.templates[t.id] = t
		return oneTemplateAnswer{s.describeTemplate(t)}, nil
	})
}

func checkTemplate(name string, d templateData) error {
	if !regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`).MatchString(name) {
		return fail("InvalidLaunchTemplateName.MalformedException", "A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _.")
	}
	if len(d.userData) > userdata.MaxBytes {
		return fail("InvalidUserData.Malformed", "User data is limited to %d bytes", userdata.MaxBytes)
	}
	return nil
}

// readTemplateData reads LaunchTemplateData.*. What would change how an instance boots or is sold, and is not
// simulated, stays unread and is refused.
func readTemplateData(f *form) templateData {
	const p = "LaunchTemplateData."
	f.ignore(p+"Monitoring", p+"EbsOptimized", p+"KeyName", p+"CreditSpecification",
		p+"DisableApiStop", p+"DisableApiTermination", p+"InstanceInitiatedShutdownBehavior", p+"MaintenanceOptions",
		p+"PrivateDnsNameOptions", p+"CpuOptions", p+"EnclaveOptions", p+"NetworkPerformanceOptions")
	d := templateData{
		imageID: f.str(p + "ImageId"), instanceType: f.str(p + "InstanceType"),
		profileName: profileRef(f, p+"IamInstanceProfile"),
		userData:    f.base64(p + "UserData"), securityGroups: f.list(p + "SecurityGroupId"),
		tenancy: f.str(p + "Placement.Tenancy"), tags: tagSpecs(f, p+"TagSpecification"),
		devices: readDevices(f, p+"BlockDeviceMapping"),
	}
	if d.tenancy != "" && d.tenancy != "default" && d.tenancy != "dedicated" {
		f.reject(p+"Placement.Tenancy", d.tenancy)
	}
	readReserved(f, p, &d)
	readMetadata(f, p+"MetadataOptions")
	groups := len(d.securityGroups) > 0
	for i, n := range f.items(p + "NetworkInterface") {
		if groups && f.bad == nil {
			f.bad = fail("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
		}
		readInterface(f, n, i == 0, &d)
	}
	return d
}

// readReserved reads where an instance is placed, and what it is bought from.
func readReserved(f *form, p string, d *templateData) {
	d.group = f.str(p + "Placement.GroupId")
	d.market = f.str(p + "InstanceMarketOptions.MarketType")
	if d.market != "" && d.market != blockMarket && d.market != interruptibleMarket {
		f.reject(p+"InstanceMarketOptions.MarketType", d.market)
	}
	const key = "CapacityReservationSpecification."
	d.reservation = f.str(p + key + "CapacityReservationTarget.CapacityReservationId")
	preference := f.str(p + key + "CapacityReservationPreference")
	d.closed = preference == "none"
	switch {
	case !slices.Contains([]string{"", "none", "open", "capacity-reservations-only"}, preference):
		f.reject(p+key+"CapacityReservationPreference", preference)
	case preference == "none" && d.reservation != "" && f.bad == nil:
		f.bad = fail("InvalidParameterCombination", "A Capacity Reservation target cannot be specified with the preference none.")
	}
}

// readMetadata checks the metadata options, which change nothing in the simulated world.
func readMetadata(f *form, p string) {
	for key, words := range map[string][]string{
		"HttpEndpoint": {"enabled", "disabled"}, "HttpProtocolIpv6": {"enabled", "disabled"},
		"HttpTokens": {"optional", "required"}, "InstanceMetadataTags": {"enabled", "disabled"},
	} {
		if v := f.str(p + "." + key); v != "" && !slices.Contains(words, v) {
			f.reject(p+"."+key, v)
		}
	}
	if hops := f.int(p+".HttpPutResponseHopLimit", 1); hops < 1 || hops > 64 {
		f.reject(p+".HttpPutResponseHopLimit", strconv.FormatInt(hops, 10))
	}
}

// profileRef reads the name of an instance profile given by name or ARN.
func profileRef(f *form, key string) string {
	arn, name := f.str(key+".Arn"), f.str(key+".Name")
	if name != "" {
		return name
	}
	return arn[strings.LastIndex(arn, "/")+1:]
}

// tagSpecs reads TagSpecification.N into tags by resource type.
func tagSpecs(f *form, key string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, t := range f.items(key) {
		kind := f.str(t + ".ResourceType")
		if _, twice := out[kind]; twice && f.bad == nil {
			f.bad = fail("InvalidParameterValue", "Duplicate resource type '%s' in tag specifications.", kind)
		}
		out[kind] = f.tags(t + ".Tag")
	}
	return out
}

func (s *Sim) templateNamed(name string) *launchTemplate {
	for _, t := range s.templates {
		if t.name == name {
			return t
		}
	}
	return nil
}

// templateForLaunch finds the template as launches see it: for a while after it was made they do not.
func (s *Sim) templateForLaunch(id, name string) (*launchTemplate, error) {
	t, err := s.templateRef(id, name)
	if err == nil && s.clock.Now().Before(t.created.Add(s.cfg.TemplateLag)) {
		return nil, noTemplate(id, name)
	}
	return t, err
}

func noTemplate(id, name string) error {
	if id != "" {
		return fail("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	}
	return fail("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}

// templateRef finds the template that a request names by id or name.
func (s *Sim) templateRef(id, name string) (*launchTemplate, error) {
	if (id == "") == (name == "") {
		return nil, fail("InvalidParameterCombination", "Exactly one of launch template ID and launch template name must be specified.")
	}
	t := s.templates[id]
	if name != "" {
		t = s.templateNamed(name)
	}
	if t == nil {
		return nil, noTemplate(id, name)
	}
	return t, nil
}

func checkVersion(version string) error {
	switch version {
	case "", "1", "$Latest", "$Default":
		return nil
	}
	if _, err := strconv.Atoi(version); err != nil {
		return fail("InvalidLaunchTemplateVersion.Malformed", "The launch template version %s is malformed.", version)
	}
	return fail("InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version %s.", version)
}

func (s *Sim) deleteLaunchTemplate(f *form) (any, error) {
	id, name := f.str("LaunchTemplateId"), f.str("LaunchTemplateName")
	if err := f.checked(); err != nil {
		return nil, err
	}
	t, err := s.templateRef(id, name)
	if err != nil {
		return nil, err
	}
	delete(s.templates, t.id)
	return oneTemplateAnswer{s.describeTemplate(t)}, nil
}

type templatesAnswer struct {
	Templates []templateItem `xml:"launchTemplates>item"`
	NextToken string         `xml:"nextToken,omitempty"`
}

func (s *Sim) describeLaunchTemplates(f *form) (any, error) {
	f.ignore("IncludeManagedResources")
	attrs := attributes[*launchTemplate]{
		tags: func(t *launchTemplate) map[string]string { return t.tags },
		by: map[string]func(*launchTemplate) []string{
			"launch-template-name": func(t *launchTemplate) []string { return one(t.name) },
			"create-time":          func(t *launchTemplate) []string { return one(t.created.Format(time.RFC3339)) },
		},
	}
	ids, names, fs := f.list("LaunchTemplateId"), f.list("LaunchTemplateName"), filters(f, attrs)
	for _, n := range names {
		t, err := s.templateRef("", n)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.id)
	}
	all, err := selected(s.templates, ids, "InvalidLaunchTemplateId.NotFound", "launch template ID")
	if err != nil {
		return nil, err
	}
	all = keep(all, func(t *launchTemplate) bool { return attrs.passes(t, fs) })
	all, token := page(f, all, func(t *launchTemplate) string { return t.id }, pageBounds{1, 200, 200})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := templatesAnswer{NextToken: token}
	for _, t := range all {
		out.Templates = append(out.Templates, s.describeTemplate(t))
	}
	return out, nil
}
