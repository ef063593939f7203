package etcd

import (
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// connection is a client that is made when it is first needed. One with a password asks etcd for a token at once, and
// can't be made before etcd answers. Safe for concurrent use.
type connection struct {
	config clientv3.Config

	mu     sync.Mutex
	made   *clientv3.Client // nil before
	failed error            // of the last try to make it, and when that was
	at     time.Time
	closed bool
}

var errClosed = errors.New("the connection is closed")

// client returns the client. Those who wait for a try that fails do not each begin another one.
func (c *connection) client() (*clientv3.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, errClosed
	case c.made != nil:
		return c.made, nil
	case c.failed != nil && time.Since(c.at) < retryPause:
		return nil, c.failed
	}
	c.made, c.failed = clientv3.New(c.config)
	c.at = time.Now()
	return c.made, c.failed
}

func (c *connection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.made == nil {
		return nil
	}
	return c.made.Close()
}
