package awssim

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// serveEKS answers GET /clusters/{name}.
func (s *Sim) serveEKS(w http.ResponseWriter, r *http.Request) {
	const contentType = "application/json"
	escaped := strings.TrimPrefix(r.URL.EscapedPath(), "/clusters")
	name, err := url.PathUnescape(strings.TrimPrefix(escaped, "/"))
	action := "eks:DescribeCluster"
	if err != nil || name == "" || strings.Contains(name, "/") {
		action = "eks:" + r.Method + " " + r.URL.Path
	}
	out, err := s.call(r.Context(), action, func(context.Context) (any, error) {
		if err := signed(r); err != nil {
			return nil, err
		}
		if action != "eks:DescribeCluster" {
			return nil, fail("UnknownOperationException", "%s %s is not simulated.", r.Method, r.URL.Path)
		}
		return s.describeCluster(name)
	})
	if err != nil {
		writeJSONError(w, contentType, err)
		return
	}
	writeJSON(w, contentType, http.StatusOK, out)
}

func (s *Sim) describeCluster(name string) (any, error) {
	if name != s.cfg.Cluster {
		return nil, fail("ResourceNotFoundException", "No cluster found for name: %s.", name)
	}
	endpoint, authority := s.cfg.Endpoint, s.cfg.CertificateAuthority
	orString(&endpoint, "https://"+strings.ToUpper(digest(name)[:32])+".eks.invalid")
	orString(&authority, base64.StdEncoding.EncodeToString([]byte("no authority: this cluster is not there")))
	subnets := make([]string, 0, len(s.cfg.Subnets))
	for _, n := range s.cfg.Subnets {
		subnets = append(subnets, n.ID)
	}
	groups := make([]string, 0, len(s.cfg.SecurityGroups))
	for _, g := range s.cfg.SecurityGroups {
		groups = append(groups, g.ID)
	}
	return map[string]any{"cluster": map[string]any{
		"name": name, "arn": s.arn("eks", "cluster/"+name), "status": "ACTIVE", "version": s.cfg.KubernetesVersion,
		"platformVersion": "eks.1", "endpoint": endpoint,
		"certificateAuthority": map[string]string{"data": authority},
		"kubernetesNetworkConfig": map[string]any{
			"serviceIpv4Cidr": s.cfg.ServiceCIDR, "ipFamily": "ipv4",
		},
		"resourcesVpcConfig": map[string]any{
			"vpcId": s.cfg.VPC, "subnetIds": subnets, "securityGroupIds": groups,
			"endpointPrivateAccess": true, "endpointPublicAccess": false,
		},
	}}, nil
}
