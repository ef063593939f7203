package userdata

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

func boot() Node {
	return Node{
		Cluster: "demo", API: APIServer{Endpoint: "https://api", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16"},
		Family: AL2023, MaxPods: 29,
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
				b.Family = Bottlerocket
				b.Custom = "[settings.host-containers.admin]\nenabled = true"
			},
			[]string{"[settings.host-containers.admin]", "[settings.kubernetes]", "max-pods = 29", `"type" = "karpenter"`, `"karpenter.sh/unregistered" = [":NoExecute"]`},
			nil,
		},
		"Custom is passed on as it is": {
			func(b *Node) { b.Family = Custom; b.Custom = "mine" }, []string{"mine"}, []string{"NodeConfig"},
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

func TestUserDataRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Node)
		names  string
	}{
		"a family without a template":       {func(b *Node) { b.Family = "AL2" }, "AL2"},
		"more than EC2 takes":               {func(b *Node) { b.Custom = strings.Repeat("#", maxBytes) }, "spec.userData"},
		"Kubernetes settings given by hand": {func(b *Node) { b.Family = Bottlerocket; b.Custom = "[settings.kubernetes]" }, "spec.kubelet"},
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
