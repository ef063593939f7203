//go:build unix && !linux

package proc

import "syscall"

// attributes give a child a process group of its own, so that Ctrl-C reaches only the parent, which ends its children in
// order. Only Linux can also tie the child's life to the parent's.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
