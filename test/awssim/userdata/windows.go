package userdata

import (
	"errors"
	"fmt"
	"strings"
)

// parseWindows finds the call of the bootstrap script in the one script of the launch agent, and reads its parameters. It
// understands words and quotes; it does not run PowerShell.
func parseWindows(text []byte) (Node, error) {
	body, found := strings.CutPrefix(strings.TrimSpace(string(text)), "<powershell>")
	body, closed := strings.CutSuffix(body, "</powershell>")
	if !found || !closed || strings.Contains(body, "powershell>") {
		return Node{}, fmt.Errorf("want one <powershell> element: %w", ErrNothing)
	}
	for line := range strings.SplitSeq(body, "\n") {
		words := shellWords(strings.TrimPrefix(strings.TrimSpace(line), "& "))
		if len(words) > 0 && strings.HasSuffix(words[0], `\Start-EKSBootstrap.ps1`) {
			return windowsParameters(words[1:])
		}
	}
	return Node{}, fmt.Errorf("no line calls Start-EKSBootstrap.ps1: %w", ErrNothing)
}

func windowsParameters(args []string) (Node, error) {
	n := newNode()
	if len(args)%2 != 0 {
		return Node{}, errors.New("Start-EKSBootstrap.ps1: a parameter has no value")
	}
	for i := 0; i < len(args); i += 2 {
		switch name, value := args[i], args[i+1]; name {
		case "-EKSClusterName":
			n.ClusterName = value
		case "-APIServerEndpoint":
			n.Endpoint = value
		case "-Base64ClusterCA":
			n.CertificateAuthority = value
		case "-KubeletExtraArgs":
			if err := applyFlags(shellWords(value), &n); err != nil {
				return Node{}, fmt.Errorf("Start-EKSBootstrap.ps1 -KubeletExtraArgs: %w", err)
			}
		case "-DNSClusterIP", "-ContainerRuntime":
		default:
			return Node{}, fmt.Errorf("Start-EKSBootstrap.ps1: there is no parameter %s", name)
		}
	}
	if n.ClusterName == "" {
		return Node{}, errors.New("Start-EKSBootstrap.ps1: the cluster's name is missing")
	}
	return n, nil
}
