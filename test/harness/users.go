package harness

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The users that a Cluster knows. Admin may everything; the services are the service accounts of deploy/rbac/rbac.yaml
// and may what it grants them.
const (
	Admin    = "admin"
	Watcher  = "kerf-watcher"
	Actuator = "kerf-actuator"
	Planner  = "kerf-planner"
)

// user is one identity: name is what this package calls it, subject what the API server does.
type user struct {
	name, subject, groups, token string
}

func newUsers() ([]user, error) {
	users := []user{{name: Admin, subject: Admin, groups: "system:masters"}}
	for _, name := range []string{Watcher, Actuator, Planner} {
		users = append(users, user{
			name: name, subject: "system:serviceaccount:kerf-system:" + name,
			groups: "system:serviceaccounts,system:serviceaccounts:kerf-system",
		})
	}
	for i := range users {
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		users[i].token = hex.EncodeToString(secret)
	}
	return users, nil
}

func (c *Cluster) user(name string) user {
	for _, u := range c.users {
		if u.name == name {
			return u
		}
	}
	return user{}
}

// Kubeconfig is the path of the kubeconfig with which the user acts.
func (c *Cluster) Kubeconfig(user string) string { return c.path(user + ".kubeconfig") }

// Config is a client configuration that acts as the user, without a rate limit of its own.
func (c *Cluster) Config(user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(user))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return unlimited(config), nil
}

// caFile is the certificate that the API server makes for itself on its first start.
func (c *Cluster) caFile() string { return c.path("certs/apiserver.crt") }

// writeCredentials chooses ports and writes what the components and the users need to know each other: the tokens, the
// key that signs service accounts, and a kubeconfig for each user.
func (c *Cluster) writeCredentials() error {
	var err error
	if c.ports, err = newPorts(); err != nil {
		return err
	}
	var csv strings.Builder
	for _, u := range c.users {
		fmt.Fprintf(&csv, "%s,%s,%s,%q\n", u.token, u.subject, u.name, u.groups)
	}
	if err := os.WriteFile(c.path("tokens.csv"), []byte(csv.String()), 0o600); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if err := os.WriteFile(c.path("sa.key"), pem.EncodeToMemory(block), 0o600); err != nil {
		return err
	}
	server := &api.Cluster{Server: url("https", c.ports.api), CertificateAuthority: c.caFile()}
	return c.writeKubeconfigs(server, func(u user) *api.AuthInfo { return &api.AuthInfo{Token: u.token} })
}

// adopt writes kubeconfigs for the cluster of the user's own kubeconfig: the admin is its user, the services are
// impersonated by it.
func (c *Cluster) adopt() error {
	theirs, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	if err := api.MinifyConfig(theirs); err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	if err := api.FlattenConfig(theirs); err != nil { // files named by it become content, so that it can be written elsewhere
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	current := theirs.Contexts[theirs.CurrentContext]
	return c.writeKubeconfigs(theirs.Clusters[current.Cluster], func(u user) *api.AuthInfo {
		info := theirs.AuthInfos[current.AuthInfo].DeepCopy()
		if u.name != Admin {
			info.Impersonate = u.subject
		}
		return info
	})
}

func (c *Cluster) writeKubeconfigs(server *api.Cluster, auth func(user) *api.AuthInfo) error {
	for _, u := range c.users {
		config := api.NewConfig()
		config.Clusters["kerf"] = server
		config.AuthInfos[u.name] = auth(u)
		config.Contexts["kerf"] = &api.Context{Cluster: "kerf", AuthInfo: u.name}
		config.CurrentContext = "kerf"
		if err := clientcmd.WriteToFile(*config, c.Kubeconfig(u.name)); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", u.name, err)
		}
	}
	return nil
}
