package show

import (
	"fmt"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// deviceClaim is what one claim asks for. What is not named may not be shared.
func deviceClaim(c model.DeviceClaim) string {
	var words []string
	if _, name, named := strings.Cut(c.Name, "/"); named {
		words = append(words, name+":")
	}
	for _, r := range c.Requests {
		var options []string
		for _, o := range r.Options {
			options = append(options, deviceOption(o))
		}
		words = append(words, r.Name+"="+strings.Join(options, "|"))
	}
	for _, x := range c.Constraints {
		words = append(words, "same="+x.Attribute)
	}
	return strings.Join(words, " ")
}

func deviceOption(o model.DeviceOption) string {
	switch o.Count {
	case 0:
		return "all*" + o.Selector
	case 1:
		return o.Selector
	}
	return fmt.Sprintf("%d*%s", o.Count, o.Selector)
}

// deviceWords are the words of what nodes have; types are those of a pool that have it.
func deviceWords(devices []model.NodeDevice, types ...model.TypeName) (out []string) {
	for _, d := range devices {
		words := []string{d.Name, pair("of", strings.Join(d.Selectors, ",")), pair("attributes", pairs(d.Attributes)), flag("unavailable", d.Unavailable)}
		if d.Driver != gen.DeviceDriver {
			words = append(words, pair("driver", d.Driver))
		}
		for _, t := range types {
			words = append(words, pair("types", string(t)))
		}
		out = append(out, `device="`+strings.Join(strings.Fields(strings.Join(words, " ")), " ")+`"`)
	}
	return out
}
