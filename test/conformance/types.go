package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/test/conformance/moto"
)

// types compares what the adapter makes of moto's DescribeInstanceTypes with the bundled catalogue, field by field.
func (r *report) types(ctx context.Context, url string) error {
	w, err := moto.Furnish(ctx, url)
	if err != nil {
		return err
	}
	_, _, market, _, err := actuator.OpenCloud(ctx, w.Config)
	if err != nil {
		return err
	}
	types, err := market.InstanceTypes(ctx)
	if err != nil {
		return err
	}
	bundled, err := catalog.BundledFor(moto.Region)
	if err != nil {
		return err
	}
	live := map[string]catalog.Type{}
	for i := range types {
		live[types[i].Name] = types[i]
	}
	used := make([]int, len(typesDiffer()))
	both, values := 0, 0
	judge := func(name, field string, got, want catalog.Type) {
		for i, k := range typesDiffer() {
			if k.field == field && k.fits(got, want) {
				used[i]++
				return
			}
		}
		r.fail("%s: %s is %s, and in the catalogue %s", name, field, valueOf(got, field), valueOf(want, field))
	}
	for _, want := range bundled.Types {
		got, ok := live[want.Name]
		if !ok {
			judge(want.Name, missing, got, want)
			continue
		}
		both++
		for _, field := range compared() {
			values++
			if valueOf(got, field) != valueOf(want, field) {
				judge(want.Name, field, got, want)
			}
		}
	}
	for _, name := range sortedKeys(live) {
		if want, ok := bundled.Type(name); !ok {
			judge(name, "Name", live[name], want)
		}
	}
	r.row("types", "%d of the catalogue's %d, %d fields of each, %d values compared; %d that moto alone has. Moto has no prices.",
		both, len(bundled.Types), len(compared()), values, len(live)-both)
	for i, k := range typesDiffer() {
		if used[i] == 0 {
			r.fail("%s, %s: known.go names it, and there is no such difference", k.field, k.reason)
			continue
		}
		r.note("%s (%d): %s", k.field, used[i], k.reason)
	}
	return nil
}

// missing is the field of rules about types that the catalogue alone has, and Name of those that moto alone has.
const missing = "missing"

// compared are the fields of a type that EC2 describes.
func compared() []string {
	var out []string
	for f := range reflect.TypeFor[catalog.Type]().Fields() {
		switch f.Name {
		case "OnDemandMicroUSD", "PriceEstimated", "SpotSavesPercent", "Reclaimed": // not EC2's to tell
		case "TrunkingSupported", "BranchENIs": // which the adapter takes from the catalogue
		default:
			out = append(out, f.Name)
		}
	}
	return out
}

func valueOf(t catalog.Type, field string) string {
	if field == missing {
		return strconv.FormatBool(t.Name == "")
	}
	return fmt.Sprintf("%+v", reflect.ValueOf(t).FieldByName(field).Interface())
}
