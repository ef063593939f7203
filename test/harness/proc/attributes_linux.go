package proc

import "syscall"

// attributes give a child a process group of its own, so that Ctrl-C reaches only the parent, which ends its children in
// order; and have the kernel kill it when the parent dies without having done so.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
