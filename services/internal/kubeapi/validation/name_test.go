package validation_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/validation"
)

func TestNamesAreThoseOfTheAPIServer(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	for what, tt := range map[string]struct {
		kind, namespace, name string
		want                  []string // parts of each problem
	}{
		"a pool":                               {"NodePool", "", "gpu-1", nil},
		"a name with dots":                     {"Pod", "shop", "web.1", nil},
		"a name that begins with a digit":      {"Service", "shop", "1st", nil},
		"capitals and an underscore":           {"NodePool", "", "My_Pool", []string{`metadata.name: Invalid value: "My_Pool": a lowercase RFC 1123 subdomain`, "my-pool would do"}},
		"a name of nothing that names have":    {"NodePool", "", "___", []string{"metadata.name"}},
		"a namespace with a capital":           {"Deployment", "My_NS", "web", []string{`metadata.namespace: Invalid value: "My_NS": a lowercase RFC 1123 label`}},
		"a namespace whose own name has a dot": {"Namespace", "", "a.b", []string{"metadata.name: Invalid value: \"a.b\": must not contain dots"}},
		"a pool whose name fits no label":      {"NodePool", "", long(64), []string{"it has 64 characters, and is a label's value on each of its nodes: want at most 63"}},
		"a class whose name fits no label":     {"EC2NodeClass", "", long(64), []string{"at most 63"}},
		"a Deployment of that name":            {"Deployment", "", long(64), nil},
		"a CronJob whose Jobs have no name":    {"CronJob", "", long(53), []string{"its Jobs' names are longer by 11: want at most 52"}},
		"a name that is too long for all":      {"Pod", "", long(254), []string{"must be no more than 253"}},
		"name and namespace":                   {"Pod", "A", "B", []string{"metadata.name", "metadata.namespace"}},
	} {
		t.Run(what, func(t *testing.T) {
			got := validation.Names(tt.kind, &metav1.ObjectMeta{Namespace: tt.namespace, Name: tt.name})
			var text []string
			for _, err := range got {
				text = append(text, err.Error())
			}
			if (len(got) == 0) != (tt.want == nil) {
				t.Fatalf("problems %q, want %q", text, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(text, "\n"), want) {
					t.Errorf("problems %q, want %q among them", text, want)
				}
			}
		})
	}
}
