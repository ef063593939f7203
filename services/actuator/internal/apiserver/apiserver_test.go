package apiserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
)

func TestRequestsNameTheirObject(t *testing.T) {
	tests := map[string]struct {
		send func(apiserver.Client) error
		want string
	}{
		"a pod is deleted": {
			func(c apiserver.Client) error {
				return c.Pods("apps").Delete(t.Context(), "web", metav1.DeleteOptions{})
			},
			"DELETE /api/v1/namespaces/apps/pods/web",
		},
		"a node is deleted": {
			func(c apiserver.Client) error { return c.Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}) },
			"DELETE /api/v1/nodes/a",
		},
		"an event is made": {func(c apiserver.Client) error {
			_, err := c.Events("apps").Create(t.Context(), &corev1.Event{}, metav1.CreateOptions{})
			return err
		}, "POST /api/v1/namespaces/apps/events"},
		"no pod has no name":  {func(c apiserver.Client) error { return c.Pods("apps").Delete(t.Context(), "", metav1.DeleteOptions{}) }, ""},
		"no node has no name": {func(c apiserver.Client) error { return c.Nodes().Delete(t.Context(), "", metav1.DeleteOptions{}) }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Method + " " + r.URL.Path
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
			}))
			defer server.Close()
			c, err := apiserver.New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			err = tt.send(c)
			if got != tt.want || tt.want == "" && err == nil {
				t.Errorf("sent %q, want %q; error %v", got, tt.want, err)
			}
		})
	}
}
