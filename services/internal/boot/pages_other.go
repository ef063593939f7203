//go:build !linux

package boot

import "context"

// forgetStart is for Linux, where services run.
func forgetStart(context.Context) {}
