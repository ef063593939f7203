package assets

import "runtime"

// etcdVersion is the etcd release in test/controlplane/go.mod.
const etcdVersion = "v3.7.3"

// release is a published archive that holds links() but etcd.
type release struct {
	url string
	// sum is its SHA-512 as CHANGELOG/CHANGELOG-1.37.md of Kubernetes has it, which Go's checksum database covers with
	// the module of the release after it.
	sum string
}

// published is the archive of Kubernetes for this machine's architecture. Its host is the only one that the tests and
// the demo ever ask, beside the Go module proxy. The zero release is for machines that have none.
func published() release {
	sums := map[string]string{
		"amd64": "7460f368c6049dfec1121a0bb3528257f47439e4a0c3d8b1740377cf21073e45c7d911845b8de61d68aae6b57cafa24885d8378f183a26bc2df0d321c4993afd",
		"arm64": "c832cfb9ad04180cf6c4469a8950bf58c0c28066b4543e520a7a25460bbb6f763b17cc535e010f5ddfcef7c695f2faceb9c584936b4d62a554c6b015be199f16",
	}
	sum := sums[runtime.GOARCH]
	if runtime.GOOS != "linux" || sum == "" {
		return release{}
	}
	return release{url: "https://dl.k8s.io/" + version + "/kubernetes-server-linux-" + runtime.GOARCH + ".tar.gz", sum: sum}
}
