package botocore

import (
	"encoding/base64"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checker holds a value against a shape.
type checker struct {
	svc   *Service
	wire  wire
	call  Call
	side  string
	found []Finding
}

func (c *checker) fail(path, format string, args ...any) {
	c.found = append(c.found, Finding{Call: c.call, Side: c.side, Path: path, What: fmt.Sprintf(format, args...)})
}

func (c *checker) value(path string, r Ref, v any) {
	s := c.svc.Shapes[r.Shape]
	switch {
	case s == nil:
		c.fail(path, "the model has no shape %s", r.Shape)
	case v == nil:
		c.fail(path, "is null: members without a value are left out")
	case s.Type == "structure":
		c.structure(path, s, v)
	case s.Type == "list":
		c.list(path, r, s, v)
	case s.Type == "map":
		c.mapping(path, s, v)
	default:
		c.scalar(path, s, v)
	}
}

func (c *checker) structure(path string, s *Shape, v any) {
	fields, ok := c.wire.fields(v)
	if !ok {
		c.fail(path, "want a structure, each member once")
		return
	}
	byWire := map[string]string{}
	for member, r := range s.Members {
		byWire[c.wire.name(member, r)] = member
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		member, ok := byWire[name]
		if !ok {
			c.fail(join(path, name), "there is no such member")
			continue
		}
		c.value(join(path, member), s.Members[member], fields[name])
	}
	for _, member := range s.Required {
		if _, ok := fields[c.wire.name(member, s.Members[member])]; !ok {
			c.fail(join(path, member), "is required")
		}
	}
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func (c *checker) list(path string, r Ref, s *Shape, v any) {
	items, ok := c.wire.items(s, v)
	if !ok {
		c.fail(path, "want a list")
		return
	}
	c.bounds(path, s, float64(len(items)), "members")
	for _, item := range items {
		c.value(path+"[]", s.Member, item)
		if s.Member.Shape == "Filter" && c.call.Service == "ec2" && c.side == "request" {
			c.filter(path, r, item)
		}
	}
}

// filterNames finds the names in the prose about filters, which is the only place where EC2's model has them.
var filterNames = regexp.MustCompile(`<code>([^<]+)</code>`)

// filter checks that a filter's name is in the prose about the filters of the call.
func (c *checker) filter(path string, r Ref, item any) {
	fields, _ := c.wire.fields(item)
	name, _ := fields["Name"].(string)
	if strings.HasPrefix(name, "tag:") {
		name = "tag"
	}
	for _, m := range filterNames.FindAllStringSubmatch(r.Documentation, -1) {
		known, _, _ := strings.Cut(html.UnescapeString(m[1]), ":<")
		if strings.HasPrefix(known, "tag:") {
			known = "tag"
		}
		if known == name {
			return
		}
	}
	c.fail(path, "the model does not name the filter %s", name)
}

func (c *checker) mapping(path string, s *Shape, v any) {
	fields, ok := c.wire.fields(v)
	if !ok {
		c.fail(path, "want a map")
		return
	}
	c.bounds(path, s, float64(len(fields)), "members")
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		c.value(path+"{key}", s.Key, key)
		c.value(path+"{}", s.Value, fields[key])
	}
}

// kinds are the JSON types of scalars.
func kinds() map[string]string {
	return map[string]string{
		"string": "string", "blob": "string", "boolean": "boolean",
		"integer": "number", "long": "number", "float": "number", "double": "number", "timestamp": "number",
	}
}

func (c *checker) scalar(path string, s *Shape, v any) {
	text, kind, ok := c.wire.text(v)
	if !ok || kind != "" && kind != kinds()[s.Type] {
		c.fail(path, "want a %s", s.Type)
		return
	}
	var err error
	switch s.Type {
	case "string":
		c.text(path, s, text)
	case "integer", "long":
		var n int64
		n, err = strconv.ParseInt(text, 10, map[string]int{"integer": 32, "long": 64}[s.Type])
		c.bounds(path, s, float64(n), "as its value")
	case "float", "double":
		var n float64
		n, err = strconv.ParseFloat(text, 64)
		c.bounds(path, s, n, "as its value")
	case "boolean":
		if text != "true" && text != "false" {
			c.fail(path, "%q is neither true nor false", text)
		}
	case "timestamp":
		if kind == "" {
			_, err = time.Parse(time.RFC3339, text)
		}
	case "blob":
		_, err = base64.StdEncoding.DecodeString(text)
	default:
		c.fail(path, "shapes of type %s are not known here", s.Type)
	}
	if err != nil {
		c.fail(path, "%q is no %s", text, s.Type)
	}
}

func (c *checker) text(path string, s *Shape, text string) {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		c.fail(path, "%q is none of the values that the model has", text)
	}
	c.bounds(path, s, float64(len([]rune(text))), "characters")
	if s.Pattern == "" {
		return
	}
	pattern, err := regexp.Compile(`\A(?:` + s.Pattern + `)\z`)
	if err == nil && !pattern.MatchString(text) { // some are of another dialect
		c.fail(path, "%q does not match %s", text, s.Pattern)
	}
}

func (c *checker) bounds(path string, s *Shape, n float64, of string) {
	if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
		c.fail(path, "has %v %s, outside of what the model allows", n, of)
	}
}
