package measure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

// aws answers with an error, or none.
type aws struct {
	cloud.Cloud
	cloud.Market

	err error
}

func (a *aws) Receive(context.Context) ([]cloud.Message, error) { return nil, a.err }

func (a *aws) Delete(context.Context, []string) error { return a.err }

func (a *aws) Launch(context.Context, cloud.Request) ([]cloud.Instance, error) { return nil, a.err }

func (a *aws) Terminate(context.Context, ...string) error { return a.err }

func (a *aws) InstanceTypes(context.Context) ([]catalog.Type, error) { return nil, a.err }

// classes answers for each class with an error, or none.
type classes struct {
	cloud.Classes

	err map[model.NodeClassName]error
}

func (c classes) Resolve(_ context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return cloud.Class{}, c.err[s.Name]
}

func (c classes) Release(_ context.Context, s cloud.ClassSpec) error { return c.err[s.Name] }

func (a *aws) OnDemandPrices(context.Context) (map[model.TypeName]int64, error) { return nil, a.err }

// TestAProtectedInstanceIsNoLackOfRights: an instance that is protected from its end paged the engineer on call for the
// credentials.
func TestAProtectedInstanceIsNoLackOfRights(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Actuator)
	a := &aws{err: fmt.Errorf("%w: %w", cloud.ErrUnauthorized, &smithy.GenericAPIError{Code: "OperationNotPermitted"})}
	_ = measure.New(recorder).Cloud(a).Terminate(t.Context(), "i-1")
	want := []string{"kerf_aws_request_duration_seconds error_type=invalid kerf_operation=terminate: 1"}
	if got := metricstest.Series(t, seen, "kerf_aws_request", false); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhatFailsForLongIsSeenHoweverRarelyItIsTried: list prices are asked for again after half an hour, status checks
// after an hour, and a count that has grown once in a window is no series that has grown.
func TestWhatFailsForLongIsSeenHoweverRarelyItIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, seen := metricstest.New(t, metrics.Actuator)
		m, leads := measure.New(recorder), true
		if err := m.Follow(func() (*inventory.Inventory, int, bool) { return nil, 1, leads }); err != nil {
			t.Fatal(err)
		}
		denied := fmt.Errorf("receive messages: %w", &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"})
		a := &aws{err: denied}
		queue, market, launches := m.Queue(a), m.Market(a), m.Cloud(a)
		want := func(when string, want ...string) {
			t.Helper()
			if got := metricstest.Series(t, seen, "kerf_aws_failing", false); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		ask := func() {
			_, _ = queue.Receive(t.Context())
			_, _ = market.OnDemandPrices(t.Context())
			_, _ = launches.Launch(t.Context(), cloud.Request{}) // is of one claim: others may succeed
		}
		ask()
		time.Sleep(30 * time.Minute)
		want("after one failure",
			"kerf_aws_failing_seconds error_type=unauthorized kerf_operation=on_demand_prices: 1800",
			"kerf_aws_failing_seconds error_type=unauthorized kerf_operation=receive_notices: 1800")
		a.err = errors.New("no route to host")
		_, _ = queue.Receive(t.Context())
		a.err = nil
		_, _ = market.OnDemandPrices(t.Context())
		time.Sleep(30 * time.Minute)
		want("after a success", "kerf_aws_failing_seconds error_type=_OTHER kerf_operation=receive_notices: 3600")
		a.err = context.Canceled
		_, _ = market.OnDemandPrices(t.Context())
		want("after the end of a term", "kerf_aws_failing_seconds error_type=_OTHER kerf_operation=receive_notices: 3600")
		leads = false
		want("while another leads")
		leads = true
		time.Sleep(2 * time.Hour)
		want("long after the last call")

		counts := metricstest.Series(t, seen, "kerf_aws_request_duration", false)
		if !slices.ContainsFunc(counts, func(s string) bool {
			return strings.Contains(s, "error_type=unauthorized kerf_operation=receive_notices")
		}) {
			t.Errorf("a queue's AccessDenied is not among %q", counts)
		}
	})
}

// TestAClassThatAlwaysFailsIsSeenBesideOneThatNeverDoes: all classes had one entry, which each success of a healthy one
// set back to 0.
func TestAClassThatAlwaysFailsIsSeenBesideOneThatNeverDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, seen := metricstest.New(t, metrics.Actuator)
		m, inv := measure.New(recorder), &inventory.Inventory{}
		if err := m.Follow(func() (*inventory.Inventory, int, bool) { return inv, 1, true }); err != nil {
			t.Fatal(err)
		}
		wants := func(when string, want ...string) {
			t.Helper()
			if got := metricstest.Series(t, seen, "kerf_aws_failing", false); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		c := classes{err: map[model.NodeClassName]error{
			"bad": errors.New("no route to host"), "leaving": &smithy.GenericAPIError{Code: "AccessDenied"},
		}}
		measured := m.Classes(c)
		for _, name := range []model.NodeClassName{"bad", "good", "leaving"} {
			inv.Classes = append(inv.Classes, &model.NodeClass{Name: name})
		}
		ask := func() {
			_, _ = measured.Resolve(t.Context(), cloud.ClassSpec{Name: "bad"})
			_, _ = measured.Resolve(t.Context(), cloud.ClassSpec{Name: "good"})
			_ = measured.Release(t.Context(), cloud.ClassSpec{Name: "leaving"})
		}
		for range 11 {
			ask()
			time.Sleep(time.Minute)
		}
		bad := "kerf_aws_failing_seconds error_type=_OTHER kerf_object=ec2nodeclass/bad kerf_operation=resolve_class: "
		leaving := "kerf_aws_failing_seconds error_type=unauthorized kerf_object=ec2nodeclass/leaving kerf_operation=release_class: "
		wants("after eleven minutes", bad+"660", leaving+"660")
		inv.Classes = inv.Classes[:2]
		wants("once one is gone", bad+"660")
		time.Sleep(5 * time.Minute)
		wants("once the other was not tried for five minutes")
		ask()
		time.Sleep(time.Minute)
		wants("tried again", bad+"60")
		delete(c.err, "bad")
		ask()
		wants("after a success")

		inv.Classes = nil
		for i := range 1000 {
			name := model.NodeClassName(fmt.Sprint("c", i))
			c.err[name] = errors.New("no route to host")
			inv.Classes = append(inv.Classes, &model.NodeClass{Name: name})
			_, _ = measured.Resolve(t.Context(), cloud.ClassSpec{Name: name})
		}
		time.Sleep(time.Minute)
		if n := len(metricstest.Series(t, seen, "kerf_aws_failing", false)); n != 100 {
			t.Errorf("%d series of a thousand classes that fail, want 100", n)
		}
	})
}
