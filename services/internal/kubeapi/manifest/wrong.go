package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/culprit"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/renames"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
)

// wrongValue reports values of the wrong type or form: each that can be told from the others, in the order of their fields.
func (r *reader) wrongValue(doc document, h header, obj any, err error) {
	var wrong []culprit.Culprit
	if len(doc.json) <= maxSearched {
		wrong = culprit.Find(doc.json, MaxErrors, func(text []byte) error {
			fresh := reflect.New(reflect.TypeOf(obj).Elem()).Interface()
			_, err := kjson.UnmarshalStrict(text, fresh)
			return err
		})
	}
	if len(wrong) == 0 {
		wrong = []culprit.Culprit{{Err: err}}
	}
	for _, c := range wrong {
		if r.full() {
			return
		}
		place := doc.place
		if c.Path != "" {
			place.Line = lineOf(doc, c.Path)
		}
		r.fail(place, h.title(), c.Path, problemOf(doc, c)+renames.Of(h.Kind, c.Path))
	}
}

// problemOf says in a user's words what is wrong with a value.
func problemOf(doc document, c culprit.Culprit) string {
	problem := strings.TrimPrefix(c.Err.Error(), "json: ")
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](c.Err); ok {
		problem = fmt.Sprintf("want %s, got %s", wanted(typeErr.Type), typeErr.Value)
		switch typeErr.Type {
		case reflect.TypeFor[awsv1.VolumeSize]():
			problem = fmt.Sprintf("want a size with its unit such as %sGi, got %s", cmp.Or(written(doc, c.Path), "20"), typeErr.Value)
		case reflect.TypeFor[karpenterv1.Duration](), reflect.TypeFor[karpenterv1.NillableDuration]():
			problem = "want a time with its unit such as 720h or 30s, got " + typeErr.Value
		}
		if text := written(doc, c.Path); typeErr.Value == "bool" && text != "" && text != "true" && text != "false" {
			problem += fmt.Sprintf(": YAML 1.1 takes %s for one; write %q", text, text)
		}
	}
	if slices.ContainsFunc([]error{resource.ErrFormatWrong, resource.ErrNumeric, resource.ErrSuffix}, func(err error) bool { return strings.Contains(problem, err.Error()) }) {
		problem = "want a quantity such as 2, 500m or 4Gi"
		if text, ok := c.Value.(string); ok {
			problem += fmt.Sprintf(", got %q", text)
		}
	}
	if text, ok := c.Value.(string); ok {
		problem += template.Unfilled(text)
	}
	return problem
}

// wanted says in a user's words what a Go type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a text (in quotes)"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object of fields"
	default:
		return t.String()
	}
}
