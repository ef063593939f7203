package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

func newSnapshot(std IO) *cobra.Command {
	var addr, file string
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Save what Kerf sees of the live cluster, for kerf plan -f",
		Long: `Snapshot saves the question that the watcher would ask a planner now: what it sees of
the cluster, and the policy that it plans with (a kerf.planner.v1alpha1.PlanRequest).
kerf plan -f answers it again, to the byte, whenever and wherever.`,
		Example: `  kerf snapshot -o live.pb && kerf plan -f live.pb
  kerf snapshot | kerf plan -f -`,
		Args: noArguments,
	}
	f := c.Flags()
	f.StringVar(&addr, "watcher", address.Watcher, "`address` of the watcher")
	f.StringVarP(&file, "output", "o", "-", "`file` to write, binary if its name ends in .pb and JSON otherwise, compressed if .gz follows; - is standard output")
	client := addClient(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		req, trouble, err := fetch(cmd.Context(), client, addr)
		if err != nil {
			return err
		}
		std.warn(trouble)
		name, packed := strings.CutSuffix(file, ".gz")
		data, err := offline.Save(req, filepath.Ext(name) == ".pb")
		if err == nil && packed {
			data, err = pack(data)
		}
		if err != nil {
			return err
		}
		if file == "-" {
			_, err := std.Out.Write(data)
			return err
		}
		return writeFile(file, data)
	}
	return c
}

// fetch puts the parts that the watcher sends together, to the question that it would ask now: the snapshot, and the
// policy of the cluster where the watcher tells it. trouble warns of what keeps its plans from being carried out.
func fetch(ctx context.Context, c *client, addr string) (req *plannerpb.PlanRequest, trouble []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	service := watcherpb.File_kerf_watcher_v1alpha1_watcher_proto.Services().ByName("WatcherService")
	conn, err := c.dial(addr, service)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", addr, err)
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it any more
	stream, err := watcherpb.NewWatcherServiceClient(conn).GetSnapshot(ctx, &watcherpb.GetSnapshotRequest{})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", addr, err)
	}
	out := &plannerpb.PlanRequest{Snapshot: &clusterpb.Snapshot{}, Decide: &plannerpb.Decide{}}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("%s: the stream ended before the snapshot was whole; try again", addr)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", addr, err)
		}
		if t := m.GetTrouble(); t != "" {
			trouble = append(trouble, "the plans of the watcher are held up: "+t)
		}
		proto.Merge(out.GetSnapshot(), m.GetSnapshot().GetSnapshot())
		if p := m.GetPolicy(); p != nil {
			out.Decide.Policy = p
		}
		if m.GetSnapshot().GetLast() {
			out.Decide.Now = out.GetSnapshot().GetObserveTime()
			return out, trouble, nil
		}
	}
}

// pack compresses.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// writeFile writes the file whole or not at all.
func writeFile(file string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".kerf-snapshot-*")
	if problem, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: can't be made: %w", file, problem.Err) // not of the name that it has until it is whole
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", file, err), os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
