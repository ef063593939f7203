package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	collogsv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/grpc"
)

// Sent is a log line that came by OTLP.
type Sent struct {
	Service, Message string
	// Traced says that it has the id of its trace.
	Traced bool
	Keys   []string
}

// Logs receives log lines by OTLP over gRPC, as a collector does. Its methods are safe for concurrent use.
type Logs struct {
	collogsv1.UnimplementedLogsServiceServer

	server *grpc.Server
	addr   string
	served chan error

	mu   sync.Mutex
	sent []Sent
}

// StartLogs listens on a free port of the loopback until Stop.
func StartLogs() (*Logs, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("receive logs: %w", err)
	}
	l := &Logs{server: grpc.NewServer(), addr: lis.Addr().String(), served: make(chan error, 1)}
	collogsv1.RegisterLogsServiceServer(l.server, l)
	go func() { l.served <- l.server.Serve(lis) }()
	return l, nil
}

// Stop ends it.
func (l *Logs) Stop() error {
	l.server.Stop()
	if err := <-l.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("receive logs: %w", err)
	}
	return nil
}

// Env makes a program send its log lines here.
func (l *Logs) Env() []string {
	return []string{"OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://" + l.addr}
}

// Export implements the collector's side of OTLP.
func (l *Logs) Export(_ context.Context, in *collogsv1.ExportLogsServiceRequest) (*collogsv1.ExportLogsServiceResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range in.GetResourceLogs() {
		service := ""
		for _, a := range r.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range r.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				s := Sent{Service: service, Message: record.GetBody().GetStringValue(), Traced: len(record.GetTraceId()) > 0}
				for _, a := range record.GetAttributes() {
					s.Keys = append(s.Keys, a.GetKey())
				}
				l.sent = append(l.sent, s)
			}
		}
	}
	return &collogsv1.ExportLogsServiceResponse{}, nil
}

// Sent are the lines that have come.
func (l *Logs) Sent() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Sent{}, l.sent...)
}
