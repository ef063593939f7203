package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/parts"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
)

// document is one document of a source, as JSON.
type document struct {
	place Place
	json  []byte
	// What is wrong with its text; then it has no JSON.
	err error
	// A field that its text gives twice; nil for none. Whether that is wrong, its kind decides.
	twice *Error
	// The text that it was read from.
	text []byte
}

// split reads a source and cuts it into documents; empty ones don't count, but keep
// their number. JSON sources may hold several values one after the other.
func split(src Source) ([]document, error) {
	text, err := io.ReadAll(io.LimitReader(src.Reader, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", src.Name, err)
	}
	if len(text) > MaxBytes {
		problem := fmt.Sprintf("larger than %d MiB: split it, or leave out what Kerf does not need", MaxBytes>>20)
		return nil, &Error{Place: Place{Source: src.Name}, Problem: problem}
	}
	text = parts.Plain(text)
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		docs, isJSON := splitJSON(src.Name, text)
		if len(docs) > MaxDocuments {
			return nil, tooMany(src.Name)
		}
		if isJSON {
			return docs, nil
		}
	}
	return splitYAML(src.Name, text)
}

// splitJSON gives up, for splitYAML to say what is wrong or to read it as YAML's
// own braces, when the text is not JSON throughout. It stops one document past
// the limit.
func splitJSON(name string, text []byte) ([]document, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var docs []document
	line, counted := 1, int64(0)
	for len(docs) <= MaxDocuments {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false
		}
		start := decoder.InputOffset() - int64(len(raw))
		line += bytes.Count(text[counted:start], []byte("\n"))
		counted = start
		docs = append(docs, document{
			place: Place{Source: name, Document: len(docs) + 1, Line: line},
			json:  raw, text: raw,
		})
	}
	return docs, true
}

func tooMany(name string) error {
	return &Error{Place: Place{Source: name}, Problem: fmt.Sprintf("more than %d documents: split it", MaxDocuments)}
}

func splitYAML(name string, text []byte) ([]document, error) {
	var docs []document
	number := 0
	for _, part := range parts.Cut(text) {
		if parts.Blank(part.Text) {
			continue
		}
		number++
		place := Place{Source: name, Document: number, Line: part.Line}
		if number > MaxDocuments {
			return nil, tooMany(name)
		}
		doc := document{place: place, text: part.Text}
		var err error
		if doc.json, err = yaml.YAMLToJSONStrict(part.Text); err != nil {
			problem := yamlError(place, err)
			problem.Problem += template.MeantFor(doc.text, problem.Problem)
			doc = mildly(doc, problem)
		}
		if string(doc.json) == "null" {
			continue
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// notYAML begins what is wrong with a text.
const notYAML = "not YAML: "

var lineNumber = regexp.MustCompile(`line (\d+): ?`)

// mildly reads a document again that is not strictly YAML, where that is for want of unique fields. A field may stand
// beside a merge key (<<) whose fields have its name.
func mildly(doc document, problem *Error) document {
	asJSON, err := yaml.YAMLToJSON(doc.text)
	if err != nil {
		doc.err = problem
		return doc
	}
	doc.json = asJSON
	if repeats(doc) {
		doc.twice = problem
	}
	return doc
}

// yamlError moves the line that the parser counts within the document to the line
// in the source.
func yamlError(place Place, err error) *Error {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	message = strings.TrimPrefix(message, "yaml: ")
	if m := lineNumber.FindStringSubmatchIndex(message); m != nil {
		if n, err := strconv.Atoi(message[m[2]:m[3]]); err == nil {
			place.Line += max(n, 1) - 1
			message = message[:m[0]] + message[m[1]:]
		}
	}
	message = strings.TrimPrefix(message, "unmarshal errors:\n")
	return &Error{Place: place, Problem: notYAML + strings.TrimSpace(message)}
}
