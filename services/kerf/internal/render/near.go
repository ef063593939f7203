package render

import (
	"fmt"
	"strings"

	"github.com/kerf-dev/kerf/services/core/near"
)

// unknown is the error about a name that nothing has, with the names that are nearest.
func unknown(kind, name string, all []string) error {
	if len(all) == 0 {
		return fmt.Errorf("explain %s/%s: there is no such %s, and no %s at all", kind, name, kind, kind)
	}
	list := near.Names(name, all)
	if len(list) == 0 && kind == "pod" {
		return fmt.Errorf("explain pod/%s: there is no such pod; one that has ended, or waits for a scheduling gate, is not seen", name)
	}
	if len(list) == 0 {
		return fmt.Errorf("explain %s/%s: there is no such %s", kind, name, kind)
	}
	for i, n := range list {
		list[i] = kind + "/" + n
	}
	return fmt.Errorf("explain %s/%s: there is no such %s; did you mean %s", kind, name, kind, strings.Join(list, ", "))
}
