package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/address"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
)

func newClaims(std IO) *cobra.Command {
	var addrs []string
	req := &actuatorpb.ListClaimsRequest{}
	c := &cobra.Command{
		Use:   "claims",
		Short: "List the nodes that Kerf asked for, and their state",
		Example: `  kerf claims
  kerf claims --pool default --all
  kerf claims --actuator kerf-actuator.kerf-system.svc:7500 --tls-dir kerf-certs/kerf-operator-tls`,
		Args: noArguments,
	}
	f := c.Flags()
	f.StringSliceVar(&addrs, "actuator", []string{address.Actuator}, "`addresses` of actuators; the leader is found from any of them")
	f.StringVar(&req.NodePool, "pool", "", "only claims of this node pool")
	f.BoolVar(&req.IncludeEnded, "all", false, "claims that have ended, too")
	out := addOutput(c, "table")
	client := addClient(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		var resp *actuatorpb.ListClaimsResponse
		service := actuatorpb.File_kerf_actuator_v1alpha1_actuator_proto.Services().ByName("ActuatorService")
		err := client.askLeader(cmd.Context(), addrs, service, func(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
			resp, err = actuatorpb.NewActuatorServiceClient(conn).ListClaims(ctx, req)
			return err
		})
		if err != nil {
			return err
		}
		if out.json() {
			return out.write(std.Out, func(w io.Writer) error { return render.JSON(w, resp) })
		}
		return render.Claims(std.Out, resp.GetClaims(), std.Now(), std.style())
	}
	return c
}
