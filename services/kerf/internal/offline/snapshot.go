package offline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
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

func decodeSnapshot(f File, as format) (*clusterv1.Snapshot, error) {
	s := &clusterv1.Snapshot{}
	var err error
	if as == snapshotBinary {
		err = proto.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(f.Data, s)
		if err == nil && len(s.ProtoReflect().GetUnknown()) > 0 {
			err = fmt.Errorf("it has fields that this version does not know")
		}
	} else {
		err = protojson.Unmarshal(f.Data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: neither manifests nor a snapshot (kerf.cluster.v1.Snapshot): %w", f.Name, err)
	}
	return s, nil
}
