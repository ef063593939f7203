package gen

import (
	"encoding/json"
	"fmt"
)

// Clone is a deep copy, for those who change a case.
func (c Case) Clone() Case {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("a case is plain data: %v", err))
	}
	var out Case
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("a case is plain data: %v", err))
	}
	return out
}
