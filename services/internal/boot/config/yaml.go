package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// toJSON returns what is YAML as JSON. What begins like JSON is left as it is: the
// errors about JSON name line and column.
func toJSON(data []byte) ([]byte, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("larger than %d bytes", MaxBytes)
	}
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		return nil, errNothing
	}
	if text[0] == '{' || text[0] == '[' {
		return data, nil
	}
	if err := oneDocument(text); err != nil {
		return nil, err
	}
	out, err := kyaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// errNothing is about a file that may have been cut off, or not filled in.
var errNothing = errors.New("there is no field in it: write {} for the defaults of all")

// oneDocument refuses what the reader would leave unread without a word.
func oneDocument(text []byte) error {
	var node yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	switch err := documents.Decode(&node); {
	case errors.Is(err, io.EOF):
		return errNothing
	case err != nil:
		return err
	}
	if node.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want an object: fields and their values", node.Content[0].Line)
	}
	var next yaml.Node
	if err := documents.Decode(&next); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: a second document: want one", max(next.Line, node.Line))
	}
	return nil
}

// scalar is a value of a setting as JSON.
func scalar(text string) (json.RawMessage, error) {
	if text == "" {
		text = `""`
	}
	return kyaml.YAMLToJSONStrict([]byte(text))
}
