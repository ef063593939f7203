package e2e_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/nodeclass"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

// wireClass is the class that each of wireCases changes.
const wireClass = `
role: KerfNodeRole-test
amiSelectorTerms: [{alias: al2023@latest}]
subnetSelectorTerms: [{tags: {karpenter.sh/discovery: test}}]
securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: test}}]
`

// wireCase is what a field of a class does to the requests that a launch sends.
type wireCase struct {
	spec string         // laid over wireClass, field by field; fields that have nothing to do with each other share one
	on   model.TypeName // the type that is launched; "" is m5.large
	want []string       // lines of recorded.lines that are there, and are not without the field
}

// wireCases are by field, as a path below spec.
func wireCases() map[string]wireCase {
	const imds = "metadataOptions: {httpEndpoint: disabled, httpProtocolIPv6: enabled, httpPutResponseHopLimit: 7, httpTokens: optional}"
	const tracking = "connectionTracking: {tcpEstablishedTimeout: 600, udpStreamTimeout: 70, udpTimeout: 40}"
	const disk = "blockDeviceMappings: [{deviceName: /dev/xvdz, ebs: {volumeSize: 30G, deleteOnTermination: true, encrypted: true, iops: 4000, " +
		"kmsKeyID: alias/k, throughput: 300, volumeType: gp3}}]"
	const snapshot = "blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {snapshotID: snap-0a, volumeInitializationRate: 200, encrypted: false, volumeType: io2, iops: 4000}}]"
	const interfaces = "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]"
	template := func(lines ...string) []string {
		for i := range lines {
			lines[i] = "CreateLaunchTemplate " + lines[i]
		}
		return lines
	}
	const ebs, own, metadata = "BlockDeviceMapping.1.Ebs.", "NetworkInterface.1.", "MetadataOptions."
	return map[string]wireCase{
		"subnetSelectorTerms.tags":        {"subnetSelectorTerms: [{tags: {team: a, any: '*'}}]", "", []string{"DescribeSubnets filter tag:team=a", "DescribeSubnets filter tag-key=any"}},
		"subnetSelectorTerms.id":          {"subnetSelectorTerms: [{id: subnet-0aaaaaaaaaaaaaaa1}]", "", []string{"DescribeSubnets filter subnet-id=subnet-0aaaaaaaaaaaaaaa1"}},
		"securityGroupSelectorTerms.tags": {"securityGroupSelectorTerms: [{tags: {team: a}}]", "", []string{"DescribeSecurityGroups filter tag:team=a", "CreateLaunchTemplate NetworkInterface.1.SecurityGroupId.1=sg-0b"}},
		"securityGroupSelectorTerms.id":   {"securityGroupSelectorTerms: [{id: sg-0b}]", "", []string{"DescribeSecurityGroups filter group-id=sg-0b"}},
		"securityGroupSelectorTerms.name": {"securityGroupSelectorTerms: [{name: other}]", "", []string{"DescribeSecurityGroups filter group-name=other"}},

		"capacityReservationSelectorTerms.tags": {
			"capacityReservationSelectorTerms: [{tags: {team: a}}]", "",
			[]string{"DescribeCapacityReservations filter tag:team=a", "CreateLaunchTemplate CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-0a"},
		},
		"capacityReservationSelectorTerms.id":      {"capacityReservationSelectorTerms: [{id: cr-0a}]", "", []string{"DescribeCapacityReservations CapacityReservationId.1=cr-0a"}},
		"capacityReservationSelectorTerms.ownerID": {"capacityReservationSelectorTerms: [{tags: {team: a}, ownerID: '111122223333'}]", "", []string{"DescribeCapacityReservations filter owner-id=111122223333"}},
		"capacityReservationSelectorTerms.instanceMatchCriteria": {
			"capacityReservationSelectorTerms: [{tags: {team: a}, instanceMatchCriteria: targeted}]", "", []string{"DescribeCapacityReservations filter instance-match-criteria=targeted"},
		},
		"placementGroupSelector.name": {"placementGroupSelector: {name: near}", "", []string{"DescribePlacementGroups filter group-name=near", "CreateLaunchTemplate Placement.GroupId=pg-0a"}},
		"placementGroupSelector.id":   {"placementGroupSelector: {id: pg-0a}", "", template("Placement.GroupId=pg-0a")},

		"associatePublicIPAddress": {"associatePublicIPAddress: false", "", template(own + "AssociatePublicIpAddress=false")},
		"ipPrefixCount":            {"ipPrefixCount: 3", "", template(own + "Ipv4PrefixCount=3")},

		"amiSelectorTerms.alias":        {"amiSelectorTerms: [{alias: bottlerocket@latest}]", "", []string{"GetParameter ~/aws/service/bottlerocket/"}},
		"amiSelectorTerms.tags":         {"amiFamily: AL2023\namiSelectorTerms: [{tags: {team: a}}]", "", []string{"DescribeImages filter tag:team=a"}},
		"amiSelectorTerms.id":           {"amiFamily: AL2023\namiSelectorTerms: [{id: ami-0a}]", "", []string{"DescribeImages filter image-id=ami-0a", "CreateLaunchTemplate ImageId=ami-0a"}},
		"amiSelectorTerms.name":         {"amiFamily: AL2023\namiSelectorTerms: [{name: mine-*}]", "", []string{"DescribeImages filter name=mine-*", "DescribeImages Owner.1=self"}},
		"amiSelectorTerms.owner":        {"amiFamily: AL2023\namiSelectorTerms: [{name: mine-*, owner: '111122223333'}]", "", []string{"DescribeImages Owner.1=111122223333"}},
		"amiSelectorTerms.ssmParameter": {"amiFamily: AL2023\namiSelectorTerms: [{ssmParameter: /images/mine}]", "", []string{"GetParameter ~/images/mine"}},
		"amiFamily":                     {"amiFamily: Bottlerocket\namiSelectorTerms: [{id: ami-0a}]", "", template("UserData~[settings.kubernetes]")},
		"userData":                      {"userData: 'echo hello'\namiFamily: Custom\namiSelectorTerms: [{id: ami-0a}]", "", template("UserData=echo hello")},
		"role":                          {"role: Other", "", []string{"AddRoleToInstanceProfile RoleName=Other"}},
		"instanceProfile":               {"role: null\ninstanceProfile: theirs", "", template("IamInstanceProfile.Name=theirs")},
		"tags":                          {"tags: {team: a}", "", []string{"CreateFleet tag team=a", "CreateLaunchTemplate tag team=a"}},
		"kubelet":                       {"kubelet: {maxPods: 17, topologyManagerPolicy: restricted}", "", template(`UserData~"maxPods":17`, `UserData~"topologyManagerPolicy":"restricted"`)},

		"blockDeviceMappings.deviceName":                   {disk, "", template("BlockDeviceMapping.1.DeviceName=/dev/xvdz")},
		"blockDeviceMappings.ebs.deleteOnTermination":      {disk, "", template(ebs + "DeleteOnTermination=true")},
		"blockDeviceMappings.ebs.encrypted":                {snapshot, "", template(ebs + "Encrypted=false")},
		"blockDeviceMappings.ebs.iops":                     {disk, "", template(ebs + "Iops=4000")},
		"blockDeviceMappings.ebs.kmsKeyID":                 {disk, "", template(ebs + "KmsKeyId=alias/k")},
		"blockDeviceMappings.ebs.snapshotID":               {snapshot, "", template(ebs + "SnapshotId=snap-0a")},
		"blockDeviceMappings.ebs.throughput":               {disk, "", template(ebs + "Throughput=300")},
		"blockDeviceMappings.ebs.volumeInitializationRate": {snapshot, "", template(ebs + "VolumeInitializationRate=200")},
		"blockDeviceMappings.ebs.volumeSize":               {disk, "", template(ebs + "VolumeSize=28")},
		"blockDeviceMappings.ebs.volumeType":               {snapshot, "", template(ebs + "VolumeType=io2")},
		"instanceStorePolicy":                              {"instanceStorePolicy: RAID0", "m5d.large", template(`UserData~"strategy":"RAID0"`)},

		"networkInterfaces.networkCardIndex": {interfaces, "p5.48xlarge", template("NetworkInterface.2.NetworkCardIndex=1")},
		"networkInterfaces.deviceIndex":      {interfaces, "p5.48xlarge", template("NetworkInterface.2.DeviceIndex=1")},
		"networkInterfaces.interfaceType":    {interfaces, "p5.48xlarge", template("NetworkInterface.2.InterfaceType=efa-only")},

		"detailedMonitoring": {"detailedMonitoring: true", "", template("Monitoring.Enabled=true")},

		"metadataOptions.httpEndpoint":            {imds, "", template(metadata + "HttpEndpoint=disabled")},
		"metadataOptions.httpProtocolIPv6":        {imds, "", template(metadata + "HttpProtocolIpv6=enabled")},
		"metadataOptions.httpPutResponseHopLimit": {imds, "", template(metadata + "HttpPutResponseHopLimit=7")},
		"metadataOptions.httpTokens":              {imds, "", template(metadata + "HttpTokens=optional")},

		"connectionTracking.tcpEstablishedTimeout": {tracking, "", template(own + "ConnectionTrackingSpecification.TcpEstablishedTimeout=600")},
		"connectionTracking.udpStreamTimeout":      {tracking, "", template(own + "ConnectionTrackingSpecification.UdpStreamTimeout=70")},
		"connectionTracking.udpTimeout":            {tracking, "", template(own + "ConnectionTrackingSpecification.UdpTimeout=40")},

		"cpuOptions.nestedVirtualization": {"cpuOptions: {nestedVirtualization: disabled}", "", template("CpuOptions.NestedVirtualization=disabled")},
		"context":                         {"context: reserved-words", "", []string{"CreateFleet Context=reserved-words"}},
	}
}

// offWire are the fields that no request carries, and why.
func offWire() map[string]string {
	return map[string]string{
		"blockDeviceMappings.rootVolume": "it tells Kerf which disk is the node's ephemeral storage",
	}
}

// TestEachFieldOfAClassIsSeenByEC2 launches with each field set, and reads what AWS was sent for it.
func TestEachFieldOfAClassIsSeenByEC2(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	cases := wireCases()
	for _, path := range fieldsOf(nodeclass.Spec) {
		if _, ok := cases[path]; ok == (offWire()[path] != "") {
			t.Errorf("spec.%s: want it either among wireCases or among offWire", path)
		}
	}
	w := openWire(t)
	sentFor := map[string][]string{}
	lines := func(change string, on model.TypeName) []string {
		key := string(on) + change
		if sentFor[key] == nil {
			sentFor[key] = w.launch(t, key, change, on)
		}
		return sentFor[key]
	}
	for _, path := range slices.Sorted(maps.Keys(cases)) {
		c := cases[path]
		on := cmp.Or(c.on, "m5.large")
		bare, got := lines("", on), lines(c.spec, on)
		for _, line := range c.want {
			if !sent(got, line) || sent(bare, line) {
				t.Errorf("spec.%s: want %q with the field alone; sent:\n%s", path, line, strings.Join(got, "\n"))
			}
		}
	}
}

// sent says whether a line is there. Where it has a ~, only what is before it must be the line's beginning, and what is
// behind be somewhere in the rest.
func sent(lines []string, want string) bool {
	head, part, anywhere := strings.Cut(want, "~")
	return slices.ContainsFunc(lines, func(line string) bool {
		rest, found := strings.CutPrefix(line, head)
		return line == want || anywhere && found && strings.Contains(rest, part)
	})
}

// launch resolves and launches with wireClass and a change, and returns what AWS was sent. No two launches have one token.
func (w *wire) launch(t *testing.T, token, change string, on model.TypeName) []string {
	t.Helper()
	if err := w.classes.Release(t.Context(), cloud.ClassSpec{Name: "default"}); err != nil { // so that its template is written again
		t.Fatal(err)
	}
	w.mu.Lock()
	w.lines = nil
	w.mu.Unlock()
	spec, err := classOf(nodeclass.Spec, change)
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	class, err := w.classes.Resolve(t.Context(), spec)
	if err != nil || !class.NotReady.OK() {
		t.Fatalf("%s: %v, not ready: %s", change, err, class.NotReady.Message)
	}
	o := model.RankedOffering{InstanceType: on, Zone: "us-east-1a", CapacityType: model.OnDemand}
	if len(class.Reservations) > 0 {
		o.CapacityType, o.ReservationID = model.Reserved, class.Reservations[0].ID
	}
	_, err = w.cloud.Launch(t.Context(), cloud.Request{
		Claim: "default-1", Token: fmt.Sprintf("%x", sha256.Sum256([]byte(token))), NodePool: "default", Class: class, Spec: spec, Offerings: []model.RankedOffering{o},
		MaxPods: map[model.TypeName]int64{on: cmp.Or(deref(spec.Kubelet.MaxPods), 29)},
	})
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// classOf reads a class as the actuator does. The object's type is the reader's own.
func classOf[T any](read func(*T, string) (cloud.ClassSpec, error), change string) (cloud.ClassSpec, error) {
	spec := map[string]any{}
	for _, text := range []string{wireClass, change} {
		if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
			return cloud.ClassSpec{}, err
		}
	}
	text, err := yaml.Marshal(map[string]any{"metadata": map[string]any{"name": "default"}, "spec": spec})
	if err != nil {
		return cloud.ClassSpec{}, err
	}
	o := new(T)
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		return cloud.ClassSpec{}, err
	}
	return read(o, "h")
}

// fieldsOf are the paths of all fields below spec of the object that a reader takes.
func fieldsOf[T any](func(*T, string) (cloud.ClassSpec, error)) []string {
	var out []string
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "kerf") {
			out = append(out, prefix)
			return
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			walk(strings.TrimPrefix(prefix+"."+name, "."), f.Type)
		}
	}
	spec, _ := reflect.TypeFor[T]().FieldByName("Spec")
	walk("", spec.Type)
	return out
}

// wire is an AWS that notes what it is sent.
type wire struct {
	cloud   cloud.Cloud
	classes cloud.Classes

	mu    sync.Mutex
	lines []string
}

func openWire(t *testing.T) *wire {
	t.Helper()
	cfg := awssim.Default("test")
	team := map[string]string{"team": "a", "any": "b"}
	maps.Copy(cfg.Subnets[0].Tags, team)
	cfg.SecurityGroups = append(cfg.SecurityGroups, awssim.SecurityGroup{ID: "sg-0b", Name: "other", Tags: team})
	cfg.Roles = append(cfg.Roles, "Other")
	cfg.Images = []awssim.Image{{ID: "ami-0a", Name: "mine-1", Arch: "amd64", Owner: "self", Tags: team}}
	cfg.Parameters = map[string]string{"/images/mine": "ami-0a"}
	cfg.PlacementGroups = []awssim.PlacementGroup{{ID: "pg-0a", Name: "near", Strategy: "cluster"}}
	cfg.CapacityReservations = []awssim.CapacityReservation{{ID: "cr-0a", InstanceType: "m5.large", Zone: "us-east-1a", Total: 9, Available: 9, Tags: team}}
	w, keep := &wire{}, keepWire(t)
	cfg.Record = func(x awssim.Exchange) {
		w.record(x.Target, string(x.Request))
		if keep != nil {
			keep(x)
		}
	}
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	profile(t, server.URL, "theirs")
	w.cloud, w.classes, _, _, err = actuator.OpenCloud(t.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: server.URL, Queue: "test", Cluster: "test", DryRuns: "off",
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// profile makes an instance profile, as users do who give Kerf none to make.
func profile(t *testing.T, endpoint, name string) {
	t.Helper()
	conf, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion("us-east-1"), awsconfig.WithBaseEndpoint(endpoint))
	if err != nil {
		t.Fatal(err)
	}
	client := iam.NewFromConfig(conf)
	if _, err := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}); err != nil {
		t.Fatal(err)
	}
	in := &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String("KerfNodeRole-test")}
	if _, err := client.AddRoleToInstanceProfile(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// listed is a parameter that is one of a list of pairs.
var listed = regexp.MustCompile(`^(.*(Filter|Tag)\.\d+\.)(Name|Key)$`)

// record notes a request: a line for each parameter, with pairs in one, or for JSON the body.
func (w *wire) record(target, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if target != "" {
		w.lines = append(w.lines, target[strings.LastIndex(target, ".")+1:]+" "+body)
		return
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		w.lines = append(w.lines, err.Error())
		return
	}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		value := form.Get(key)
		if m := listed.FindStringSubmatch(key); m != nil {
			word := strings.ToLower(m[2])
			w.lines = append(w.lines, form.Get("Action")+" "+word+" "+value+"="+form.Get(m[1]+map[string]string{"filter": "Value.1", "tag": "Value"}[word]))
			continue
		}
		key = strings.TrimPrefix(key, "LaunchTemplateData.")
		if text, err := base64.StdEncoding.DecodeString(value); key == "UserData" && err == nil {
			value = string(text)
		}
		w.lines = append(w.lines, form.Get("Action")+" "+key+"="+value)
	}
}
