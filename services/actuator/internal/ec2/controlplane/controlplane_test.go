package controlplane

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/kerf-dev/kerf/services/actuator/userdata"
)

// cloud answers for EKS: with the cluster's version, or with an error where that is empty.
type cloud struct {
	version atomic.Value
	asked   atomic.Int32
	away    atomic.Bool
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.asked.Add(1)
	if c.away.Load() {
		http.Error(w, `{"message":"busy"}`, http.StatusServiceUnavailable)
		return
	}
	version, _ := c.version.Load().(string)
	if version == "" {
		w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
		http.Error(w, `{"message":"No cluster found for name: c."}`, http.StatusNotFound)
		return
	}
	_, _ = w.Write([]byte(`{"cluster":{"arn":"arn:c","endpoint":"https://eks","version":"` + version +
		`","certificateAuthority":{"data":"Q0E="},"kubernetesNetworkConfig":{"serviceIpv4Cidr":"10.100.0.0/16"}}}`))
}

// away is the version of an EKS that does not answer.
const away = "away"

// open opens a plane at a clock that the test sets.
func open(t *testing.T, version string, given userdata.APIServer) (*Plane, *cloud, *time.Time, error) {
	t.Helper()
	c, now := &cloud{}, time.Unix(0, 0)
	c.version.Store(version)
	c.away.Store(version == away)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	client := eks.New(eks.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: aws.NopRetryer{},
	})
	p, err := Open(t.Context(), Config{
		EKS: client, Cluster: "c", Region: "us-east-1", Given: given, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	})
	return p, c, &now, err
}

func TestAnUpgradeIsSeenWhileKerfRuns(t *testing.T) {
	p, c, now, err := open(t, "1.35", userdata.APIServer{Endpoint: "https://given"})
	if err != nil {
		t.Fatal(err)
	}
	want := userdata.APIServer{Endpoint: "https://given", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.35"}
	if p.API() != want || p.ARN() != "arn:c" {
		t.Fatalf("%+v, %s, want %+v", p.API(), p.ARN(), want)
	}
	c.version.Store("1.36")
	renew := func() {
		t.Helper()
		if err := errors.Join(p.Renew(t.Context()), p.Known(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if renew(); c.asked.Load() != 1 {
		t.Error("EKS is asked again at once")
	}
	*now = now.Add(renewal)
	renew()
	renew()
	if want.KubernetesVersion = "1.36"; p.API() != want || c.asked.Load() != 2 {
		t.Errorf("%+v after %d calls, want %+v after 2", p.API(), c.asked.Load(), want)
	}
	c.version.Store("")
	*now = now.Add(renewal)
	renew()
	renew()
	if p.API() != want || c.asked.Load() != 3 {
		t.Errorf("%+v after %d calls: want what was known, and no more calls than when EKS answers", p.API(), c.asked.Load())
	}
}

func TestWhatIsConfiguredIsNotAskedFor(t *testing.T) {
	given := userdata.APIServer{Endpoint: "https://given", CABase64: "Q0E=", ServiceCIDR: "10.100.0.0/16", KubernetesVersion: "1.33"}
	p, c, now, err := open(t, "1.36", given)
	if err != nil {
		t.Fatal(err)
	}
	*now = now.Add(24 * time.Hour)
	if err := p.Renew(t.Context()); err != nil || p.API() != given || c.asked.Load() != 0 {
		t.Errorf("%+v after %d calls, want %+v after none", p.API(), c.asked.Load(), given)
	}
}

func TestAnEKSThatIsAwayIsAskedAgain(t *testing.T) {
	p, c, now, err := open(t, away, userdata.APIServer{})
	if err != nil {
		t.Fatalf("not opened: %v", err)
	}
	for range 2 {
		if p.Known(t.Context()) == nil || p.Renew(t.Context()) == nil {
			t.Error("known, though EKS has not answered")
		}
	}
	if c.asked.Load() != 1 {
		t.Errorf("asked %d times at once", c.asked.Load())
	}
	*now = now.Add(patience)
	if p.Known(t.Context()) == nil || c.asked.Load() != 2 {
		t.Errorf("asked %d times, want it asked again", c.asked.Load())
	}
	c.away.Store(false)
	*now = now.Add(patience)
	if err := p.Known(t.Context()); err != nil || p.API().Check() != nil || c.asked.Load() != 3 {
		t.Errorf("%v, %+v", err, p.API())
	}
	c.away.Store(true)
	*now = now.Add(renewal)
	if err := errors.Join(p.Renew(t.Context()), p.Known(t.Context())); err != nil {
		t.Errorf("what was known does not stand: %v", err)
	}
}

func TestAClusterThatEKSDoesNotHaveIsNamed(t *testing.T) {
	_, _, _, err := open(t, "", userdata.APIServer{})
	if err == nil || !strings.Contains(err.Error(), "EKS has no cluster c in us-east-1") {
		t.Errorf("%v", err)
	}
}
