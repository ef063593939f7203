// Package userdata writes an instance's user data, for each AMI family: AL2023's NodeConfig, Bottlerocket's
// settings, or the class's own text.
//
// It is a function of values: it must never know EC2's API. Start reading at Render.
package userdata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// AMI families that Kerf writes user data for.
const (
	AL2023       = "AL2023"
	Bottlerocket = "Bottlerocket"
	Custom       = "Custom"
)

// maxBytes is EC2's limit on user data before encoding, in bytes.
const maxBytes = 16_384

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

// Render writes the boot instructions of the family, base64 as EC2 wants it.
func Render(n Node) (string, error) {
	var (
		text string
		err  error
	)
	switch n.Family {
	case AL2023, "":
		text, err = al2023(n)
	case Bottlerocket:
		text, err = bottlerocket(n)
	case Custom:
		text = n.Custom
	default:
		err = fmt.Errorf("%w: AMI family %s; use AL2023, Bottlerocket or Custom", cloud.ErrInvalid, n.Family)
	}
	if err != nil {
		return "", err
	}
	if len(text) > maxBytes {
		return "", fmt.Errorf("%w: user data is %d bytes, EC2 takes %d: shorten spec.userData of the node class",
			cloud.ErrInvalid, len(text), maxBytes)
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// nodeConfig is the document that AL2023's nodeadm reads. When several are given, the later ones win, so the generated
// one comes last.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster  nodeConfigCluster   `json:"cluster"`
	Kubelet  nodeConfigKubelet   `json:"kubelet"`
	Instance *nodeConfigInstance `json:"instance,omitempty"`
}

type nodeConfigCluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

type nodeConfigKubelet struct {
	Config map[string]any `json:"config"`
	Flags  []string       `json:"flags"`
}

type nodeConfigInstance struct {
	LocalStorage struct {
		Strategy string `json:"strategy"`
	} `json:"localStorage"`
}

func al2023(n Node) (string, error) {
	config := nodeConfig{APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig"}
	config.Spec.Cluster = nodeConfigCluster{
		Name: n.Cluster, APIServerEndpoint: n.API.Endpoint, CertificateAuthority: n.API.CABase64, CIDR: n.API.ServiceCIDR,
	}
	config.Spec.Kubelet.Config = kubeletConfig(n)
	if l := nodeLabels(n.Labels); l != "" {
		config.Spec.Kubelet.Flags = []string{"--node-labels=" + l}
	}
	if n.RAID0 {
		config.Spec.Instance = &nodeConfigInstance{}
		config.Spec.Instance.LocalStorage.Strategy = "RAID0"
	}
	document, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		return "", fmt.Errorf("render NodeConfig: %w", err)
	}

	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary("kerf-node-config"); err != nil { // fixed, so that equal content gives an equal template
		return "", fmt.Errorf("render user data: %w", err)
	}
	fmt.Fprintf(&out, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", w.Boundary())
	if n.Custom != "" {
		if err := part(w, customType(n.Custom), n.Custom); err != nil {
			return "", err
		}
	}
	if err := part(w, "application/node.eks.aws", string(document)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("render user data: %w", err)
	}
	return out.String(), nil
}

func part(w *multipart.Writer, contentType, body string) error {
	p, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {contentType}})
	if err != nil {
		return fmt.Errorf("render user data: %w", err)
	}
	if _, err := p.Write([]byte(body)); err != nil {
		return fmt.Errorf("render user data: %w", err)
	}
	return nil
}

// customType tells a shell script from a NodeConfig document.
func customType(text string) string {
	if strings.Contains(text, "node.eks.aws/") && !strings.HasPrefix(text, "#!") {
		return "application/node.eks.aws"
	}
	return `text/x-shellscript; charset="us-ascii"`
}

// kubeletConfig is the part of KubeletConfiguration that the class and the claim decide.
func kubeletConfig(n Node) map[string]any {
	k := n.Kubelet
	out := map[string]any{}
	put := func(key string, set bool, value any) {
		if set {
			out[key] = value
		}
	}
	put("registerWithTaints", len(n.Taints) > 0, taintObjects(n.Taints))
	put("maxPods", n.MaxPods > 0, n.MaxPods)
	put("podsPerCore", k.PodsPerCore != nil, k.PodsPerCore)
	put("kubeReserved", len(k.KubeReserved) > 0, k.KubeReserved)
	put("systemReserved", len(k.SystemReserved) > 0, k.SystemReserved)
	put("evictionHard", len(k.EvictionHard) > 0, k.EvictionHard)
	put("evictionSoft", len(k.EvictionSoft) > 0, k.EvictionSoft)
	put("evictionSoftGracePeriod", len(k.EvictionSoftGracePeriod) > 0, k.EvictionSoftGracePeriod)
	put("evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod != nil, k.EvictionMaxPodGracePeriod)
	put("imageGCHighThresholdPercent", k.ImageGCHighThreshold != nil, k.ImageGCHighThreshold)
	put("imageGCLowThresholdPercent", k.ImageGCLowThreshold != nil, k.ImageGCLowThreshold)
	put("cpuCFSQuota", k.CPUCFSQuota != nil, k.CPUCFSQuota)
	dns := k.ClusterDNS
	if len(dns) == 0 {
		if ip, err := clusterDNS(n.API.ServiceCIDR); err == nil {
			dns = []string{ip}
		}
	}
	put("clusterDNS", len(dns) > 0, dns)
	return out
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

func taintObjects(taints []model.Taint) []map[string]string {
	out := make([]map[string]string, 0, len(taints))
	for _, t := range taints {
		out = append(out, map[string]string{"key": t.Key, "value": t.Value, "effect": t.Effect.String()})
	}
	return out
}

// nodeLabels leaves out what a kubelet may not set on itself; registration sets those.
func nodeLabels(labels model.Labels) string {
	var out []string
	for _, l := range labels {
		domain, _, _ := strings.Cut(l.Key, "/")
		restricted := domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") ||
			domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
		if restricted && domain != "node.kubernetes.io" {
			continue
		}
		out = append(out, l.Key+"="+l.Value)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// bottlerocket renders the settings document. The class's own settings come first; a key that both set is refused,
// because TOML forbids it and silently losing one would hide a mistake.
func bottlerocket(n Node) (string, error) {
	if strings.Contains(n.Custom, "[settings.kubernetes") {
		return "", fmt.Errorf("%w: spec.userData of a Bottlerocket class must not contain [settings.kubernetes]: "+
			"set spec.kubelet, and labels and taints in the node pool", cloud.ErrInvalid)
	}
	var out strings.Builder
	if n.Custom != "" {
		out.WriteString(strings.TrimRight(n.Custom, "\n") + "\n\n")
	}
	line := func(key, value string) { fmt.Fprintf(&out, "%s = %q\n", key, value) }
	out.WriteString("[settings.kubernetes]\n")
	line("cluster-name", n.Cluster)
	line("api-server", n.API.Endpoint)
	line("cluster-certificate", n.API.CABase64)
	if ip, err := clusterDNS(n.API.ServiceCIDR); err == nil {
		line("cluster-dns-ip", ip)
	}
	if n.MaxPods > 0 {
		fmt.Fprintf(&out, "max-pods = %d\n", n.MaxPods)
	}
	table := func(name string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		fmt.Fprintf(&out, "\n[settings.kubernetes.%s]\n", name)
		for _, k := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&out, "%q = %q\n", k, values[k])
		}
	}
	labels := map[string]string{}
	for l := range strings.SplitSeq(nodeLabels(n.Labels), ",") {
		if k, v, ok := strings.Cut(l, "="); ok {
			labels[k] = v
		}
	}
	table("node-labels", labels)
	if len(n.Taints) > 0 {
		out.WriteString("\n[settings.kubernetes.node-taints]\n")
		for _, t := range n.Taints {
			fmt.Fprintf(&out, "%q = [%q]\n", t.Key, t.Value+":"+t.Effect.String())
		}
	}
	table("kube-reserved", n.Kubelet.KubeReserved)
	table("system-reserved", n.Kubelet.SystemReserved)
	table("eviction-hard", n.Kubelet.EvictionHard)
	return out.String(), nil
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
