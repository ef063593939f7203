package server

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

// mostKept is how many failed inputs are kept: the first ones tell most.
const mostKept = 10

// keep writes an input down that the planner failed on, as a PlanRequest in the binary form, which `kerf plan -f`
// reads, and says where. The name is of its hash, so that an input which fails again is kept once.
func (s *Server) keep(hash string, in *model.Input) string {
	if s.cfg.FailedInputs == "" {
		return ""
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(convert.Request(*in))
	if err != nil {
		return "not: " + err.Error()
	}
	root, err := os.OpenRoot(s.cfg.FailedInputs)
	if err != nil {
		return "not: " + err.Error()
	}
	defer func() { _ = root.Close() }()
	name := fmt.Sprintf("input-%.16s.binpb", hash)
	path := filepath.Join(s.cfg.FailedInputs, name)
	if _, err := root.Stat(name); err == nil {
		return path
	}
	if there, err := os.ReadDir(s.cfg.FailedInputs); err != nil || len(there) >= mostKept {
		return fmt.Sprintf("not: %s has %d files already", s.cfg.FailedInputs, len(there))
	}
	if err := root.WriteFile(name, data, 0o600); err != nil {
		return "not: " + err.Error()
	}
	return path
}
