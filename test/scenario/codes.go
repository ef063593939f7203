package scenario

import (
	"strings"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// code is the contract's name of a reason's code.
func code(c model.Code) string {
	return strings.TrimPrefix(clusterpb.ReasonCode(c).String(), "REASON_CODE_")
}
