// Package userdata writes an instance's user data, for each AMI family: AL2023's NodeConfig, Bottlerocket's
// settings, the calls of the boot scripts of AL2 and Windows, or the class's own text.
//
// It is a function of values: it must never know EC2's API. Start reading at Render.
package userdata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

// maxBytes is EC2's limit on user data before encoding, in bytes.
const maxBytes = 16_384

// ErrTooLong says that the user data is longer than EC2 takes.
var ErrTooLong = errors.New("user data is too long")

// Node is everything that a node's user data says.
type Node struct {
	Cluster string
	API     APIServer
	// Family is the AMI family; "" means AL2023.
	Family string
	// Custom is the class's own user data.
	Custom string
	// RAID0 joins the instance's own disks into one.
	RAID0   bool
	Kubelet cloud.Kubelet
	// MaxPods is how many pods the kubelet admits; 0 leaves it to the kubelet.
	MaxPods int64
	Labels  model.Labels
	Taints  []model.Taint
}

// Of is what a class says of its nodes' user data.
func Of(s cloud.ClassSpec) Node {
	return Node{Family: s.AMIFamily, Custom: s.UserData, RAID0: s.InstanceStoreRAID0, Kubelet: s.Kubelet}
}

// Render writes the boot instructions of the family, base64 as EC2 wants it.
func Render(n Node) (string, error) {
	var (
		text string
		err  error
	)
	switch n.Family {
	case instancetype.AL2023, "":
		text, err = al2023(n)
	case instancetype.AL2:
		text, err = al2(n)
	case instancetype.Bottlerocket:
		text, err = bottlerocket(n)
	case instancetype.Windows2019, instancetype.Windows2022, instancetype.Windows2025:
		text, err = windows(n)
	case instancetype.Custom:
		text = n.Custom
	default:
		err = fmt.Errorf("%w: AMI family %s is not known", cloud.ErrInvalid, n.Family)
	}
	if err != nil {
		return "", err
	}
	if len(text) > maxBytes {
		return "", fmt.Errorf("%w: %w: it is %d bytes, EC2 takes %d: shorten spec.userData of the node class",
			cloud.ErrInvalid, ErrTooLong, len(text), maxBytes)
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// nodeLabels leaves out what a kubelet may not set on itself; registration sets those. Sorted.
func nodeLabels(labels model.Labels) model.Labels {
	var out model.Labels
	for _, l := range labels {
		domain, _, _ := strings.Cut(l.Key, "/")
		restricted := domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") ||
			domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
		if restricted && domain != "node.kubernetes.io" {
			continue
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// dns are the addresses of the cluster's DNS: those that the class names, or where installers put it.
func (n Node) dns() []string {
	if len(n.Kubelet.ClusterDNS) > 0 {
		return n.Kubelet.ClusterDNS
	}
	if ip, err := clusterDNS(n.API.ServiceCIDR); err == nil {
		return []string{ip}
	}
	return nil
}

// clusterDNS is the tenth address of the service range, where EKS and most installers put the cluster's DNS.
func clusterDNS(cidr string) (string, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", fmt.Errorf("service CIDR %q: %w", cidr, err)
	}
	ip := prefix.Masked().Addr()
	for range 10 {
		ip = ip.Next()
	}
	if !ip.IsValid() || !prefix.Contains(ip) {
		return "", errors.New("service CIDR " + cidr + " is too small")
	}
	return ip.String(), nil
}

// APIServer is what a node must know to join.
type APIServer struct {
	Endpoint    string
	CABase64    string
	ServiceCIDR string
	// KubernetesVersion is major.minor; it picks the machine image.
	KubernetesVersion string
}

// Check names what is missing.
func (s APIServer) Check() error {
	for field, value := range map[string]string{
		"endpoint": s.Endpoint, "ca": s.CABase64, "service_cidr": s.ServiceCIDR, "kubernetes_version": s.KubernetesVersion,
	} {
		if value == "" {
			return fmt.Errorf("API server: %s is neither configured nor known to EKS; set aws.api.%s", field, field)
		}
	}
	return nil
}

// IPv6 says that services, pods and nodes of the cluster have IPv6 addresses.
func (s APIServer) IPv6() bool {
	p, err := netip.ParsePrefix(s.ServiceCIDR)
	return err == nil && p.Addr().Is6()
}
