// Package address says where services listen on one machine. It stands apart from them, so that a command that only asks
// a service does not carry it. Start reading at Actuator: it has constants only.
package address

// Where kerf-up has the services listen, and kerf looks for them, unless configured otherwise.
const (
	Actuator = "127.0.0.1:7500"
	Watcher  = "127.0.0.1:7600"
)
