package kubeapi_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
)

const crdDir = "../../../deploy/crds"

// crd is one CustomResourceDefinition as the API server sees it: its own code
// validates and defaults here.
type crd struct {
	kind       string
	definition *apiextensions.CustomResourceDefinition
	v1         *apiextensionsv1.CustomResourceDefinition
	structural *schema.Structural
	validator  schemavalidation.SchemaValidator
	cel        *cel.Validator
}

func loadCRDs(t *testing.T) map[string]*crd {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	files, err := filepath.Glob(filepath.Join(crdDir, "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", crdDir, err)
	}
	crds := map[string]*crd{}
	for _, file := range files {
		c := loadCRD(t, scheme, file)
		crds[c.kind] = c
	}
	return crds
}

func loadCRD(t *testing.T, scheme *runtime.Scheme, file string) *crd {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &crd{definition: &apiextensions.CustomResourceDefinition{}, v1: &apiextensionsv1.CustomResourceDefinition{}}
	if err := yaml.UnmarshalStrict(text, c.v1); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	scheme.Default(c.v1)
	if err := scheme.Convert(c.v1, c.definition, nil); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	c.kind = c.v1.Spec.Names.Kind
	props, err := apiextensions.GetSchemaForVersion(c.definition, c.v1.Spec.Versions[0].Name)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if c.structural, err = schema.NewStructural(props.OpenAPIV3Schema); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if c.validator, _, err = schemavalidation.NewSchemaValidator(props.OpenAPIV3Schema); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	c.cel = cel.NewValidator(c.structural, true, celconfig.PerCallLimit)
	return c
}

// admit does to an object what the API server does on create: unknown fields are
// refused as with strict field validation, defaults filled in, then all checks.
func (c *crd) admit(ctx context.Context, obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	pruned := runtime.DeepCopyJSON(obj)
	unknown := pruning.PruneWithOptions(pruned, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field"))
	}
	defaulting.Default(obj, c.structural)
	errs = append(errs, schemavalidation.ValidateCustomResource(nil, obj, c.validator)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, obj)...)
	celErrs, _ := c.cel.Validate(ctx, nil, c.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, celErrs...)
}

// update does what the API server does to a valid new form of an old object.
func (c *crd) update(ctx context.Context, obj, old map[string]any) field.ErrorList {
	defaulting.Default(obj, c.structural)
	defaulting.Default(old, c.structural)
	errs, _ := c.cel.Validate(ctx, nil, c.structural, obj, old, celconfig.RuntimeCELCostBudget)
	return errs
}

func TestAPIServerAcceptsTheCRDs(t *testing.T) {
	for kind, c := range loadCRDs(t) {
		// The API server fills these in before it validates.
		c.definition.Status.StoredVersions = []string{c.v1.Spec.Versions[0].Name}
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), c.definition) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestCRDsHaveNamesAndColumnsThatUsersKnow(t *testing.T) {
	type look struct {
		Names          apiextensionsv1.CustomResourceDefinitionNames
		Scope          apiextensionsv1.ResourceScope
		Columns, Wide  []string
		Status, Scaled bool
	}
	names := func(kind, plural string, short ...string) apiextensionsv1.CustomResourceDefinitionNames {
		return apiextensionsv1.CustomResourceDefinitionNames{
			Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
			Categories: []string{"karpenter"}, ShortNames: short,
		}
	}
	buffer := names("CapacityBuffer", "capacitybuffers", "cb")
	buffer.Categories = nil
	want := map[string]look{
		"NodePool": {
			Names: names("NodePool", "nodepools"), Scope: "Cluster", Status: true, Scaled: true,
			Columns: []string{"NodeClass", "Nodes", "Ready", "Age"}, Wide: []string{"Weight", "CPU", "Memory"},
		},
		"NodeClaim": {
			Names: names("NodeClaim", "nodeclaims"), Scope: "Cluster", Status: true,
			Columns: []string{"Type", "Capacity", "Zone", "Node", "Ready", "Age"},
			Wide:    []string{"ImageID", "ID", "NodePool", "NodeClass", "Drifted"},
		},
		"EC2NodeClass": {
			Names: names("EC2NodeClass", "ec2nodeclasses", "ec2nc", "ec2ncs"), Scope: "Cluster", Status: true,
			Columns: []string{"Ready", "Age"}, Wide: []string{"Role"},
		},
		"NodeOverlay": {
			Names: names("NodeOverlay", "nodeoverlays", "overlays"), Scope: "Cluster", Status: true,
			Columns: []string{"Ready", "Age"}, Wide: []string{"Weight"},
		},
		"CapacityBuffer": {
			Names: buffer, Scope: "Namespaced", Status: true,
			Columns: []string{"Strategy", "Replicas", "Ready", "Provisioning", "Age"},
		},
	}
	got := map[string]look{}
	for kind, c := range loadCRDs(t) {
		version := c.v1.Spec.Versions[0]
		l := look{Names: c.v1.Spec.Names, Scope: c.v1.Spec.Scope}
		l.Status = version.Subresources != nil && version.Subresources.Status != nil
		l.Scaled = version.Subresources != nil && version.Subresources.Scale != nil
		for _, column := range version.AdditionalPrinterColumns {
			if column.Priority > 0 {
				l.Wide = append(l.Wide, column.Name)
			} else {
				l.Columns = append(l.Columns, column.Name)
			}
		}
		got[kind] = l
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names and columns (-want +got):\n%s", diff)
	}
}

// TestGoTypesAndSchemaHaveTheSameFields walks types and schemas side by side.
func TestGoTypesAndSchemaHaveTheSameFields(t *testing.T) {
	crds := loadCRDs(t)
	for kind, typ := range map[string]reflect.Type{
		"NodePool":     reflect.TypeFor[karpenterv1.NodePool](),
		"NodeClaim":    reflect.TypeFor[karpenterv1.NodeClaim](),
		"EC2NodeClass": reflect.TypeFor[awsv1.EC2NodeClass](),

		"NodeOverlay":    reflect.TypeFor[karpenterv1alpha1.NodeOverlay](),
		"CapacityBuffer": reflect.TypeFor[autoscalingv1beta1.CapacityBuffer](),
	} {
		top := crds[kind].v1.Spec.Versions[0].Schema.OpenAPIV3Schema
		compareFields(t, kind, typ, top)
	}
}

func compareFields(t *testing.T, path string, typ reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ {
	case reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[runtime.RawExtension]():
		return
	case reflect.TypeFor[corev1.ResourceList]():
		if s.AdditionalProperties == nil || !s.AdditionalProperties.Schema.XIntOrString {
			t.Errorf("%s: the schema has no quantities", path)
		}
		return
	}
	switch typ.Kind() {
	case reflect.Struct:
		compareStruct(t, path, typ, s)
	case reflect.Slice:
		if s.Items == nil {
			t.Errorf("%s: a list in Go, not in the schema", path)
			return
		}
		compareFields(t, path+"[]", typ.Elem(), s.Items.Schema)
	case reflect.Map:
		if s.AdditionalProperties == nil {
			t.Errorf("%s: a map in Go, not in the schema", path)
			return
		}
		compareFields(t, path+"[*]", typ.Elem(), s.AdditionalProperties.Schema)
	default:
		want := map[reflect.Kind]string{
			reflect.String: "string", reflect.Bool: "boolean", reflect.Int32: "integer", reflect.Int64: "integer",
		}[typ.Kind()]
		if s.Type != want {
			t.Errorf("%s: %s in Go, %s in the schema", path, typ, s.Type)
		}
	}
}

func compareStruct(t *testing.T, path string, typ reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	fields := map[string]reflect.Type{}
	var add func(reflect.Type)
	add = func(typ reflect.Type) {
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" && strings.Contains(options, "inline") {
				add(f.Type)
				continue
			}
			fields[name] = f.Type
		}
	}
	add(typ)
	inGo, inSchema := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(s.Properties))
	if diff := cmp.Diff(inGo, inSchema); diff != "" {
		t.Errorf("%s: fields of the Go type and of the schema differ (-go +schema):\n%s", path, diff)
		return
	}
	for name, fieldType := range fields {
		property := s.Properties[name]
		compareFields(t, path+"."+name, fieldType, &property)
	}
}
