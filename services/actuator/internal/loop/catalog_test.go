package loop

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// smallCatalog is three types in two zones, the caller's own.
func smallCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	data, err := threeTypes()
	if err != nil {
		t.Fatal(err)
	}
	c := &catalog.Catalog{}
	if err := json.Unmarshal(data, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// threeTypes is what smallCatalog is made of: all types are read once, as that takes longer than most tests.
var threeTypes = sync.OnceValues(func() ([]byte, error) {
	c, err := catalog.Bundled()
	if err != nil {
		return nil, err
	}
	c.Types = slices.DeleteFunc(c.Types, func(x catalog.Type) bool {
		return x.Name != "c5.large" && x.Name != "m5.large" && x.Name != "m5.xlarge"
	})
	c.Types[2].EFAInterfaces = 1 // as larger types have
	return json.Marshal(c)
})
