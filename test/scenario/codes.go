package scenario

import (
	"strings"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	"github.com/kerf-dev/kerf/services/planner/model"
)

// code is the contract's name of a reason's code.
func code(c model.Code) string {
	return strings.TrimPrefix(clusterv1.ReasonCode(c).String(), "REASON_CODE_")
}
