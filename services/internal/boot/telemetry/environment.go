package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// disabled says whether the environment wants nothing of the SDK.
func disabled(getenv func(string) string) bool {
	return strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true")
}

// wanted says whether the environment asks for a signal, TRACES or METRICS, to be sent.
func wanted(getenv func(string) string, signal string) (bool, error) {
	name := "OTEL_" + signal + "_EXPORTER"
	switch exporter := getenv(name); exporter {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
		return getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "", nil
	default:
		return false, fmt.Errorf("%s: %q is neither otlp nor none", name, exporter)
	}
}

// overHTTP says whether a signal goes by HTTP rather than by gRPC.
func overHTTP(getenv func(string) string, signal string) (bool, error) {
	name := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"
	if getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := getenv(name); protocol {
	case "", "grpc":
		return false, nil
	case "http/protobuf":
		return true, nil
	default:
		return false, fmt.Errorf("%s: %q is neither grpc nor http/protobuf", name, protocol)
	}
}

// newResource says who sends: later detectors win, so what the environment says beats our default name.
func newResource(ctx context.Context, service, version string) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "kerf-"+service), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry resource: %w", err)
	}
	return res, nil
}

// reportFailures logs what can't be sent.
func reportFailures(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("export telemetry", KeyError, err)
	}))
}
