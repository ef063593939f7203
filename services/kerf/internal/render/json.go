package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
)

// JSON writes a message in proto JSON, indented, with a newline at the end: the same message always as the same bytes.
func JSON(w io.Writer, m proto.Message) error {
	data, err := page.Marshal(m)
	if err != nil {
		return err
	}
	return page.Indent(w, data)
}

// adviceJSON is advice as proto JSON would have it: 64-bit numbers as strings, nothing that is empty.
type adviceJSON struct {
	Change                   string `json:"change"`
	Subject                  string `json:"subject"`
	Field                    string `json:"field,omitempty"`
	Note                     string `json:"note,omitempty"`
	SavingMicroUSDPerHour    int64  `json:"savingMicroUsdPerHour,omitempty,string"`
	CostAfterMicroUSDPerHour int64  `json:"costAfterMicroUsdPerHour,omitempty,string"`
	MorePods                 int    `json:"morePods,omitempty"`
	Estimated                bool   `json:"estimated,omitempty"`
}

// PlanJSON writes an answer of the planner in proto JSON, and beside its fields the advice and the warnings, if there
// are any: a reader of the contract finds what it knows.
func PlanJSON(w io.Writer, m proto.Message, advice []advise.Advice, warnings []string) error {
	if len(advice)+len(warnings) == 0 {
		return JSON(w, m)
	}
	data, err := page.Marshal(m)
	if err != nil {
		return err
	}
	list := make([]adviceJSON, len(advice))
	for i, a := range advice {
		list[i] = adviceJSON{a.Change, a.Subject, a.Field, a.Note, a.Saving, a.CostAfter, a.MorePods, a.Estimated}
	}
	more, err := json.Marshal(struct {
		Advice   []adviceJSON `json:"advice,omitempty"`
		Warnings []string     `json:"warnings,omitempty"`
	}{list, warnings})
	if err != nil {
		return fmt.Errorf("encode advice and warnings: %w", err)
	}
	data = bytes.TrimSuffix(bytes.TrimSpace(data), []byte("}"))
	if !bytes.HasSuffix(bytes.TrimSpace(data), []byte("{")) {
		data = append(data, ',')
	}
	return page.Indent(w, append(data, more[1:]...))
}
