package ec2

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
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
	familyAL2023       = "AL2023"
	familyBottlerocket = "Bottlerocket"
	familyCustom       = "Custom"
)

// maxUserData is EC2's limit on user data before encoding, in bytes.
const maxUserData = 16_384

// bootstrap is everything that a node is told at boot.
type bootstrap struct {
	cluster string
	api     APIServer
	family  string
	custom  string // the class's own user data
	raid0   bool
	kubelet cloud.Kubelet
	maxPods int64 // 0: the kubelet's own
	labels  model.Labels
	taints  []model.Taint
}

func (a *Adapter) bootstrap(r cloud.Request, g templateGroup) bootstrap {
	return bootstrap{
		cluster: a.cluster, api: a.api, family: r.Spec.AMIFamily, custom: r.Spec.UserData,
		raid0: r.Spec.InstanceStoreRAID0, kubelet: r.Spec.Kubelet, maxPods: g.maxPods, labels: r.Labels, taints: r.Taints,
	}
}

// userData renders the boot instructions of the family, base64 as EC2 wants it.
func userData(b bootstrap) (string, error) {
	var (
		text string
		err  error
	)
	switch b.family {
	case familyAL2023, "":
		text, err = al2023(b)
	case familyBottlerocket:
		text, err = bottlerocket(b)
	case familyCustom:
		text = b.custom
	default:
		err = fmt.Errorf("%w: AMI family %s; use AL2023, Bottlerocket or Custom", cloud.ErrInvalid, b.family)
	}
	if err != nil {
		return "", err
	}
	if len(text) > maxUserData {
		return "", fmt.Errorf("%w: user data is %d bytes, EC2 takes %d: shorten spec.userData of the node class",
			cloud.ErrInvalid, len(text), maxUserData)
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

func al2023(b bootstrap) (string, error) {
	config := nodeConfig{APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig"}
	config.Spec.Cluster = nodeConfigCluster{
		Name: b.cluster, APIServerEndpoint: b.api.Endpoint, CertificateAuthority: b.api.CABase64, CIDR: b.api.ServiceCIDR,
	}
	config.Spec.Kubelet.Config = kubeletConfig(b)
	if l := nodeLabels(b.labels); l != "" {
		config.Spec.Kubelet.Flags = []string{"--node-labels=" + l}
	}
	if b.raid0 {
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
	if b.custom != "" {
		if err := part(w, customType(b.custom), b.custom); err != nil {
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
func kubeletConfig(b bootstrap) map[string]any {
	k := b.kubelet
	out := map[string]any{}
	put := func(key string, set bool, value any) {
		if set {
			out[key] = value
		}
	}
	put("registerWithTaints", len(b.taints) > 0, taintObjects(b.taints))
	put("maxPods", b.maxPods > 0, b.maxPods)
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
		if ip, err := clusterDNS(b.api.ServiceCIDR); err == nil {
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
func bottlerocket(b bootstrap) (string, error) {
	if strings.Contains(b.custom, "[settings.kubernetes") {
		return "", fmt.Errorf("%w: spec.userData of a Bottlerocket class must not hold [settings.kubernetes]: "+
			"set spec.kubelet, and labels and taints in the node pool", cloud.ErrInvalid)
	}
	var out strings.Builder
	if b.custom != "" {
		out.WriteString(strings.TrimRight(b.custom, "\n") + "\n\n")
	}
	line := func(key, value string) { fmt.Fprintf(&out, "%s = %q\n", key, value) }
	out.WriteString("[settings.kubernetes]\n")
	line("cluster-name", b.cluster)
	line("api-server", b.api.Endpoint)
	line("cluster-certificate", b.api.CABase64)
	if ip, err := clusterDNS(b.api.ServiceCIDR); err == nil {
		line("cluster-dns-ip", ip)
	}
	if b.maxPods > 0 {
		fmt.Fprintf(&out, "max-pods = %d\n", b.maxPods)
	}
	table := func(name string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		fmt.Fprintf(&out, "\n[settings.kubernetes.%s]\n", name)
		for _, k := range sortedKeys(values) {
			fmt.Fprintf(&out, "%q = %q\n", k, values[k])
		}
	}
	labels := map[string]string{}
	for l := range strings.SplitSeq(nodeLabels(b.labels), ",") {
		if k, v, ok := strings.Cut(l, "="); ok {
			labels[k] = v
		}
	}
	table("node-labels", labels)
	if len(b.taints) > 0 {
		out.WriteString("\n[settings.kubernetes.node-taints]\n")
		for _, t := range b.taints {
			fmt.Fprintf(&out, "%q = [%q]\n", t.Key, t.Value+":"+t.Effect.String())
		}
	}
	table("kube-reserved", b.kubelet.KubeReserved)
	table("system-reserved", b.kubelet.SystemReserved)
	table("eviction-hard", b.kubelet.EvictionHard)
	return out.String(), nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
