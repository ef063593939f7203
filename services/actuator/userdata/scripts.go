package userdata

import (
	"fmt"
	"net/textproto"
	"strings"
)

// al2 puts the call of the image's boot script behind the class's own parts: they run first.
func al2(n Node) (string, error) {
	args := []string{
		"/etc/eks/bootstrap.sh", shell(n.Cluster), "--apiserver-endpoint", shell(n.API.Endpoint), "--b64-cluster-ca", shell(n.API.CABase64),
	}
	if n.API.IPv6() {
		args = append(args, "--ip-family", "ipv6", "--service-ipv6-cidr", shell(n.API.ServiceCIDR))
	}
	if dns := n.dns(); len(dns) > 0 {
		args = append(args, "--dns-cluster-ip", shell(dns[0]))
	}
	args = append(args, "--use-max-pods", "false", "--kubelet-extra-args", shell(kubeletFlags(n)))
	if n.RAID0 {
		args = append(args, "--local-disks", "raid0")
	}
	script := "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" + strings.Join(args, " ") + "\n"
	parts, err := customParts(n.Custom)
	if err != nil {
		return "", err
	}
	return message(append(parts, part{textproto.MIMEHeader{"Content-Type": {typeShell}}, []byte(script)}))
}

// The tags that EC2's launch agent for Windows looks for.
const powershellStart, powershellEnd = "<powershell>", "</powershell>"

// windows puts the call of the image's boot script behind the class's own text, in one script.
func windows(n Node) (string, error) {
	custom := strings.TrimSpace(n.Custom)
	if inside, found := strings.CutPrefix(custom, powershellStart); found {
		if custom, found = strings.CutSuffix(inside, powershellEnd); !found {
			return "", invalid("%s without %s", powershellStart, powershellEnd)
		}
		custom = strings.TrimSpace(custom)
	}
	if strings.Contains(custom, powershellStart) || strings.Contains(custom, powershellEnd) {
		return "", invalid("want the text of one script: %s is written around all of it", powershellStart)
	}
	var out strings.Builder
	out.WriteString(powershellStart + "\n")
	if custom != "" {
		out.WriteString(custom + "\n")
	}
	fmt.Fprintf(&out, "& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName %s -APIServerEndpoint %s -Base64ClusterCA %s",
		powershell(n.Cluster), powershell(n.API.Endpoint), powershell(n.API.CABase64))
	fmt.Fprintf(&out, " -KubeletExtraArgs %s", powershell(kubeletFlags(n)))
	if dns := n.dns(); len(dns) > 0 {
		fmt.Fprintf(&out, " -DNSClusterIP %s", powershell(dns[0]))
	}
	out.WriteString("\n" + powershellEnd + "\n")
	return out.String(), nil
}

// shell quotes a word for bash, powershell for PowerShell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func powershell(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
