package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/boot/config"
)

type peer struct {
	Wait config.Duration `json:"wait"`
	Size int             `json:"size"`
}

func (p peer) Validate() error {
	if p.Size < 0 {
		return errors.Join(config.Errorf("size", "want more"), config.Errorf("", "and less of the rest"))
	}
	return nil
}

type service struct {
	Embedded
	Peers  []peer          `json:"peers"`
	ByName map[string]peer `json:"by_name"`
	Main   *peer           `json:"main"`
	Hidden func()          `json:"-"`
}

type Embedded struct {
	Listen string `json:"listen"`
}

func (e Embedded) Validate() error {
	if e.Listen == "bad" {
		return config.Errorf("listen", "want good")
	}
	return nil
}

func TestDecodeReadsOverDefaults(t *testing.T) {
	got := service{Embedded: Embedded{Listen: "default"}, Main: &peer{Size: 7}}
	err := config.Decode([]byte(`{"peers": [{"wait": "50ms"}], "main": {"wait": "1m30s"}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := service{
		Embedded: Embedded{Listen: "default"},
		Peers:    []peer{{Wait: config.Duration(50 * time.Millisecond)}},
		Main:     &peer{Wait: config.Duration(90 * time.Second), Size: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded config (-want +got):\n%s", diff)
	}
}

func TestDecodeNamesFieldAndRemedy(t *testing.T) {
	tests := map[string]struct {
		give string
		want []string // parts of the message, one per complaint
	}{
		"an unknown field lists the known ones":          {`{"lisen": "x"}`, []string{"lisen: unknown field; known here: by_name, listen, main, peers; did you mean listen?"}},
		"an unknown field inside another has its path":   {`{"main": {"wiat": "1s"}}`, []string{"main.wiat: unknown field; known here: size, wait; did you mean wait?"}},
		"an unknown field inside a list has its path":    {`{"peers": [{"size": 1}, {"sise": 1}]}`, []string{"peers[1].sise: unknown field; known here: size, wait; did you mean size?"}},
		"an unknown field inside a map has its path":     {`{"by_name": {"x": {"sise": 1}}}`, []string{"by_name.x.sise: unknown field; known here: size, wait; did you mean size?"}},
		"field names are case-sensitive":                 {`{"Listen": "x"}`, []string{"Listen: unknown field"}},
		"a repeated field":                               {`{"listen": "x", "listen": "y"}`, []string{"listen: duplicate field: keep one"}},
		"two unknown fields are both told":               {`{"a": 1, "b": 2}`, []string{"a: unknown", "b: unknown"}},
		"a number where a string belongs":                {`{"listen": 7}`, []string{"listen: got number, want a string"}},
		"a string where a number belongs, deep inside":   {`{"by_name": {"x": {"size": "7"}}}`, []string{"by_name.x.size: got string, want a whole number"}},
		"a fraction where a whole number belongs":        {`{"main": {"size": 1.5}}`, []string{"main.size: got number 1.5, want a whole number"}},
		"an object where a list belongs":                 {`{"peers": {}}`, []string{"peers: got object, want a list"}},
		"a duration without unit":                        {`{"peers": [{}, {"wait": "50"}]}`, []string{`peers[1].wait: "50" is not a duration`, `"50ms"`}},
		"a duration as a number":                         {`{"main": {"wait": 50}}`, []string{"main.wait: 50 is not a duration"}},
		"data after the object":                          {"{}\n{}", []string{"line 2, column 1"}},
		"a syntax error has line and column":             {"{\n  \"listen\": x}", []string{"line 2, column"}},
		"nothing at all":                                 {"", []string{"there is no field in it: write {}"}},
		"a validator's complaint gets the whole path":    {`{"peers": [{"size": -1}]}`, []string{"peers[0].size: want more", "peers[0]: and less of the rest"}},
		"values of maps are validated":                   {`{"by_name": {"x": {"size": -1}}}`, []string{"by_name.x.size: want more"}},
		"an embedded struct is validated":                {`{"listen": "bad"}`, []string{"listen: want good"}},
		"what is too large is refused before it is read": {strings.Repeat(" ", config.MaxBytes+1), []string{"larger than 1048576 bytes"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := config.Decode([]byte(tt.give), &service{})
			if err == nil {
				t.Fatal("decoded without error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// overriding has a Validate of its own, which hides the embedded one from callers.
type overriding struct {
	Embedded
}

func (overriding) Validate() error { return config.Errorf("own", "wrong") }

func TestCheckAsksOuterAndEmbeddedOnceEach(t *testing.T) {
	tests := map[string]struct {
		give any
		want []string
	}{
		"a promoted Validate complains once":    {&service{Embedded: Embedded{"bad"}}, []string{"listen: want good"}},
		"an own Validate hides no embedded one": {&overriding{Embedded{"bad"}}, []string{"own: wrong", "listen: want good"}},
		"a value works as well as a pointer":    {service{Embedded: Embedded{"bad"}}, []string{"listen: want good"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(config.Check(tt.give).Error(), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestYAMLIsReadAsStrictlyAsJSON(t *testing.T) {
	var got service
	err := config.Decode([]byte("# a comment\npeers:\n  - wait: 50ms\nby_name:\n  x: {size: 3}\n"), &got)
	want := service{
		Peers:  []peer{{Wait: config.Duration(50 * time.Millisecond)}},
		ByName: map[string]peer{"x": {Size: 3}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, decoded config (-want +got):\n%s", err, diff)
	}
	for give, want := range map[string]string{
		"lisen: x":                  "lisen: unknown field; known here: by_name, listen, main, peers",
		"main:\n  wiat: 1s":         "main.wiat: unknown field",
		"listen: x\nlisten: y":      `"listen" already`,
		"listen: 7":                 "listen: got number, want a string",
		"listen: off":               `listen: got bool, want a string in quotes: YAML takes on, off`,
		"main: {wait: 50}":          "main.wait: 50 is not a duration",
		"listen: x\n---\nlisten: y": "a second document",
		"- listen":                  "want an object",
		"listen: [":                 "line 1",
		"peers:\n- size: -1\n":      "peers[0].size: want more",
		"just words":                "want an object",
		"# nothing but a comment\n": "there is no field in it: write {}",
	} {
		if err := config.Decode([]byte(give), &service{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", give, err, want)
		}
	}
}

func TestSettingsAreReadOverTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.yaml")
	if err := os.WriteFile(path, []byte("listen: file\nmain: {wait: 1s, size: 7}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var set config.Settings
	for _, one := range []string{"listen=a=b, c: d", "main.wait=2s", "by_name.x.size=3", "peers=[{size: 4}]"} {
		if err := set.Set(one); err != nil {
			t.Fatal(err)
		}
	}
	var got service
	err := config.Load(path, &got, set...)
	want := service{
		Embedded: Embedded{Listen: "a=b, c: d"}, Main: &peer{Wait: config.Duration(2 * time.Second), Size: 7},
		ByName: map[string]peer{"x": {Size: 3}}, Peers: []peer{{Size: 4}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, config (-want +got):\n%s", err, diff)
	}
	for give, want := range map[string]string{
		"lisen=x": "unknown field; known here", "main.wait=soon": "not a duration", "main.size=x": "whole number", "listen=bad": "want good",
	} {
		if err := config.Load(path, &service{}, give); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", give, err, want)
		}
	}
	if err := new(config.Settings).Set("listen"); err == nil {
		t.Error("a setting without a value was taken")
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "service.json")
	if err := os.WriteFile(path, []byte(`{"nope": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, "absent.json")} {
		err := config.Load(p, &service{})
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("Load(%s) = %v, want an error that names the file", p, err)
		}
	}
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, make([]byte, config.MaxBytes+10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.Load(big, &service{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("Load of a file that is too large = %v", err)
	}
}
