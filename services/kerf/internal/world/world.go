// Package world reads where the nodes of a dry run could be bought: a catalogue, a region and zones, as flags and the
// environment name them.
//
// It opens one file at most, and must never ask AWS. Start reading at Flags.World.
package world

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/places"
)

// RegionVariable is where AWS's programs look for the region that no flag names.
const RegionVariable = "AWS_REGION"

// Flags say where nodes are bought.
type Flags struct {
	// Region is the one to buy in; "" leaves it to objects and environment.
	Region string
	// Catalog is a file with instance types and prices; "" means what is built in.
	Catalog string
	// Zones are those that there are subnets in; none means all of the region's.
	Zones []string
	// ENIs is how many network interfaces of each node pods can't use.
	ENIs uint8
}

// World reads the catalogue, and says where in it nodes are bought. getenv finds an environment variable.
func (f Flags) World(getenv func(string) string) (convert.World, error) {
	c, err := f.ReadCatalog()
	if err != nil {
		return convert.World{}, err
	}
	w := convert.World{Catalog: c, Zones: f.Zones, Bundled: f.Catalog == "", ReservedENIs: int64(f.ENIs)}
	if err := f.nameRegion(&w, getenv(RegionVariable)); err != nil {
		return convert.World{}, err
	}
	if len(f.Zones) == 0 {
		return w, nil // files may name what the environment does not
	}
	there, _ := w.In(convert.Places{})
	switch err := there.CheckZones(); {
	case err != nil && w.Fixed:
		return convert.World{}, fmt.Errorf("--region %s and --zones: %w", w.Region, err)
	case err != nil:
		return convert.World{}, fmt.Errorf("--zones: %w", err)
	}
	return w, nil
}

// nameRegion says which region is planned for, and by what: the flag, which decides, or a catalogue of one's own, or what
// the environment has for all programs of AWS, which counts where the objects name none.
func (f Flags) nameRegion(w *convert.World, environment string) error {
	switch {
	case f.Region != "" && !w.Bundled && f.Region != w.Catalog.Region:
		return fmt.Errorf("--region %s and --catalog %s: the catalogue is of %s", f.Region, f.Catalog, w.Catalog.Region)
	case f.Region != "":
		w.Region, w.Fixed, w.By = f.Region, true, "--region"
	case !w.Bundled:
		w.By = "--catalog"
		return nil
	case environment != "":
		w.Region, w.By = environment, RegionVariable
	default:
		w.By = "default; --region or " + RegionVariable + " names another"
		return nil
	}
	if !w.Bundled || places.IsRegion(w.Region) {
		return nil
	}
	err := fmt.Errorf("%s %s: no region of AWS; %s", w.By, w.Region, cmp.Or(near.Question(w.Region, catalog.Regions()), "want one such as eu-west-1"))
	if w.Fixed {
		return err
	}
	w.Region, w.Amiss = "", err // which is for all programs of AWS, and counts only where nothing else names one
	return nil
}

// ReadCatalog is the catalogue that is named, or the one of the default region.
func (f Flags) ReadCatalog() (*catalog.Catalog, error) {
	if f.Catalog == "" {
		return catalog.Bundled()
	}
	file, err := os.Open(f.Catalog)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", f.Catalog, errors.Unwrap(err)) // without the path, and open, a second time
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	c, err := catalog.Read(file)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", f.Catalog, err)
	}
	return c, nil
}
