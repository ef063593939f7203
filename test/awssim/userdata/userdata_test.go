package userdata_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim/userdata"
)

const nodeConfig = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: c1
    apiServerEndpoint: https://c1.example
    certificateAuthority: Y2E=
    cidr: 10.100.0.0/16
  kubelet:
    config:
      maxPods: 29
      kubeReserved: {cpu: 70m, memory: 574Mi}
      systemReserved: {memory: 100Mi}
      evictionHard: {memory.available: 5%}
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
      - {key: team, value: a, effect: NoSchedule}
    flags:
    - --node-labels=type=karpenter,karpenter.sh/nodepool=default
    - --v=2
  instance:
    localStorage: {strategy: RAID0}
`

func multipart(parts ...string) string {
	b := "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n"
	for _, p := range parts {
		b += "--//\r\n" + p + "\r\n"
	}
	return b + "--//--\r\n"
}

func part(contentType, body string) string { return "Content-Type: " + contentType + "\n\n" + body }

func want() userdata.Node {
	return userdata.Node{
		ClusterName: "c1", Endpoint: "https://c1.example", CertificateAuthority: "Y2E=", ServiceCIDR: "10.100.0.0/16",
		MaxPods: 29, Labels: map[string]string{"type": "karpenter", "karpenter.sh/nodepool": "default"},
		Taints: []userdata.Taint{
			{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}, {Key: "team", Value: "a", Effect: "NoSchedule"},
		},
		KubeReserved:   map[string]string{"cpu": "70m", "memory": "574Mi"},
		SystemReserved: map[string]string{"memory": "100Mi"},
		EvictionHard:   map[string]string{"memory.available": "5%"}, LocalStorageRAID0: true,
	}
}

func TestParseUnderstandsWhatTheBootProgramsDo(t *testing.T) {
	custom := "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 5\n      kubeReserved: {cpu: 1, ephemeral-storage: 2Gi}\n"
	merged := want()
	merged.KubeReserved = map[string]string{"cpu": "70m", "memory": "574Mi", "ephemeral-storage": "2Gi"}
	noCIDR := want()
	noCIDR.ServiceCIDR = ""
	windows := noCIDR
	windows.LocalStorageRAID0 = false

	cases := map[string]struct {
		family userdata.Family
		text   string
		want   userdata.Node
	}{
		"a bare NodeConfig": {userdata.AL2023, nodeConfig, want()},
		"a MIME part of the right type, beside a script": {
			userdata.AL2023, multipart(part("text/x-shellscript; charset=\"us-ascii\"", "#!/bin/bash\necho hello"), part("application/node.eks.aws", nodeConfig)), want(),
		},
		"a base64 MIME part": {
			userdata.AL2023, multipart("Content-Transfer-Encoding: base64\n" + part("application/node.eks.aws", base64.StdEncoding.EncodeToString([]byte(nodeConfig)))), want(),
		},
		"a later NodeConfig wins key by key": {
			userdata.AL2023, multipart(part("application/node.eks.aws", custom), part("application/node.eks.aws", nodeConfig)), merged,
		},
		"Bottlerocket settings": {userdata.Bottlerocket, `
[settings.kubernetes]
cluster-name = "c1"
api-server = "https://c1.example"
cluster-certificate = "Y2E="
max-pods = 29
[settings.kubernetes.node-labels]
"type" = "karpenter"
"karpenter.sh/nodepool" = "default"
[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
"team" = ["a:NoSchedule"]
[settings.kubernetes.kube-reserved]
cpu = "70m"
memory = "574Mi"
[settings.kubernetes.system-reserved]
memory = "100Mi"
[settings.kubernetes.eviction-hard]
"memory.available" = "5%"
[settings.bootstrap-commands.000-mount-instance-storage]
commands = [["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind"]]
`, noCIDR},
		"the bootstrap script of AL2": {userdata.AL2, multipart(part("text/x-shellscript", `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log)
/etc/eks/bootstrap.sh 'c1' --apiserver-endpoint 'https://c1.example' --b64-cluster-ca 'Y2E=' \
--use-max-pods false --local-disks raid0 \
--kubelet-extra-args '--node-labels="type=karpenter,karpenter.sh/nodepool=default" --register-with-taints="karpenter.sh/unregistered:NoExecute,team=a:NoSchedule" --max-pods=29 --kube-reserved=cpu=70m,memory=574Mi --system-reserved=memory=100Mi --eviction-hard=memory.available<5%'`)), noCIDR},
		"the bootstrap script of Windows": {userdata.Windows, `<powershell>
Write-Host hello
& "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1" -EKSClusterName 'c1' -APIServerEndpoint 'https://c1.example' -Base64ClusterCA 'Y2E=' -KubeletExtraArgs '--node-labels="type=karpenter,karpenter.sh/nodepool=default" --register-with-taints="karpenter.sh/unregistered:NoExecute,team=a:NoSchedule" --max-pods=29 --kube-reserved=cpu=70m,memory=574Mi --system-reserved=memory=100Mi --eviction-hard=memory.available<5%' -DNSClusterIP '10.100.0.10'
</powershell>
`, windows},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := userdata.Parse(c.family, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseRefusesWhatWouldKeepAKubeletFromStarting(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(nodeConfig, old, with, 1) }
	cases := map[string]struct {
		family userdata.Family
		text   string
		says   string
	}{
		"no service range":                 {userdata.AL2023, replace("    cidr: 10.100.0.0/16\n", ""), "spec.cluster.cidr"},
		"an authority that is not base64":  {userdata.AL2023, replace("Y2E=", "no-base64"), "certificateAuthority"},
		"a label of a protected domain":    {userdata.AL2023, replace("type=karpenter", "node-role.kubernetes.io/worker=x"), "node-role.kubernetes.io/worker"},
		"a label without a value":          {userdata.AL2023, replace("type=karpenter", "type"), "--node-labels"},
		"a taint with an unknown effect":   {userdata.AL2023, replace("NoExecute", "NoMatter"), "karpenter.sh/unregistered"},
		"a reserved amount of no unit":     {userdata.AL2023, replace("70m", "seventy"), "kubeReserved.cpu"},
		"an eviction threshold over 100 %": {userdata.AL2023, replace("5%", "500%"), "memory.available"},
		"another kind":                     {userdata.AL2023, replace("kind: NodeConfig", "kind: Pod"), "kind"},
		"maxPods as text":                  {userdata.AL2023, replace("maxPods: 29", "maxPods: many"), "maxPods"},
		"a MIME message that breaks off":   {userdata.AL2023, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n--//\r\nContent-Type: a/b\r\n\r\n", "MIME part"},
		"more than 16 KiB":                 {userdata.AL2023, nodeConfig + strings.Repeat("#", 17000), "16384"},
		"TOML that is none":                {userdata.Bottlerocket, "[settings", "settings"},
		"Bottlerocket without a cluster":   {userdata.Bottlerocket, "[settings.kubernetes]\nmax-pods = 3", "cluster-name"},
		"an image without a boot program":  {"", nodeConfig, "boot program"},
		"a parameter that Windows lacks":   {userdata.Windows, "<powershell>\n& \"C:\\Start-EKSBootstrap.ps1\" -Name c1\n</powershell>", "-Name"},
		"Windows without a cluster":        {userdata.Windows, "<powershell>\n& \"C:\\Start-EKSBootstrap.ps1\"\n</powershell>", "cluster"},
		"a bootstrap call that breaks off": {userdata.AL2, "#!/bin/bash\n/etc/eks/bootstrap.sh c1 --apiserver-endpoint", "--apiserver-endpoint"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := userdata.Parse(c.family, []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not name %q", err, c.says)
			}
		})
	}
}

func TestParseSaysSoWhenThereIsNothing(t *testing.T) {
	for family, text := range map[userdata.Family]string{
		userdata.AL2023: "#!/bin/bash\necho hello", userdata.AL2: "", userdata.Bottlerocket: "[settings.motd]\nx = 1",
		userdata.Windows: "<powershell>\nWrite-Host hello\n</powershell>",
	} {
		if _, err := userdata.Parse(family, []byte(text)); !errors.Is(err, userdata.ErrNothing) {
			t.Errorf("%s: %v is not ErrNothing", family, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(nodeConfig)
	f.Add(multipart(part("application/node.eks.aws", nodeConfig)))
	f.Add("[settings.kubernetes]\ncluster-name = \"x\"")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, family := range []userdata.Family{userdata.AL2, userdata.AL2023, userdata.Bottlerocket, userdata.Windows} {
			_, _ = userdata.Parse(family, []byte(text)) // must not panic
		}
	})
}
