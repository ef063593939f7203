// Package kubeconfig finds the cluster to talk to, as kubectl does.
//
// It reads files and the environment, and opens no connection. Start reading at Load.
package kubeconfig

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load is how to reach a cluster. path is a kubeconfig file, or several that are merged, separated as in $KUBECONFIG; where
// it is empty, $KUBECONFIG counts, then the pod that this process runs in, then the file in the home directory. context is
// the context to take; empty takes the current one.
func Load(path, context string) (*rest.Config, error) {
	if path == "" && context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if cfg, err := rest.InClusterConfig(); err == nil {
			return cfg, nil
		}
	}
	rules := rules(path)
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("kubeconfig: no cluster is named in %v, and this is no pod", rules.GetLoadingPrecedence())
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return cfg, nil
}

func rules(path string) *clientcmd.ClientConfigLoadingRules {
	out := clientcmd.NewDefaultClientConfigLoadingRules()
	switch list := filepath.SplitList(path); len(list) {
	case 0:
	case 1:
		out.ExplicitPath = path
	default:
		out.Precedence = list
	}
	return out
}

// Contexts are the names of the contexts there are, sorted; none where nothing can be read.
func Contexts(path string) []string {
	cfg, err := rules(path).Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(cfg.Contexts))
}
