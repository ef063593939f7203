package userdata

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/core/model"
)

func boot() Node {
	return Node{
		Cluster: "demo", API: APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16"},
		Family: instancetype.AL2023, MaxPods: 29,
		Labels: model.Labels{
			{Key: "type", Value: "karpenter"},
			{Key: "topology.kubernetes.io/zone", Value: "a"},
			{Key: "karpenter.sh/nodepool", Value: "default"},
		},
		Taints: []model.Taint{{Key: "karpenter.sh/unregistered", Effect: model.NoExecute}},
	}
}

func decoded(t *testing.T, b Node) string {
	t.Helper()
	text, err := Render(b)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestUserData(t *testing.T) {
	tests := map[string]struct {
		change func(*Node)
		holds  []string
		lacks  []string
	}{
		"AL2023 gets a NodeConfig with taints, labels that a kubelet may set, and the DNS of the service range": {
			func(*Node) {},
			[]string{
				"application/node.eks.aws", `"maxPods":29`, `"clusterDNS":["10.100.0.10"]`, `"cidr":"10.100.0.0/16"`,
				`--node-labels=karpenter.sh/nodepool=default,type=karpenter`, `karpenter.sh/unregistered`,
			},
			[]string{"topology.kubernetes.io"},
		},
		"the class's own script comes before the generated part": {
			func(b *Node) { b.Custom = "#!/bin/bash\necho hi" }, []string{"text/x-shellscript", "echo hi"}, nil,
		},
		"Bottlerocket gets settings": {
			func(b *Node) {
				b.Family = instancetype.Bottlerocket
				b.Custom = "[settings.host-containers.admin]\nenabled = true"
			},
			[]string{"[settings.host-containers.admin]", "[settings.kubernetes]", "max-pods = 29", `type = "karpenter"`, `"karpenter.sh/unregistered" = [":NoExecute"]`},
			nil,
		},
		"AL2023 gets the kubelet's other fields too, and what the claim decides wins": {
			func(b *Node) {
				b.Kubelet.Extra = []cloud.KubeletField{{Name: "maxPods", JSON: "5"}, {Name: "topologyManagerPolicy", JSON: `"best-effort"`}}
			},
			[]string{`"topologyManagerPolicy":"best-effort"`, `"maxPods":29`},
			nil,
		},
		"AL2 runs the class's own script before the image's boot script": {
			func(b *Node) { b.Family, b.Custom, b.RAID0 = instancetype.AL2, "#!/bin/bash\necho hi", true },
			[]string{
				"echo hi", "/etc/eks/bootstrap.sh 'demo' --apiserver-endpoint 'https://api' --b64-cluster-ca 'Q0E=' --dns-cluster-ip '10.100.0.10' " +
					"--use-max-pods false --kubelet-extra-args '--node-labels=karpenter.sh/nodepool=default,type=karpenter " +
					"--register-with-taints=karpenter.sh/unregistered=:NoExecute --max-pods=29' --local-disks raid0",
			},
			[]string{"topology.kubernetes.io", "ip-family"},
		},
		"AL2 of an IPv6 cluster says so": {
			func(b *Node) { b.Family, b.API.ServiceCIDR = instancetype.AL2, "fd30:1c53:5f8a::/108" },
			[]string{"--ip-family ipv6 --service-ipv6-cidr 'fd30:1c53:5f8a::/108' --dns-cluster-ip 'fd30:1c53:5f8a::a'"},
			nil,
		},
		"AL2023 of an IPv6 cluster has its range and its DNS": {
			func(b *Node) { b.API.ServiceCIDR = "fd30:1c53:5f8a::/108" },
			[]string{`"cidr":"fd30:1c53:5f8a::/108"`, `"clusterDNS":["fd30:1c53:5f8a::a"]`},
			nil,
		},
		"Windows runs the class's own text before the image's boot script, in one script": {
			func(b *Node) {
				b.Family, b.Custom = instancetype.Windows2022, "<powershell>\nWrite-Host 'hi'\n</powershell>"
			},
			[]string{
				"<powershell>\nWrite-Host 'hi'\n& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName 'demo' " +
					"-APIServerEndpoint 'https://api' -Base64ClusterCA 'Q0E=' -KubeletExtraArgs '--node-labels=karpenter.sh/nodepool=default,type=karpenter " +
					"--register-with-taints=karpenter.sh/unregistered=:NoExecute --max-pods=29' -DNSClusterIP '10.100.0.10'\n</powershell>\n",
			},
			[]string{"topology.kubernetes.io", "10.100.0.0/16"},
		},
		"the kubelet's settings are flags where the boot script takes no others": {
			func(b *Node) { b.Family, b.Kubelet = instancetype.Windows2025, everySetting() },
			[]string{
				"--pods-per-core=4 --kube-reserved=cpu=1,memory=1Gi --system-reserved=pid=9 --eviction-hard=memory.available<5% " +
					"--eviction-soft=memory.available<9% --eviction-soft-grace-period=memory.available=1m --eviction-max-pod-grace-period=30 " +
					"--image-gc-high-threshold=80 --image-gc-low-threshold=70 --cpu-cfs-quota=false' -DNSClusterIP '10.0.0.1'",
			},
			nil,
		},
		"Bottlerocket has them as settings, and max-pods of its own text is overridden": {
			func(b *Node) {
				b.Family, b.Kubelet = instancetype.Bottlerocket, everySetting()
				b.Custom = "[settings.kubernetes]\nmax-pods = 5\n"
			},
			[]string{
				"max-pods = 29", `cluster-dns-ip = "10.0.0.1"`, "cpu-cfs-quota-enforced = false", "eviction-max-pod-grace-period = 30",
				`image-gc-high-threshold-percent = "80"`, `image-gc-low-threshold-percent = "70"`,
				"[settings.kubernetes.eviction-soft]\n\"memory.available\" = \"9%\"", "[settings.kubernetes.eviction-soft-grace-period]\n\"memory.available\" = \"1m\"",
			},
			[]string{"max-pods = 5"},
		},
		"Custom is passed on as it is": {
			func(b *Node) { b.Family = instancetype.Custom; b.Custom = "mine" }, []string{"mine"}, []string{"NodeConfig"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := boot()
			tt.change(&b)
			text := decoded(t, b)
			for _, s := range tt.holds {
				if !strings.Contains(text, s) {
					t.Errorf("user data lacks %q:\n%s", s, text)
				}
			}
			for _, s := range tt.lacks {
				if strings.Contains(text, s) {
					t.Errorf("user data holds %q:\n%s", s, text)
				}
			}
		})
	}
}

func everySetting() cloud.Kubelet {
	return cloud.Kubelet{
		PodsPerCore: new(int64(4)), KubeReserved: map[string]string{"memory": "1Gi", "cpu": "1"}, SystemReserved: map[string]string{"pid": "9"},
		EvictionHard: map[string]string{"memory.available": "5%"}, EvictionSoft: map[string]string{"memory.available": "9%"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": "1m"}, EvictionMaxPodGracePeriod: new(int32(30)),
		ClusterDNS: []string{"10.0.0.1"}, ImageGCHighThreshold: new(int32(80)), ImageGCLowThreshold: new(int32(70)), CPUCFSQuota: new(bool),
	}
}

func TestUserDataRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Node)
		names  string
	}{
		"a family without a template":  {func(b *Node) { b.Family = "Ubuntu" }, "Ubuntu"},
		"more than EC2 takes":          {func(b *Node) { b.Custom = strings.Repeat("#", maxBytes) }, "spec.userData"},
		"one byte more than EC2 takes": {func(b *Node) { b.Family = instancetype.Custom; b.Custom = strings.Repeat("#", maxBytes+1) }, "16385 bytes, EC2 takes 16384"},
		"reserves that plans do not know": {
			func(b *Node) {
				b.Family = instancetype.Bottlerocket
				b.Custom = "[settings.kubernetes.kube-reserved]\ncpu = \"1\""
			}, "spec.kubelet.kubeReserved",
		},
		"taints that plans do not know": {
			func(b *Node) {
				b.Family = instancetype.Bottlerocket
				b.Custom = "[settings.kubernetes.node-taints]\na = [\"b:NoSchedule\"]"
			}, "node pool",
		},
		"two scripts for Windows": {func(b *Node) {
			b.Family, b.Custom = instancetype.Windows2019, "<powershell>a</powershell>\n<powershell>b</powershell>"
		}, "one script"},
		"half a tag for Windows":     {func(b *Node) { b.Family, b.Custom = instancetype.Windows2019, "<powershell>a" }, "without </powershell>"},
		"TOML that is none":          {func(b *Node) { b.Family = instancetype.Bottlerocket; b.Custom = "[settings" }, "spec.userData"},
		"settings that are no table": {func(b *Node) { b.Family = instancetype.Bottlerocket; b.Custom = "settings = 1" }, "settings: want a table"},
		"a MIME message that breaks": {func(b *Node) {
			b.Custom = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: a/b\n"
		}, "breaks off"},
		"a MIME message of no kind":   {func(b *Node) { b.Custom = "MIME-Version: 1.0\n\nhello" }, "Content-Type"},
		"a MIME message of no border": {func(b *Node) { b.Custom = "Content-Type: multipart/mixed\n\nhello" }, "boundary"},
		"a NodeConfig that is none":   {func(b *Node) { b.Custom = "apiVersion: node.eks.aws/v1alpha1\n  kind: [" }, "NodeConfig"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := boot()
			tt.change(&b)
			if _, err := Render(b); !errors.Is(err, cloud.ErrInvalid) || !strings.Contains(err.Error(), tt.names) {
				t.Errorf("error %v: want ErrInvalid that names %s", err, tt.names)
			}
		})
	}
}

// The last line need not have the two dashes more that end a message: with nothing behind it there is no part to lose.
func TestMIMEThatEndsWithABareBoundary(t *testing.T) {
	for _, end := range []string{"--B--\n", "--B\n", "--B", "--B\n\n", "--B \r\n"} {
		parts, err := customParts("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n" +
			"--B\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n\n" + end)
		if err != nil {
			t.Errorf("%q at the end: %v", end, err)
			continue
		}
		if len(parts) != 1 || string(parts[0].body) != "#!/bin/sh\n" {
			t.Errorf("%q at the end: %d parts %q: want the script alone", end, len(parts), parts)
		}
	}
}

// pieces takes a MIME message apart: the type and the body of each part.
func pieces(t *testing.T, text string) [][2]string {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var out [][2]string
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, [2]string{kind, p.Header.Get("Content-Transfer-Encoding") + string(body)})
	}
}

func TestTheClassesOwnUserDataComesBeforeTheGeneratedNodeConfig(t *testing.T) {
	const script, config = "#!/bin/bash\necho hi\n", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
	tests := map[string]struct {
		custom string
		want   [][2]string
	}{
		"a script":                            {script, [][2]string{{"text/x-shellscript", script}}},
		"a script behind an empty line":       {"\n" + script, [][2]string{{"text/x-shellscript", script}}},
		"a NodeConfig":                        {config, [][2]string{{"application/node.eks.aws", config}}},
		"a cloud-config":                      {"#cloud-config\na: b\n", [][2]string{{"text/cloud-config", "#cloud-config\na: b\n"}}},
		"a script that speaks of NodeConfigs": {script + "# node.eks.aws/v1alpha1\n", [][2]string{{"text/x-shellscript", script + "# node.eks.aws/v1alpha1\n"}}},
		"a script with our border":            {script + "--kerf-node-config\n", [][2]string{{"text/x-shellscript", script + "--kerf-node-config\n"}}},
		"blanks alone":                        {" \n ", nil},
		"a MIME message of several parts": {
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n" + script +
				"\n--//\nContent-Type: application/node.eks.aws\nContent-Transfer-Encoding: base64\n\nYTogYg==\n--//--\n",
			[][2]string{{"text/x-shellscript", script}, {"application/node.eks.aws", "base64YTogYg=="}},
		},
		"a MIME message of one": {"Content-Type: text/cloud-config\n\na: b\n", [][2]string{{"text/cloud-config", "a: b\n"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := boot()
			b.Custom = tt.custom
			got := pieces(t, decoded(t, b))
			if len(got) == 0 {
				t.Fatal("no part")
			}
			last := got[len(got)-1]
			if last[0] != "application/node.eks.aws" || !strings.Contains(last[1], `"maxPods":29`) {
				t.Errorf("the last part is %s, want the generated NodeConfig", last)
			}
			if d := cmp.Diff(tt.want, got[:len(got)-1], cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBottlerocketsSettings(t *testing.T) {
	b := boot()
	b.Family, b.RAID0 = instancetype.Bottlerocket, true
	b.Taints = append(b.Taints, model.Taint{Key: "team", Value: "a", Effect: model.NoSchedule}, model.Taint{Key: "team", Value: "a", Effect: model.NoExecute})
	b.Kubelet.EvictionHard = map[string]string{"memory.available": "5%"}
	b.Custom = "[settings.kubernetes]\nkube-api-qps = 30\ncluster-name = \"other\"\n[settings.kubernetes.node-labels]\nmine = \"1\"\n" +
		"[settings.bootstrap-containers.setup]\nsource = \"x\"\n[settings.ntp]\ntime-servers = [\"a\", \"b\"]\n"
	var got map[string]any
	if _, err := toml.Decode(decoded(t, b), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"settings": map[string]any{
		"ntp":                  map[string]any{"time-servers": []any{"a", "b"}},
		"bootstrap-containers": map[string]any{"setup": map[string]any{"source": "x"}},
		"bootstrap-commands": map[string]any{"000-mount-instance-storage": map[string]any{
			"commands": []any{
				[]any{"apiclient", "ephemeral-storage", "init"},
				[]any{"apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"},
			},
			"essential": true, "mode": "always",
		}},
		"kubernetes": map[string]any{
			"api-server": "https://api", "cluster-certificate": "Q0E=", "cluster-dns-ip": "10.100.0.10", "cluster-name": "demo",
			"kube-api-qps": int64(30), "max-pods": int64(29),
			"node-labels": map[string]any{"karpenter.sh/nodepool": "default", "mine": "1", "type": "karpenter"},
			"node-taints": map[string]any{
				"karpenter.sh/unregistered": []any{":NoExecute"}, "team": []any{"a:NoSchedule", "a:NoExecute"},
			},
			"eviction-hard": map[string]any{"memory.available": "5%"},
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBottlerocketsLocalDisksAreJoinedOnce(t *testing.T) {
	b := boot()
	b.Family, b.RAID0 = instancetype.Bottlerocket, true
	for custom, want := range map[string]int{
		"[settings.bootstrap-commands.mine]\ncommands = [[\"apiclient\", \"ephemeral-storage\", \"init\"]]\nessential = true\nmode = \"always\"\n": 1,
		"[settings.bootstrap-commands.mine]\ncommands = [[\"apiclient\", \"set\", \"motd=hi\"]]\nessential = true\nmode = \"always\"\n":            2,
	} {
		b.Custom = custom
		if text := decoded(t, b); strings.Count(text, "[settings.bootstrap-commands.") != want || strings.Count(text, "init") != 1 {
			t.Errorf("want %d commands, of which one joins the disks:\n%s", want, text)
		}
	}
}

// TestNodesOfEachFamilyRegisterClosed has the taint that keeps pods away until Kerf knows the node, and none of the
// labels that a kubelet is not allowed to give itself.
func TestNodesOfEachFamilyRegisterClosed(t *testing.T) {
	for _, family := range []string{instancetype.AL2, instancetype.AL2023, instancetype.Bottlerocket, instancetype.Windows2019, instancetype.Windows2022, instancetype.Windows2025} {
		b := boot()
		b.Family = family
		b.Labels = append(b.Labels, model.Label{Key: "node-restriction.kubernetes.io/team", Value: "a"}, model.Label{Key: "kops.k8s.io/role", Value: "b"})
		text := decoded(t, b)
		if !strings.Contains(text, "karpenter.sh/unregistered") || !strings.Contains(text, "NoExecute") {
			t.Errorf("%s: the taint is missing:\n%s", family, text)
		}
		for _, label := range []string{"node-restriction", "kops.k8s.io", "topology.kubernetes.io"} {
			if strings.Contains(text, label) {
				t.Errorf("%s: %s is in\n%s", family, label, text)
			}
		}
	}
}

func TestCustomUserDataIsPassedOnBitByBit(t *testing.T) {
	b := boot()
	b.Family, b.Custom = instancetype.Custom, "\ufeff#!/bin/sh\r\n\techo \"hi\" \x00\xff  \n\n"
	if got := decoded(t, b); got != b.Custom {
		t.Errorf("%q, want %q", got, b.Custom)
	}
}

func TestUserDataMayFillTheLimit(t *testing.T) {
	b := boot()
	b.Family, b.Custom = instancetype.Custom, strings.Repeat("#", maxBytes)
	if got := decoded(t, b); len(got) != maxBytes {
		t.Errorf("%d bytes, want %d", len(got), maxBytes)
	}
}

func TestAClustersFamilyIsThatOfItsServices(t *testing.T) {
	for cidr, want := range map[string]bool{"10.100.0.0/16": false, "fd30:1c53:5f8a::/108": true, "": false} {
		if got := (APIServer{ServiceCIDR: cidr}).IPv6(); got != want {
			t.Errorf("%q: IPv6 is %v", cidr, got)
		}
	}
}
