package main

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// autogroup is how the kernel weighs this process's session, where it shares the machine between sessions first; there a
// process's own nice value counts within its session only.
const autogroup = "/proc/self/autogroup"

// goFirst gives this process group, its session, and what it starts from now on, a nice value. The session outlives this
// program: undo takes it back.
func goFirst(nice int) (undo func(), err error) {
	undo = func() {}
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, nice); err != nil {
		return undo, err
	}
	weigh := func(nice int) error {
		err := os.WriteFile(autogroup, []byte(strconv.Itoa(nice)), 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // this kernel has no such thing
		}
		return err
	}
	return func() { _ = weigh(0) }, weigh(nice)
}
