package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
)

// Where the module keeps its tables, and the names of the variables that hold them. Each price table holds regions of
// its own.
const (
	pricesFile    = "pkg/providers/pricing/zz_generated.pricing_aws.go"
	pricesVar     = "InitialOnDemandPricesAWS"
	govFile       = "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go"
	govVar        = "InitialOnDemandPricesUSGov"
	chinaFile     = "pkg/providers/pricing/zz_generated.pricing_aws_cn.go"
	chinaVar      = "InitialOnDemandPricesCN"
	bandwidthFile = "pkg/providers/instancetype/zz_generated.bandwidth.go"
	bandwidthVar  = "InstanceTypeBandwidthMegabits"
	limitsFile    = "pkg/providers/instancetype/zz_generated.vpclimits.go"
	limitsVar     = "Limits"
)

// karpenter is what the module says.
type karpenter struct {
	version   string
	prices    map[string]map[string]int64 // millionths of the currency per hour, by region and type
	bandwidth map[string]int64            // baseline Mbps, by type
	limits    map[string]limit            // by type
}

// limit is what is known of interfaces for single pods.
type limit struct {
	trunking bool
	branches int64
}

// moduleVersion is that of a module's folder.
func moduleVersion(dir string) (string, error) {
	_, version, found := strings.Cut(filepath.Base(filepath.Clean(dir)), "@")
	if !found {
		return "", errors.New("folder has no version: want one that ends in @VERSION, as the module cache names it")
	}
	return version, nil
}

func readKarpenter(dir string) (*karpenter, error) {
	version, err := moduleVersion(dir)
	if err != nil {
		return nil, err
	}
	k := &karpenter{version: version, prices: map[string]map[string]int64{}}
	tables := []struct {
		file, variable string
		take           func(*ast.CompositeLit) error
	}{
		{pricesFile, pricesVar, k.readPrices},
		{govFile, govVar, k.readPrices},
		{chinaFile, chinaVar, k.readPrices},
		{bandwidthFile, bandwidthVar, func(t *ast.CompositeLit) (err error) { k.bandwidth, err = readInts(t); return }},
		{limitsFile, limitsVar, func(t *ast.CompositeLit) (err error) { k.limits, err = readLimits(t); return }},
	}
	for _, t := range tables {
		literal, err := findLiteral(filepath.Join(dir, filepath.FromSlash(t.file)), t.variable)
		if err != nil {
			return nil, err
		}
		if err := t.take(literal); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.file, t.variable, err)
		}
	}
	if len(k.prices[catalog.DefaultRegion]) == 0 {
		return nil, fmt.Errorf("%s: no prices of region %s", pricesFile, catalog.DefaultRegion)
	}
	return k, nil
}

// findLiteral returns the composite literal that the file's package variable starts out as.
func findLiteral(file, variable string) (*ast.CompositeLit, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range tree.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			value := spec.(*ast.ValueSpec)
			if value.Names[0].Name != variable || len(value.Values) != 1 {
				continue
			}
			if literal, ok := value.Values[0].(*ast.CompositeLit); ok {
				return literal, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: no variable %s that is a composite literal", file, variable)
}

// each calls do with every key (a string literal, or a field's name) and value of the literal.
func each(literal *ast.CompositeLit, do func(key string, value ast.Expr) error) error {
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return errors.New("an element without a key")
		}
		key, err := keyText(pair.Key)
		if err != nil {
			return err
		}
		if err := do(key, pair.Value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func keyText(e ast.Expr) (string, error) {
	switch k := e.(type) {
	case *ast.Ident:
		return k.Name, nil
	case *ast.BasicLit:
		return strconv.Unquote(k.Value)
	default:
		return "", fmt.Errorf("a key that is a %T", e)
	}
}

// readPrices takes a table of several regions.
func (k *karpenter) readPrices(literal *ast.CompositeLit) error {
	return each(literal, func(region string, value ast.Expr) error {
		table, ok := value.(*ast.CompositeLit)
		if !ok {
			return errors.New("not a table of prices")
		}
		k.prices[region] = map[string]int64{}
		return each(table, func(name string, value ast.Expr) error {
			number, ok := value.(*ast.BasicLit)
			if !ok {
				return errors.New("not a number")
			}
			var err error
			k.prices[region][name], err = microDollars(number.Value)
			return err
		})
	})
}

// microDollars turns decimal dollars into whole micro-dollars exactly; more than six decimals are refused.
func microDollars(text string) (int64, error) {
	dollars, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("price %q: not a decimal number", text)
	}
	micro := dollars.Mul(dollars, big.NewRat(1_000_000, 1))
	if !micro.IsInt() || !micro.Num().IsInt64() {
		return 0, fmt.Errorf("price %q: not a whole number of micro-dollars", text)
	}
	return micro.Num().Int64(), nil
}

func readInts(literal *ast.CompositeLit) (map[string]int64, error) {
	numbers := map[string]int64{}
	err := each(literal, func(name string, value ast.Expr) error {
		var err error
		numbers[name], err = integer(value)
		return err
	})
	return numbers, err
}

func readLimits(literal *ast.CompositeLit) (map[string]limit, error) {
	limits := map[string]limit{}
	err := each(literal, func(name string, value ast.Expr) error {
		fields, ok := value.(*ast.CompositeLit)
		if !ok {
			return errors.New("not a struct")
		}
		var l limit
		err := each(fields, func(field string, value ast.Expr) (err error) {
			switch field {
			case "IsTrunkingCompatible":
				l.trunking, err = boolean(value)
			case "BranchInterface":
				l.branches, err = integer(value)
			}
			return err
		})
		limits[name] = l
		return err
	})
	return limits, err
}

func integer(e ast.Expr) (int64, error) {
	number, ok := e.(*ast.BasicLit)
	if !ok {
		return 0, fmt.Errorf("a %T: want a number", e)
	}
	return strconv.ParseInt(number.Value, 10, 64)
}

func boolean(e ast.Expr) (bool, error) {
	name, ok := e.(*ast.Ident)
	if !ok {
		return false, fmt.Errorf("a %T: want true or false", e)
	}
	return strconv.ParseBool(name.Name)
}
