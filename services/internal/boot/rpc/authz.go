package rpc

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

const (
	anything     = "*"
	cnPrefix     = "CN="
	healthPrefix = "/grpc.health.v1.Health/"
	// ReasonNotAllowed: the client's identity may not call this method.
	ReasonNotAllowed = "NOT_ALLOWED"
)

// Authz says who may call what. A key is a full method "/pkg.Service/Method", a
// whole service "/pkg.Service/*", or "*"; the most specific key that matches
// decides alone. A value lists client identities: a URI subject alternative name
// ("spiffe://example.org/kerf/watcher"), a DNS one ("watcher.kerf.svc"), a common
// name ("CN=watcher"), or "*" for any client whose certificate verifies. A method
// that no key matches is denied to all, but for health, which all may ask.
type Authz map[string][]string

// Validate implements config.Validator.
func (a Authz) Validate() error {
	var errs []error
	for _, pattern := range slices.Sorted(maps.Keys(a)) {
		if !validPattern(pattern) {
			errs = append(errs, config.Errorf(pattern, `not a method: want "/package.Service/Method", "/package.Service/*" or "*"`))
		}
		for _, id := range a[pattern] {
			if id == "" || id == cnPrefix || strings.ContainsAny(id, " \t\n") {
				errs = append(errs, config.Errorf(pattern,
					`%q is not a client identity: want a URI, a DNS name, "CN=name" or "*"`, id))
			}
		}
	}
	return errors.Join(errs...)
}

func validPattern(p string) bool {
	if p == anything {
		return true
	}
	service, method, ok := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return strings.HasPrefix(p, "/") && ok && service != "" && method != "" && !strings.Contains(method, "/")
}

// unknown returns the keys that name nothing that the server serves: a
// misspelled rule would deny in silence.
func (a Authz) unknown(services map[string]grpc.ServiceInfo) []string {
	var out []string
	for _, pattern := range slices.Sorted(maps.Keys(a)) {
		if pattern == anything {
			continue
		}
		service, method, _ := strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		info, ok := services[service]
		named := func(m grpc.MethodInfo) bool { return m.Name == method }
		if !ok || (method != anything && !slices.ContainsFunc(info.Methods, named)) {
			out = append(out, pattern)
		}
	}
	return out
}

// allowed decides for one method and the identities of one client.
func (a Authz) allowed(fullMethod string, ids []string) bool {
	if strings.HasPrefix(fullMethod, healthPrefix) {
		return true
	}
	service := fullMethod[:strings.LastIndexByte(fullMethod, '/')+1] + anything
	for _, pattern := range []string{fullMethod, service, anything} {
		names, ok := a[pattern]
		if !ok {
			continue
		}
		return slices.ContainsFunc(names, func(n string) bool {
			return (n == anything && len(ids) > 0) || slices.Contains(ids, n)
		})
	}
	return false
}

// authorise is called for every call of a server that has TLS.
func (a Authz) authorise(ctx context.Context, fullMethod string) error {
	ids := Identities(ctx)
	if a.allowed(fullMethod, ids) {
		return nil
	}
	e := rpcerr.New(codes.PermissionDenied, ReasonNotAllowed, "client %s may not call %s", firstName(ids), fullMethod)
	e.Metadata = map[string]string{"method": fullMethod}
	return e
}

// Identities returns what the client's verified certificate calls it, in the
// forms that Authz uses, most telling first; nil for a plaintext client.
func Identities(ctx context.Context) []string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	leaf := info.State.VerifiedChains[0][0]
	var ids []string
	for _, uri := range leaf.URIs {
		ids = append(ids, uri.String())
	}
	ids = append(ids, leaf.DNSNames...)
	// A certificate without any name still is a verified client, as "CN=".
	return append(ids, cnPrefix+leaf.Subject.CommonName)
}

func firstName(ids []string) string {
	if len(ids) == 0 {
		return "without a certificate"
	}
	return ids[0]
}
