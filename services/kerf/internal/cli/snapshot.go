package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	watcherv1 "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
	"github.com/kerf-dev/kerf/services/kerf/internal/up"
)

func newSnapshot(std IO) *cobra.Command {
	var addr, file string
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Save what Kerf sees of the live cluster, for kerf plan -f",
		Example: `  kerf snapshot -o live.pb && kerf plan -f live.pb
  kerf snapshot | kerf plan -f -`,
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.StringVar(&addr, "watcher", up.DefaultWatcher, "`address` of the watcher")
	f.StringVarP(&file, "output", "o", "-", "`file` to write, binary if its name ends in .pb and JSON otherwise; - is standard output")
	client := addClient(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := fetchSnapshot(cmd.Context(), client, addr)
		if err != nil {
			return err
		}
		if file == "-" {
			return render.JSON(std.Out, s)
		}
		return saveSnapshot(file, s)
	}
	return c
}

// fetchSnapshot puts the parts that the watcher sends together.
func fetchSnapshot(ctx context.Context, c *client, addr string) (*clusterv1.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	service := watcherv1.File_kerf_watcher_v1_watcher_proto.Services().ByName("WatcherService")
	conn, err := c.dial(addr, service)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it any more
	stream, err := watcherv1.NewWatcherServiceClient(conn).GetSnapshot(ctx, &watcherv1.GetSnapshotRequest{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	out := &clusterv1.Snapshot{}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: the stream ended before the snapshot was whole; try again", addr)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", addr, err)
		}
		proto.Merge(out, part.GetSnapshot())
		if part.GetLast() {
			return out, nil
		}
	}
}

// saveSnapshot writes the file whole or not at all.
func saveSnapshot(file string, s *clusterv1.Snapshot) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".kerf-snapshot-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", file, err), os.Remove(f.Name()))
		}
	}()
	if filepath.Ext(file) == ".pb" {
		var data []byte
		if data, err = (proto.MarshalOptions{Deterministic: true}).Marshal(s); err == nil {
			_, err = f.Write(data)
		}
	} else {
		err = render.JSON(f, s)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
