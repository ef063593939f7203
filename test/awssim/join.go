package awssim

import (
	"context"
	"time"
)

const (
	kubeletTimeout = 30 * time.Second
	kubeletRetry   = time.Second
)

// scheduleJoin lets the kubelet of a running instance start after d.
func (s *Sim) scheduleJoin(i *instance, d time.Duration) {
	s.clock.AfterFunc(d, func() { s.join(i) })
}

// join boots the instance and calls the Kubelet without the lock; an error of the Kubelet is tried again until the
// instance ends, an error of the user data is final.
func (s *Sim) join(i *instance) {
	i.kubelet.Lock()
	defer i.kubelet.Unlock()
	s.mu.Lock()
	if s.closed || i.ended() {
		s.mu.Unlock()
		return
	}
	if s.held {
		s.scheduleJoin(i, kubeletRetry)
		s.mu.Unlock()
		return
	}
	b, err := s.boot(i)
	if err != nil {
		i.joinError = err.Error()
		s.mu.Unlock()
		s.cfg.Log.Warn("instance never joins", "instance", i.id, "reason", err)
		return
	}
	if s.cfg.Kubelet == nil {
		i.joinError = "the simulator has no cluster to join"
		s.mu.Unlock()
		return
	}
	i.tried = true
	ctx, done := s.kubeletCall()
	s.mu.Unlock()
	err = s.cfg.Kubelet.Join(ctx, b)
	done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		i.joinError = err.Error()
		s.scheduleJoin(i, kubeletRetry)
		return
	}
	i.joined, i.joinError = true, ""
}

// HoldKubelets keeps the kubelets of machines that boot from starting, as where they can't reach the API server or
// their image's registry, for as long as it is set.
func (s *Sim) HoldKubelets(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// leave takes a node that joined, or half did, out of the cluster, again and again until the Kubelet manages.
func (s *Sim) leave(i *instance) {
	i.kubelet.Lock()
	defer i.kubelet.Unlock()
	s.mu.Lock()
	if s.closed || !i.tried {
		s.mu.Unlock()
		return
	}
	ctx, done := s.kubeletCall()
	s.mu.Unlock()
	err := s.cfg.Kubelet.Leave(ctx, i.nodeName)
	done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		i.joinError = err.Error()
		s.clock.AfterFunc(kubeletRetry, func() { s.leave(i) })
		return
	}
	i.joined, i.tried, i.joinError = false, false, ""
}

// kubeletCall opens a call that Close cancels and waits for. The caller holds the lock, and calls done without it.
func (s *Sim) kubeletCall() (ctx context.Context, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), kubeletTimeout)
	s.lastCall++
	id := s.lastCall
	s.cancels[id] = cancel
	s.kubelets.Add(1)
	return ctx, func() {
		cancel()
		s.mu.Lock()
		delete(s.cancels, id)
		s.mu.Unlock()
		s.kubelets.Done()
	}
}
