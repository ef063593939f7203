package userdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// The media types of parts that boot programs act on.
const (
	typeNodeConfig  = "application/node.eks.aws"
	typeShell       = `text/x-shellscript; charset="us-ascii"`
	typeCloudConfig = `text/cloud-config; charset="us-ascii"`
	typeBoothook    = `text/cloud-boothook; charset="us-ascii"`
)

// part is one piece of user data with its headers. Its body is as it was written: an encoding stays.
type part struct {
	header textproto.MIMEHeader
	body   []byte
}

// customParts takes the class's own user data apart: a MIME message into its parts, in their order; any other text is one,
// whose type is told from how it begins.
func customParts(text string) ([]part, error) {
	text = strings.TrimLeft(text, "\r\n") // a script is one by its first bytes
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if !isMIME(text) {
		kind, err := typeOf(text)
		if err != nil {
			return nil, err
		}
		return []part{{textproto.MIMEHeader{"Content-Type": {kind}}, []byte(text)}}, nil
	}
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, invalid("its MIME headers: %w", err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return nil, invalid("the MIME header Content-Type: %w", err)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return nil, invalid("the MIME body: %w", err)
	}
	boundary := params["boundary"]
	body = closed(body, boundary)
	switch {
	case !strings.HasPrefix(kind, "multipart/"):
		return []part{{headers(textproto.MIMEHeader(m.Header)), body}}, nil
	case boundary == "":
		return nil, invalid("the MIME header Content-Type names no boundary")
	case !bytes.Contains(body, []byte("--"+boundary+"--")):
		return nil, invalid("the MIME message breaks off: the last boundary is missing") // the reader would take it for its end
	}
	return multiparts(multipart.NewReader(bytes.NewReader(body), boundary))
}

// closed ends a message whose last line begins a part that has nothing: boot programs take that line for the end, and
// so does the message of many a workshop.
func closed(body []byte, boundary string) []byte {
	text := bytes.TrimRight(body, " \t\r\n")
	if boundary == "" || !bytes.HasSuffix(text, []byte("\n--"+boundary)) {
		return body
	}
	return append(bytes.Clone(text), "--\n"...)
}

func multiparts(r *multipart.Reader) ([]part, error) {
	var out []part
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, invalid("MIME part %d: %w", len(out)+1, err)
		}
		if _, _, err := mime.ParseMediaType(p.Header.Get("Content-Type")); err != nil {
			return nil, invalid("MIME part %d: Content-Type: %w", len(out)+1, err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, invalid("MIME part %d: %w", len(out)+1, err)
		}
		out = append(out, part{headers(p.Header), body})
	}
}

// headers are those that boot programs read.
func headers(h textproto.MIMEHeader) textproto.MIMEHeader {
	out := textproto.MIMEHeader{}
	for key, values := range h {
		if strings.HasPrefix(key, "Content-") || strings.HasPrefix(key, "X-") || key == "Merge-Type" {
			out[key] = values
		}
	}
	return out
}

func isMIME(text string) bool {
	head := strings.ToLower(text[:min(len(text), 16)])
	return strings.HasPrefix(head, "mime-version:") || strings.HasPrefix(head, "content-type:")
}

// typeOf tells the kind of a text without headers. A document of nodeadm that does not parse would keep the node out of the
// cluster, and is refused.
func typeOf(text string) (string, error) {
	for begin, kind := range map[string]string{"#!": typeShell, "#cloud-config": typeCloudConfig, "#cloud-boothook": typeBoothook} {
		if strings.HasPrefix(text, begin) {
			return kind, nil
		}
	}
	if !strings.Contains(text, "node.eks.aws/") {
		return typeShell, nil
	}
	var document struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", invalid("its NodeConfig: %w", err)
	}
	if !strings.HasPrefix(document.APIVersion, "node.eks.aws/") || document.Kind != "NodeConfig" {
		return "", invalid("apiVersion %q, kind %q: want node.eks.aws/v1alpha1, NodeConfig", document.APIVersion, document.Kind)
	}
	return typeNodeConfig, nil
}

// message writes parts as one MIME message. Equal parts give equal bytes, so that equal content gives an equal template.
func message(parts []part) (string, error) {
	boundary := "kerf-node-config"
	for _, p := range parts {
		for bytes.Contains(p.body, []byte("--"+boundary)) {
			boundary += "x"
		}
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return "", fmt.Errorf("render user data: %w", err)
	}
	fmt.Fprintf(&out, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", w.Boundary())
	for _, p := range parts {
		body, err := w.CreatePart(p.header)
		if err != nil {
			return "", fmt.Errorf("render user data: %w", err)
		}
		if _, err := body.Write(p.body); err != nil {
			return "", fmt.Errorf("render user data: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("render user data: %w", err)
	}
	return out.String(), nil
}

// invalid is an error that a user has to correct in the class.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: spec.userData: %w", cloud.ErrInvalid, fmt.Errorf(format, args...))
}
