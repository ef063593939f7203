package awssim

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
)

// queryService is one service that speaks the Query protocol.
type queryService struct {
	name      string
	namespace string
	iam       bool // IAM wraps results and errors in one more element
	actions   map[string]queryAction
}

// queryAction handles one call under Sim.mu. It reads all parameters and calls form.finish before it changes anything.
// The answer is a struct for encoding/xml whose fields become the children of the response, or rawXML.
type queryAction func(f *form) (any, error)

// rawXML are ready children of a response: the answer kept for a client token.
type rawXML []byte

type queryCall struct {
	values              url.Values
	malformed, tooLarge bool
}

func (s *Sim) serveQuery(w http.ResponseWriter, r *http.Request, c queryCall) {
	svc, ok := s.query[c.values.Get("Version")]
	if !ok {
		svc = s.query["2016-11-15"]
	}
	action := c.values.Get("Action")
	out, err := s.call(r.Context(), svc.name+":"+action, func(context.Context) (any, error) {
		switch {
		case c.tooLarge:
			return nil, fail("RequestEntityTooLarge", "The request is larger than %d bytes.", s.cfg.MaxBodyBytes)
		case c.malformed:
			return nil, fail("MalformedQueryString", "The query string contains a syntax error.")
		case !ok:
			return nil, fail("InvalidAction", "The action %s is not valid for version %q.", action, c.values.Get("Version"))
		}
		if err := signed(r); err != nil {
			return nil, err
		}
		do, ok := svc.actions[action]
		if !ok {
			return nil, fail("InvalidAction", "The action %s is not valid for this web service.", action)
		}
		return s.doQuery(do, newForm(c.values))
	})
	id := s.requestID()
	if err != nil {
		svc.writeError(w, asAPIError(err), id)
		return
	}
	svc.write(w, action, out.(rawXML), id)
}

func (s *Sim) doQuery(do queryAction, f *form) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := do(f)
	if err != nil {
		return nil, err
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	return children(out)
}

func (s *Sim) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newUUID()
}

// children encodes a response struct without its own element.
func children(v any) (rawXML, error) {
	if raw, ok := v.(rawXML); ok {
		return raw, nil
	}
	b, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"x"`
		V       any      `xml:"y"`
	}{V: v})
	if err != nil {
		return nil, err
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(string(b), "<x><y>"), "</y></x>")
	if inner == "<x></x>" {
		inner = ""
	}
	return rawXML(inner), nil
}

func (q queryService) write(w http.ResponseWriter, action string, inner rawXML, id string) {
	var b strings.Builder
	b.WriteString(xml.Header + "<" + action + `Response xmlns="` + q.namespace + `">`)
	if q.iam {
		b.WriteString("<" + action + "Result>" + string(inner) + "</" + action + "Result>")
		b.WriteString("<ResponseMetadata><RequestId>" + id + "</RequestId></ResponseMetadata>")
	} else {
		b.WriteString("<requestId>" + id + "</requestId>" + string(inner))
	}
	b.WriteString("</" + action + "Response>")
	writeXML(w, http.StatusOK, b.String())
}

func (q queryService) writeError(w http.ResponseWriter, e *apiError, id string) {
	if e.code == CodeDrop {
		drop(w)
		return
	}
	var message strings.Builder
	_ = xml.EscapeText(&message, []byte(e.message)) // a Builder takes everything
	inner := "<Code>" + e.code + "</Code><Message>" + message.String() + "</Message>"
	text := xml.Header + "<Response><Errors><Error>" + inner + "</Error></Errors><RequestID>" + id + "</RequestID></Response>"
	if q.iam {
		kind := "Sender"
		if e.status() >= http.StatusInternalServerError {
			kind = "Receiver"
		}
		text = xml.Header + `<ErrorResponse xmlns="` + q.namespace + `"><Error><Type>` + kind + "</Type>" + inner +
			"</Error><RequestId>" + id + "</RequestId></ErrorResponse>"
	}
	writeXML(w, e.status(), text)
}

func writeXML(w http.ResponseWriter, status int, text string) {
	send(w, "text/xml;charset=UTF-8", status, []byte(text))
}

// tagItem is a tag in EC2's XML.
type tagItem struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func tagItems(tags map[string]string) []tagItem {
	out := make([]tagItem, 0, len(tags))
	for _, k := range sortedKeys(tags) {
		out = append(out, tagItem{k, tags[k]})
	}
	return out
}
