package userdata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
)

// part is one piece of user data with its media type, parameters cut off.
type part struct {
	mediaType string
	body      []byte
}

// split takes MIME multipart user data apart. Text that is not MIME is one part whose type is guessed from its first
// line, as the boot programs do.
func split(text []byte) ([]part, error) {
	if !isMIME(text) {
		return []part{{mediaType: guess(text), body: text}}, nil
	}
	msg, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("MIME header: %w", err)
	}
	typ, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("MIME header Content-Type: %w", err)
	}
	if !strings.HasPrefix(typ, "multipart/") {
		body, err := io.ReadAll(msg.Body)
		return []part{{mediaType: typ, body: body}}, err
	}
	return splitMultipart(msg.Body, params["boundary"])
}

func splitMultipart(r io.Reader, boundary string) ([]part, error) {
	if boundary == "" {
		return nil, errors.New("MIME header Content-Type has no boundary")
	}
	var parts []part
	mr := multipart.NewReader(r, boundary)
	for {
		p, err := mr.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("MIME part %d: %w", len(parts)+1, err)
		}
		typ, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			return nil, fmt.Errorf("MIME part %d Content-Type: %w", len(parts)+1, err)
		}
		body, err := io.ReadAll(decoder(p.Header.Get("Content-Transfer-Encoding"), p))
		if err != nil {
			return nil, fmt.Errorf("MIME part %d: %w", len(parts)+1, err)
		}
		parts = append(parts, part{mediaType: typ, body: body})
	}
}

func decoder(encoding string, r io.Reader) io.Reader {
	switch strings.ToLower(encoding) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, r)
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	}
	return r
}

func isMIME(text []byte) bool {
	head := strings.ToLower(string(text[:min(len(text), 512)]))
	return strings.HasPrefix(head, "mime-version:") || strings.HasPrefix(head, "content-type:")
}

// guess names the media type of text that brings no header.
func guess(text []byte) string {
	t := bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(t, []byte("#!")):
		return typeShell
	case bytes.Contains(t, []byte(nodeConfigGroup)):
		return typeNodeConfig
	}
	return "text/plain"
}
