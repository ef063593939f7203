package boot

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker for releases that are not built from a checkout:
// -ldflags "-X github.com/kerf-dev/kerf/services/internal/boot.version=v1.2.3".
var version string

// Version says what was built, from what, with what.
type Version struct {
	Version  string // a release, or "devel"
	Revision string // commit, with "+dirty" for a changed tree; may be empty
	Go       string
}

// ReadVersion reads what the linker and the go command left in the binary.
func ReadVersion() Version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(version, info)
}

func versionOf(linked string, info *debug.BuildInfo) Version {
	v := Version{Version: "devel", Go: info.GoVersion}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	if linked != "" {
		v.Version = linked
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v.Revision != "" {
		v.Revision += dirty
	}
	return v
}

// String is the line that -version prints after the name.
func (v Version) String() string {
	if v.Revision == "" {
		return fmt.Sprintf("%s (%s)", v.Version, v.Go)
	}
	return fmt.Sprintf("%s (%s, %s)", v.Version, v.Revision, v.Go)
}
