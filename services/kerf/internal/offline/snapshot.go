package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

// format is how a file is written.
type format int

const (
	manifests format = iota
	snapshotJSON
	snapshotBinary
)

// formatOf tells a file's format by its content. Text has no control characters but white space, and the binary form
// always begins with one; of JSON objects only manifests have a kind or an apiVersion.
func formatOf(data []byte) format {
	for _, c := range data[:min(len(data), 1<<10)] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return snapshotBinary
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return manifests
	}
	var top map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&top) != nil || len(top) == 0 {
		return manifests // whose decoder says better what is wrong
	}
	for _, key := range []string{"kind", "apiVersion"} {
		if _, ok := top[key]; ok {
			return manifests
		}
	}
	return snapshotJSON
}

// decode reads a saved snapshot: the planner's PlanRequest, which has the time and the policy with it, or a Snapshot alone.
// The two can't be taken for each other: the first field of the one is an object, that of the other a number.
func decode(f File, as format) (*plannerpb.PlanRequest, error) {
	req := &plannerpb.PlanRequest{Snapshot: &clusterpb.Snapshot{}}
	var m proto.Message = req.GetSnapshot()
	if isRequest(f.Data, as) {
		req = &plannerpb.PlanRequest{}
		m = req
	}
	var err error
	if as == snapshotBinary {
		err = proto.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(f.Data, m)
		if err == nil && len(m.ProtoReflect().GetUnknown()) > 0 {
			err = errors.New("it has fields that this version does not know")
		}
	} else {
		err = protojson.Unmarshal(f.Data, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: neither manifests nor a snapshot (%s): %w", f.Name, m.ProtoReflect().Descriptor().FullName(), err)
	}
	return req, nil
}

// requestTag begins a PlanRequest in the binary form: the tag of its field 1, which is a message.
const requestTag = 1<<3 | 2

func isRequest(data []byte, as format) bool {
	if as == snapshotBinary {
		return data[0] == requestTag
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(data, &top) != nil {
		return false
	}
	_, snapshot := top["snapshot"]
	_, decide := top["decide"]
	return snapshot || decide
}

// Save writes a request as Load reads it: in the binary form, or as JSON. The same request is always written as the same
// bytes.
func Save(req *plannerpb.PlanRequest, binary bool) ([]byte, error) {
	if binary {
		return proto.MarshalOptions{Deterministic: true}.Marshal(req)
	}
	data, err := protojson.Marshal(req)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer // indented anew, because protojson varies its white space on purpose
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
