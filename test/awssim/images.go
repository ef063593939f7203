package awssim

import (
	"strings"
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
	for _, id := range ids {
		if !strings.HasPrefix(id, "ami-") {
			return nil, fail("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
		}
	}
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
