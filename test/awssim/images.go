package awssim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

// Image is a machine image.
type Image struct {
	ID, Name string
	// Arch is amd64 or arm64.
	Arch string
	// Family is the boot program; an image with none never joins a cluster.
	Family userdata.Family
	// Variant is standard, nvidia or neuron: which devices the image has drivers for. Empty means standard.
	Variant string
	// Owner is amazon or self.
	Owner   string
	Created time.Time
	// Deprecated is zero for an image in use.
	Deprecated time.Time
	Tags       map[string]string
}

// release is one published EKS image and the SSM parameters that lead to it.
type release struct {
	image  Image
	params []string
}

// eksVersions are the Kubernetes minors that have images.
const firstMinor, lastMinor, lastAL2Minor = 29, 38, 32

// eksReleases are two releases, an older and the recommended one, of each family, architecture, variant and minor.
func eksReleases(seed string) []release {
	var out []release
	for minor := firstMinor; minor <= lastMinor; minor++ {
		k8s := "1." + strconv.Itoa(minor)
		for _, newest := range []bool{false, true} {
			for _, arch := range []string{"amd64", "arm64"} {
				out = append(out, al2023Releases(k8s, arch, newest)...)
				out = append(out, bottlerocketReleases(k8s, arch, newest)...)
				if minor <= lastAL2Minor {
					out = append(out, al2Releases(k8s, arch, newest)...)
				}
			}
		}
	}
	for i := range out {
		out[i].image.ID = "ami-0" + digest(seed, out[i].image.Name)[:16]
		out[i].image.Owner = "amazon"
	}
	return out
}

func published(newest bool) (stamp string, at time.Time) {
	at = time.Date(2026, time.January, 15, 10, 0, 0, 0, time.UTC)
	if newest {
		at = at.AddDate(0, 1, 10)
	}
	return at.Format("20060102"), at
}

func al2023Releases(k8s, arch string, newest bool) []release {
	stamp, at := published(newest)
	variants := []string{"standard", "nvidia", "neuron"}
	if arch == "arm64" {
		variants = variants[:2]
	}
	var out []release
	for _, v := range variants {
		name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", ec2Arch(arch), v, k8s, stamp)
		base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", k8s, ec2Arch(arch), v)
		out = append(out, release{
			image:  Image{Name: name, Arch: arch, Family: userdata.AL2023, Variant: v, Created: at},
			params: imagePaths(base, name, newest),
		})
	}
	return out
}

func al2Releases(k8s, arch string, newest bool) []release {
	stamp, at := published(newest)
	variants := map[string]string{"": "standard", "-gpu": "nvidia"}
	if arch == "arm64" {
		variants = map[string]string{"-arm64": "standard"}
	}
	var out []release
	for _, suffix := range sortedKeys(variants) {
		name := fmt.Sprintf("amazon-eks%s-node-%s-v%s", suffix, k8s, stamp)
		base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2%s/", k8s, suffix)
		out = append(out, release{
			image:  Image{Name: name, Arch: arch, Family: userdata.AL2, Variant: variants[suffix], Created: at},
			params: imagePaths(base, name, newest),
		})
	}
	return out
}

// imagePaths are the pinned path, and for the newest release the recommended one.
func imagePaths(base, name string, newest bool) []string {
	paths := []string{base + name + "/image_id"}
	if newest {
		paths = append(paths, base+"recommended/image_id")
	}
	return paths
}

func bottlerocketReleases(k8s, arch string, newest bool) []release {
	_, at := published(newest)
	version := "1.51.0"
	if newest {
		version = "1.52.0"
	}
	var out []release
	for _, v := range []struct{ suffix, name string }{{"", "standard"}, {"-nvidia", "nvidia"}} {
		base := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/", k8s, v.suffix, ec2Arch(arch))
		paths := []string{base + version + "/image_id"}
		if newest {
			paths = append(paths, base+"latest/image_id")
		}
		out = append(out, release{
			image: Image{
				Name: fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s", k8s, v.suffix, ec2Arch(arch), version),
				Arch: arch, Family: userdata.Bottlerocket, Variant: v.name, Created: at,
			},
			params: paths,
		})
	}
	return out
}

func (s *Sim) addRelease(r release) {
	s.images[r.image.ID] = &r.image
	for _, p := range r.params {
		s.parameters[p] = r.image.ID
	}
}

// SetParameter sets an SSM parameter, for instance to publish a new recommended image.
func (s *Sim) SetParameter(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parameters[name] = value
}

// AddImage publishes an image.
func (s *Sim) AddImage(img Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images[img.ID] = &img
}

type imagesAnswer struct {
	Images    []imageItem `xml:"imagesSet>item"`
	NextToken string      `xml:"nextToken,omitempty"`
}

type imageItem struct {
	ID          string    `xml:"imageId"`
	State       string    `xml:"imageState"`
	Owner       string    `xml:"imageOwnerId"`
	OwnerAlias  string    `xml:"imageOwnerAlias,omitempty"`
	Public      bool      `xml:"isPublic"`
	Arch        string    `xml:"architecture"`
	Type        string    `xml:"imageType"`
	Name        string    `xml:"name"`
	RootType    string    `xml:"rootDeviceType"`
	Root        string    `xml:"rootDeviceName"`
	Virtual     string    `xml:"virtualizationType"`
	Created     string    `xml:"creationDate"`
	Deprecation string    `xml:"deprecationTime,omitempty"`
	Tags        []tagItem `xml:"tagSet>item"`
}

// describeImages hides deprecated images of others unless the caller includes them or names them.
func (s *Sim) describeImages(f *form) (any, error) {
	f.ignore("IncludeDisabled", "ExecutableBy")
	attrs := s.imageAttributes()
	ids, owners, fs := f.list("ImageId"), set(f.list("Owner")), filters(f, attrs)
	deprecated := f.bool("IncludeDeprecated") || len(ids) > 0
	all, err := selected(s.images, ids, "InvalidAMIID.NotFound", "image id")
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	all = keep(all, func(i *Image) bool {
		fresh := i.Deprecated.IsZero() || now.Before(i.Deprecated) || i.Owner == "self"
		owned := len(owners) == 0 || owners[i.Owner] || owners[s.ownerID(i)]
		return (fresh || deprecated) && owned && attrs.passes(i, fs)
	})
	all, token := page(f, all, func(i *Image) string { return i.ID }, pageBounds{1, 1000, 0})
	if err := f.checked(); err != nil {
		return nil, err
	}
	out := imagesAnswer{NextToken: token}
	for _, i := range all {
		out.Images = append(out.Images, s.describeImage(i))
	}
	return out, nil
}

func (s *Sim) imageAttributes() attributes[*Image] {
	return attributes[*Image]{
		tags: func(i *Image) map[string]string { return i.Tags },
		by: map[string]func(*Image) []string{
			"image-id":            func(i *Image) []string { return one(i.ID) },
			"name":                func(i *Image) []string { return one(i.Name) },
			"architecture":        func(i *Image) []string { return one(ec2Arch(i.Arch)) },
			"state":               func(*Image) []string { return one("available") },
			"owner-id":            func(i *Image) []string { return one(s.ownerID(i)) },
			"owner-alias":         func(i *Image) []string { return one(i.Owner) },
			"root-device-type":    func(*Image) []string { return one("ebs") },
			"virtualization-type": func(*Image) []string { return one("hvm") },
		},
	}
}

func (s *Sim) describeImage(i *Image) imageItem {
	item := imageItem{
		ID: i.ID, State: "available", Owner: s.ownerID(i), Public: i.Owner == "amazon", Arch: ec2Arch(i.Arch),
		Type: "machine", Name: i.Name, RootType: "ebs", Root: "/dev/xvda", Virtual: "hvm",
		Created: i.Created.Format("2006-01-02T15:04:05.000Z"), Tags: tagItems(i.Tags),
	}
	if i.Owner == "amazon" {
		item.OwnerAlias = "amazon"
	}
	if !i.Deprecated.IsZero() {
		item.Deprecation = i.Deprecated.Format("2006-01-02T15:04:05.000Z")
	}
	return item
}

// ownerID is the account that owns the image.
func (s *Sim) ownerID(i *Image) string {
	if i.Owner == "amazon" {
		return "602401143452"
	}
	return s.cfg.AccountID
}

// getParameter answers SSM GetParameter. Decryption changes nothing: all parameters are plain.
func (s *Sim) getParameter(_ context.Context, body []byte) (any, error) {
	var in struct {
		Name           string
		WithDecryption bool
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.parameters[in.Name]
	if !ok {
		return nil, fail("ParameterNotFound", "Parameter %s not found.", in.Name)
	}
	return map[string]any{"Parameter": map[string]any{
		"ARN": "arn:aws:ssm:" + s.cfg.Region + "::parameter" + in.Name, "DataType": "text", "Name": in.Name,
		"Type": "String", "Value": value, "Version": 1,
	}}, nil
}
