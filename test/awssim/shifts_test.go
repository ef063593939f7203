package awssim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/test/awssim"
)

// openShifts is the adapter of AWS for a cluster that zonal shifts are asked of.
func openShifts(t *testing.T, enabled bool) (cloud.Shifts, *awssim.Server, *awssim.FakeClock) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	cfg := awssim.Default("test")
	clock := awssim.NewFakeClock(time.Now())
	cfg.Clock, cfg.ZonalShift = clock, enabled
	server, err := awssim.Start("127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	c, _, _, _, err := actuator.OpenCloud(t.Context(), actuator.AWSConfig{
		Region: "us-east-1", Endpoint: server.URL, Cluster: "test", ZonalShift: "on",
		API: actuator.APIConfig{Endpoint: "https://test.example", CABase64: "Y2E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.37"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.(cloud.Shifts), server, clock
}

func TestZonalShiftsAreTold(t *testing.T) {
	shifts, server, clock := openShifts(t, true)
	want := func(what string, zones ...string) {
		t.Helper()
		if got, err := shifts.ShiftedZones(t.Context()); err != nil || !slices.Equal(got, zones) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, zones)
		}
	}
	away := func(zone string, lasts time.Duration) {
		t.Helper()
		if err := server.ShiftAway(zone, lasts); err != nil {
			t.Fatal(err)
		}
	}
	b, c := zoneID(t, "us-east-1b"), zoneID(t, "us-east-1c")
	want("before any")
	away("us-east-1b", 0)
	want("an autoshift", b)
	away("us-east-1c", time.Hour)
	want("a user's comes first", c)
	clock.Advance(time.Hour)
	want("and has ended", b)
	server.ShiftBack("us-east-1b")
	want("both are over")
}

func TestAClusterThatIsNotEnabledForShiftsSaysHow(t *testing.T) {
	shifts, server, _ := openShifts(t, false)
	if _, err := shifts.ShiftedZones(t.Context()); err == nil || !strings.Contains(err.Error(), "--zonal-shift-config enabled=true") {
		t.Errorf("error %v", err)
	}
	server.Fail(awssim.Fault{Action: "arc-zonal-shift:GetManagedResource", Code: "AccessDeniedException"})
	if _, err := shifts.ShiftedZones(t.Context()); !errors.Is(err, cloud.ErrUnauthorized) {
		t.Errorf("error %v", err)
	}
}
