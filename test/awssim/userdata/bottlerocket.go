package userdata

import (
	"errors"
	"fmt"
	"maps"

	"github.com/BurntSushi/toml"
)

// bottlerocketSettings is the part of settings.kubernetes that shapes a node, and the bootstrap commands.
type bottlerocketSettings struct {
	Settings struct {
		Kubernetes *struct {
			ClusterName        string              `toml:"cluster-name"`
			APIServer          string              `toml:"api-server"`
			ClusterCertificate string              `toml:"cluster-certificate"`
			MaxPods            *int64              `toml:"max-pods"`
			NodeLabels         map[string]string   `toml:"node-labels"`
			NodeTaints         map[string][]string `toml:"node-taints"`
			KubeReserved       map[string]string   `toml:"kube-reserved"`
			SystemReserved     map[string]string   `toml:"system-reserved"`
			EvictionHard       map[string]string   `toml:"eviction-hard"`
		} `toml:"kubernetes"`
		BootstrapCommands map[string]struct {
			Commands [][]string `toml:"commands"`
		} `toml:"bootstrap-commands"`
	} `toml:"settings"`
}

func parseBottlerocket(text []byte) (Node, error) {
	var c bottlerocketSettings
	if err := toml.Unmarshal(text, &c); err != nil {
		return Node{}, fmt.Errorf("settings: %w", err)
	}
	k := c.Settings.Kubernetes
	if k == nil {
		return Node{}, fmt.Errorf("settings.kubernetes is missing: %w", ErrNothing)
	}
	n := newNode()
	n.ClusterName, n.Endpoint, n.CertificateAuthority = k.ClusterName, k.APIServer, k.ClusterCertificate
	if n.ClusterName == "" || n.Endpoint == "" || n.CertificateAuthority == "" {
		return Node{}, errors.New("settings.kubernetes: cluster-name, api-server and cluster-certificate are all needed")
	}
	if k.MaxPods != nil {
		n.MaxPods = *k.MaxPods
	}
	maps.Copy(n.Labels, k.NodeLabels)
	for _, key := range sortedKeys(k.NodeTaints) {
		for _, v := range k.NodeTaints[key] {
			t, err := parseTaint(key + "=" + v)
			if err != nil {
				return Node{}, fmt.Errorf("settings.kubernetes.node-taints: %w", err)
			}
			n.Taints = append(n.Taints, t)
		}
	}
	maps.Copy(n.KubeReserved, k.KubeReserved)
	maps.Copy(n.SystemReserved, k.SystemReserved)
	maps.Copy(n.EvictionHard, k.EvictionHard)
	n.LocalStorageRAID0 = mountsInstanceStorage(c)
	return n, nil
}

// mountsInstanceStorage looks for the bootstrap command that makes one array of the local disks.
func mountsInstanceStorage(c bottlerocketSettings) bool {
	for _, name := range sortedKeys(c.Settings.BootstrapCommands) {
		for _, cmd := range c.Settings.BootstrapCommands[name].Commands {
			if len(cmd) >= 3 && cmd[0] == "apiclient" && cmd[1] == "ephemeral-storage" {
				return true
			}
		}
	}
	return false
}
