package apiserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
)

// lists is an API server of Kubernetes 1.29: its cache of pods, which has come to a revision, may be behind etcd.
type lists struct {
	revision int // etcd's
	cached   int // the cache's, which does not have the pod before etcd's
	down     bool
	asked    []string
}

func (l *lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	say := func(code int, o any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	refuse := func(words string, causes ...metav1.StatusCause) {
		status := apierrors.NewTimeoutError(words, 1).Status()
		status.Kind, status.APIVersion, status.Details.Causes = "Status", "v1", causes
		say(http.StatusGatewayTimeout, status)
	}
	q := r.URL.Query()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	onNode := r.URL.Path == "/api/v1/pods" && q.Get("fieldSelector") == "spec.nodeName=a"
	switch at, _ := strconv.Atoi(q.Get("resourceVersion")); {
	case strings.HasPrefix(q.Get("fieldSelector"), "metadata.name=") && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") && at == 0:
		l.asked = append(l.asked, "one key of etcd")
		list.ResourceVersion = strconv.Itoa(l.revision)
		say(http.StatusOK, list)
	case l.down:
		l.asked = append(l.asked, "in vain")
		refuse("no answer")
	case onNode && at == 0:
		l.asked = append(l.asked, "all pods of etcd")
		list.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
		say(http.StatusOK, list)
	case onNode && at > l.cached:
		l.asked = append(l.asked, "a cache that is behind")
		refuse("Too large resource version", metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
	case onNode:
		l.asked = append(l.asked, "the cache")
		if l.cached >= l.revision {
			list.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
		}
		say(http.StatusOK, list)
	default:
		say(http.StatusBadRequest, metav1.Status{Message: r.URL.String()})
	}
}

func TestPodsOfANodeAreTheNewestWithoutAllPodsBeingRead(t *testing.T) {
	tests := map[string]struct {
		server lists
		asked  []string
		fails  bool
	}{
		"the cache has come so far": {
			lists{revision: 7, cached: 7},
			[]string{"one key of etcd", "the cache"},
			false,
		},
		"the cache is behind, or nothing ever brings it there": {
			lists{revision: 7, cached: 6},
			[]string{"one key of etcd", "a cache that is behind", "all pods of etcd"},
			false,
		},
		"the API server does not answer, which a longer question would not change": {
			lists{revision: 7, cached: 7, down: true},
			[]string{"one key of etcd", "in vain"},
			true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&tt.server)
			defer server.Close()
			c, err := apiserver.New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := apiserver.PodsOn(t.Context(), c, "a")
			if (err != nil) != tt.fails || err == nil && (len(got.Items) != 1 || got.Items[0].Name != "web") {
				t.Errorf("got %v, error %v", got, err)
			}
			if diff := cmp.Diff(tt.asked, tt.server.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}
