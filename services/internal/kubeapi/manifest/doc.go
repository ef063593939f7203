// Package manifest reads files of Kubernetes objects and writes them.
//
// Unparsable text and values of the wrong type are errors with object, path and
// line. A field that is not known or given twice is a warning, as it is of the API
// server, and an error where that is asked for. Kinds that Kerf has no use for are
// skipped with a warning; older forms of Kerf's kinds become today's with warnings
// that say what changed.
//
// The package decides nothing about the objects: it neither fills in defaults, but for
// fields that a schema requires, nor validates beyond their shape; see kubeapi.SetDefaults and kubeapi.Validate. It
// opens no files: callers hand it readers. Start reading at Read.
package manifest

import (
	"fmt"
	"io"
	"strings"
)

// Limits on what is read, so that a wrong file can't take all memory.
const (
	// MaxBytes is the most that one source may hold.
	MaxBytes = 32 << 20
	// MaxDocuments is the most documents in one source.
	MaxDocuments = 10_000
	// MaxObjects is the most objects in all sources together, items of lists counted.
	MaxObjects = 200_000
	// MaxErrors is after how many errors reading stops.
	MaxErrors = 20
)

// Source is one file, or anything like it.
type Source struct {
	// The name for messages: a path, or "-".
	Name string
	// Where the text comes from; it is read to its end.
	Reader io.Reader
	// The source was not named, but found, so that what is no manifest is skipped with a warning: values of a chart, its
	// templates, the files of other tools.
	Found bool
}

// Place is where something stands in the input.
type Place struct {
	// The source's name.
	Source string
	// The document's number in the source, from 1; 0 for the source as a whole.
	Document int
	// The line in the source, from 1; 0 when it is not known.
	Line int
}

// String is for messages, for example "pool.yaml: document 2, line 14".
func (p Place) String() string {
	switch {
	case p.Document == 0:
		return p.Source
	case p.Line == 0:
		return fmt.Sprintf("%s: document %d", p.Source, p.Document)
	default:
		return fmt.Sprintf("%s: document %d, line %d", p.Source, p.Document, p.Line)
	}
}

// Warning is something that the user should know and that does not stop reading.
type Warning struct {
	Place Place
	// The object, for example "NodePool default"; "" when the document has no name.
	Object string
	// The field's path; "" for the whole object.
	Field   string
	Message string
}

// String is the warning as a line.
func (w Warning) String() string {
	return line(w.Place, w.Object, w.Field, w.Message)
}

// Error is something wrong in the input. Read joins several of them; errors.As
// finds the first.
type Error struct {
	Place Place
	// The object, for example "Deployment shop/web"; "" when it could not be told.
	Object string
	// The field's path; "" for the whole object.
	Field   string
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	return line(e.Place, e.Object, e.Field, e.Problem)
}

func line(p Place, parts ...string) string {
	var out strings.Builder
	out.WriteString(p.String())
	for _, part := range parts {
		if part != "" {
			out.WriteString(": " + part)
		}
	}
	return strings.TrimPrefix(out.String(), ": ")
}
