package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// contents lists what an image has in it, in CycloneDX: the modules that the linker says each program is made of. It is also
// written beside the image.
func (o options) contents(img image, arch string, programs []string) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: o.stamp(),
		Component: &cdx.Component{BOMRef: img.name, Type: cdx.ComponentTypeContainer, Name: img.name, Version: o.version, Description: img.what},
	}
	modules := map[string]cdx.Component{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		modules["go"] = cdx.Component{
			BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
			PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
		}
		for _, m := range info.Deps {
			if m.Replace != nil || strings.HasPrefix(m.Path, "github.com/kerf-dev/kerf/") {
				continue // Kerf's own
			}
			url := "pkg:golang/" + m.Path + "@" + m.Version
			modules[m.Path] = cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
		}
	}
	list := make([]cdx.Component, 0, len(modules))
	for _, m := range modules {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom.Components = &list
	var buf bytes.Buffer
	if err := cdx.NewBOMEncoder(&buf, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, err
	}
	file := filepath.Join(o.out, fmt.Sprintf("%s-%s.cdx.json", img.name, arch))
	return buf.Bytes(), os.WriteFile(file, buf.Bytes(), 0o644) //nolint:gosec // it is no secret
}
