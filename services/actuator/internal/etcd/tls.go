package etcd

import (
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

// credentials follow their files: certificates and CAs are renewed while the actuator runs, and a connection that is made
// with old ones fails. The client of etcd would keep the CA that it was made with, so it is given credentials as an option.
func credentials(c Config) ([]grpc.DialOption, error) {
	files := rpc.ClientTLS{CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: c.CAFile}
	plain := func(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "unix:") }
	if (files == rpc.ClientTLS{}) || plain(c.Endpoints[0]) { // all others count as the first one does
		return nil, nil
	}
	files.ReloadEvery = config.Duration(time.Second)
	secure, err := files.ForeignCredentials(c.Log, c.Certificates)
	if err != nil {
		return nil, err
	}
	return []grpc.DialOption{grpc.WithTransportCredentials(secure)}, nil
}
