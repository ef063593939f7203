package picture_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/versus/history"
	"github.com/kerf-dev/kerf/test/versus/picture"
	"github.com/kerf-dev/kerf/test/versus/report"
)

func results() *report.Results {
	run := func(side string, price float64) report.Run {
		return report.Run{Load: "ramp", Side: side, Seed: 1, History: &history.History{
			Nodes: []history.Node{{Price: price, Created: 3}},
			Marks: []history.Mark{{Name: report.Created, At: 1}, {Name: report.Scaled, At: 130}}, End: 340,
		}}
	}
	return &report.Results{Runs: []report.Run{
		{Load: "ramp", Side: report.BoundSide, Values: report.Values{"cost": 5}}, run("kerf", 6), run("karpenter", 7),
	}}
}

func TestThePictureIsXMLAndDrawsEachRun(t *testing.T) {
	t.Parallel()
	svg := picture.Draw(results())
	if err := xml.Unmarshal(svg, &struct{}{}); err != nil {
		t.Fatalf("not XML: %v", err)
	}
	// Two columns of three rows, with a line for either side.
	if n := strings.Count(string(svg), `fill="none"`); n != 12 {
		t.Errorf("%d lines, want 12", n)
	}
	if !bytes.Equal(svg, picture.Draw(results())) {
		t.Error("the same results make different pictures")
	}
}

func TestNothingIsAPictureToo(t *testing.T) {
	t.Parallel()
	if svg := picture.Draw(&report.Results{}); !bytes.Contains(svg, []byte("</svg>")) {
		t.Errorf("%s", svg)
	}
}
