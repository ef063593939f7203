package awssim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

// release is a day on which AWS publishes new EKS images, of all families at once.
type release struct {
	stamp        string // the day, as the names of images end with it
	bottlerocket string // Bottlerocket counts by itself
	at           time.Time
}

// stampLayout is how a stamp says its day.
const stampLayout = "20060102"

// firstReleases are those that the world begins with, oldest first.
func firstReleases() []release {
	at := time.Date(2026, time.January, 15, 10, 0, 0, 0, time.UTC)
	next := at.AddDate(0, 1, 10)
	return []release{nthRelease(0, at.Format(stampLayout), at), nthRelease(1, next.Format(stampLayout), next)}
}

func nthRelease(n int, stamp string, at time.Time) release {
	return release{stamp: stamp, bottlerocket: fmt.Sprintf("1.%d.0", 51+n), at: at}
}

// published is an image of a release with the SSM parameters that lead to it.
type published struct {
	image Image
	// pinned leads to it for ever, recommended until the next release.
	pinned, recommended string
}

// The Kubernetes minors that have images.
const firstMinor, lastMinor, lastAL2Minor = 29, 38, 32

// images are all of the release: each family, architecture, variant and minor.
func (r release) images(seed string) []published {
	var out []published
	for minor := firstMinor; minor <= lastMinor; minor++ {
		k8s := "1." + strconv.Itoa(minor)
		for _, arch := range []string{"amd64", "arm64"} {
			out = append(out, r.al2023(k8s, arch)...)
			out = append(out, r.windows(k8s, arch)...)
			out = append(out, r.bottlerockets(k8s, arch)...)
			if minor <= lastAL2Minor {
				out = append(out, r.al2(k8s, arch)...)
			}
		}
	}
	for i := range out {
		img := &out[i].image
		img.ID, img.Owner, img.Created = "ami-0"+digest(seed, img.Name)[:16], "amazon", r.at
	}
	return out
}

func (r release) al2023(k8s, arch string) []published {
	variants := []string{"standard", "nvidia", "neuron"}
	if arch == "arm64" {
		variants = variants[:2]
	}
	var out []published
	for _, v := range variants {
		name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", ec2Arch(arch), v, k8s, r.stamp)
		base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/", k8s, ec2Arch(arch), v)
		out = append(out, eksImage(Image{Name: name, Arch: arch, Family: userdata.AL2023, Variant: v}, base))
	}
	return out
}

func (r release) windows(k8s, arch string) []published {
	if arch != "amd64" {
		return nil
	}
	var out []published
	for _, year := range []string{"2019", "2022", "2025"} {
		name := fmt.Sprintf("Windows_Server-%s-English-Core-EKS_Optimized-%s", year, k8s)
		at := "/aws/service/ami-windows-latest/" + name + "/image_id"
		out = append(out, published{
			image: Image{Name: name + "-" + r.stamp, Arch: arch, Family: userdata.Windows}, pinned: at, recommended: at,
		})
	}
	return out
}

func (r release) al2(k8s, arch string) []published {
	variants := map[string]string{"": "standard", "-gpu": "nvidia"}
	if arch == "arm64" {
		variants = map[string]string{"-arm64": "standard"}
	}
	var out []published
	for _, suffix := range sortedKeys(variants) {
		name := fmt.Sprintf("amazon-eks%s-node-%s-v%s", suffix, k8s, r.stamp)
		base := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2%s/", k8s, suffix)
		out = append(out, eksImage(Image{Name: name, Arch: arch, Family: userdata.AL2, Variant: variants[suffix]}, base))
	}
	return out
}

func eksImage(i Image, base string) published {
	return published{image: i, pinned: base + i.Name + "/image_id", recommended: base + "recommended/image_id"}
}

func (r release) bottlerockets(k8s, arch string) []published {
	var out []published
	for _, v := range []struct{ suffix, name string }{{"", "standard"}, {"-nvidia", "nvidia"}} {
		name := fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s", k8s, v.suffix, ec2Arch(arch), r.bottlerocket)
		base := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/", k8s, v.suffix, ec2Arch(arch))
		out = append(out, published{
			image:  Image{Name: name, Arch: arch, Family: userdata.Bottlerocket, Variant: v.name},
			pinned: base + r.bottlerocket + "/image_id", recommended: base + "latest/image_id",
		})
	}
	return out
}

// publish adds a release's images, lets the parameters lead to them, and returns their names by id. The caller holds the
// lock, or is New.
func (s *Sim) publish(r release) map[string]string {
	names := map[string]string{}
	for _, p := range r.images(s.cfg.Seed) {
		s.images[p.image.ID] = &p.image
		s.setParameter(p.pinned, p.image.ID, r.at)
		s.setParameter(p.recommended, p.image.ID, r.at)
		names[p.image.ID] = p.image.Name
	}
	s.releases = append(s.releases, r)
	return names
}

// PublishImages is what AWS does every week or two: newer EKS images of all families, which the recommended parameters
// lead to from now on. The older ones can still be launched, and are what instances run that have booted them. The stamp
// is the release's day, as 20261121, and must be after all before it; "" is today, or the first day that will do. The
// names of the new images are returned by id.
func (s *Sim) PublishImages(stamp string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.releases)
	newest, err := time.Parse(stampLayout, s.releases[n-1].stamp)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if stamp == "" {
		stamp = now.Format(stampLayout)
		if !now.Truncate(day).After(newest) {
			stamp = newest.Add(day).Format(stampLayout)
		}
	}
	if at, err := time.Parse(stampLayout, stamp); err != nil {
		return nil, fmt.Errorf("stamp %q is no day such as 20261121", stamp)
	} else if !at.After(newest) {
		return nil, fmt.Errorf("stamp %q is not after %s, the newest release", stamp, newest.Format(stampLayout))
	}
	return s.publish(nthRelease(n, stamp, now)), nil
}

const day = 24 * time.Hour
