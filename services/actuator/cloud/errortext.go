package cloud

import "strings"

// ErrorText is an error's text without the number that AWS gives each request: what is said again would look new each time.
func ErrorText(err error) string {
	before, after, found := strings.Cut(err.Error(), "RequestID: ")
	if _, rest, ok := strings.Cut(after, ", "); found && ok {
		return before + rest
	}
	return before + after
}
