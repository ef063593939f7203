package catalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxBytes bounds what Read takes, after decompression. The bundled catalogue has less than one megabyte.
const maxBytes = 64 << 20

// envelope is Catalog with its types still undecoded, so that an error can name the type that it is in.
type envelope struct {
	Region   string            `json:"region"`
	Currency string            `json:"currency"`
	Zones    []Zone            `json:"zones"`
	Types    []json.RawMessage `json:"types"`
	Sources  []Source          `json:"sources"`
}

// Read decodes a catalogue from JSON, gzipped or plain, and checks it. Unknown fields, missing or impossible values,
// wrong order and anything after the catalogue are errors that name the type and the field.
func Read(r io.Reader) (*Catalog, error) {
	plain, err := unzipped(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: plain, N: maxBytes + 1}
	data, err := io.ReadAll(limited)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("more than %d bytes", maxBytes)
	}

	var e envelope
	if err := decode(data, &e); err != nil {
		return nil, err
	}
	c := &Catalog{Region: e.Region, Currency: e.Currency, Zones: e.Zones, Sources: e.Sources, Types: make([]Type, len(e.Types))}
	for i, raw := range e.Types {
		if err := decode(raw, &c.Types[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", typeLabel(i, nameOf(raw)), err)
		}
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// Write encodes the catalogue as plain JSON with one type on each line, so that it can be read, searched and edited.
// The same catalogue gives the same bytes. A catalogue that Read would refuse is refused.
func Write(w io.Writer, c *Catalog) error {
	if err := c.validate(); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	parts := []struct {
		key   string
		value any
	}{{"region", c.Region}, {"currency", c.Currency}, {"zones", c.Zones}, {"sources", c.Sources}}
	for _, p := range parts {
		text, err := json.Marshal(p.value)
		if err != nil {
			return fmt.Errorf("%s: %w", p.key, err)
		}
		if bytes.Equal(text, []byte("null")) || bytes.Equal(text, []byte(`""`)) {
			continue
		}
		fmt.Fprintf(&b, "%q: %s,\n", p.key, text)
	}
	b.WriteString("\"types\": [\n")
	for i := range c.Types {
		text, err := json.Marshal(&c.Types[i])
		if err != nil {
			return fmt.Errorf("type %s: %w", c.Types[i].Name, err)
		}
		b.Write(text)
		if i < len(c.Types)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// unzipped returns what r holds, decompressed if it starts as gzip does.
func unzipped(r *bufio.Reader) (io.Reader, error) {
	magic, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return z, nil
}

// decode is strict: one JSON value, no unknown fields. Its errors name the field.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var mismatch *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &mismatch):
		return fmt.Errorf("field %q: want %s, got %s", mismatch.Field, mismatch.Type, mismatch.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d: %w", syntax.Offset, err)
	case errors.Is(err, io.EOF):
		return errors.New("empty: want a JSON object with region, zones and types")
	case err != nil:
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the JSON object at byte %d", d.InputOffset())
	}
	return nil
}

// nameOf returns the name in a type's JSON, or "" if it has none that can be read.
func nameOf(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	// An error here is found again, and told, by the strict decoding that the name is for.
	_ = json.Unmarshal(raw, &named)
	return named.Name
}

// typeLabel names a type in an error: by its name, or by its place (from 1) when it has none.
func typeLabel(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("type number %d", i+1)
	}
	return "type " + name
}
