// Package formula evaluates expressions of the Common Expression Language in a node class's kubelet settings, such as
// maxPods: "min(110, vcpus * 10)", which give a number for each instance type.
//
// It is a pure function of values, and must never know an instance type beyond Type. Start reading at Parse.
package formula

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// longest is the most characters of an expression. Without macros an evaluation takes no more steps than that.
const longest = 1024

// Type is what an expression can ask of an instance type.
type Type struct {
	Name      string // instance_type
	VCPUs     int64  // vcpus
	MemoryMiB int64  // memory_mib
	// ENIs is how many network interfaces the default network card takes, and IPsPerENI how many addresses each has.
	ENIs, IPsPerENI int64 // default_enis, ips_per_eni
	// MaxPods is how many pods there would be without the expression.
	MaxPods int64 // max_pods
}

// Formula is an expression that was read. Safe for concurrent use.
type Formula struct {
	text    string
	program cel.Program
}

var environment = sync.OnceValues(newEnvironment) //nolint:gochecknoglobals // it never changes, and takes a while to make

func newEnvironment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.ClearMacros(),
		cel.Variable("instance_type", cel.StringType),
		cel.Variable("vcpus", cel.IntType), cel.Variable("memory_mib", cel.IntType),
		cel.Variable("default_enis", cel.IntType), cel.Variable("ips_per_eni", cel.IntType), cel.Variable("max_pods", cel.IntType),
		pick("max", types.IntOne), pick("min", types.IntNegOne),
	)
}

// pick makes a function of two numbers of a kind that returns the one which compares to the other as told.
func pick(name string, order ref.Val) cel.EnvOption {
	choose := cel.BinaryBinding(func(x, y ref.Val) ref.Val {
		if c, ok := x.(traits.Comparer); ok && c.Compare(y) == order {
			return x
		}
		return y
	})
	return cel.Function(name,
		cel.Overload(name+"_int", []*cel.Type{cel.IntType, cel.IntType}, cel.IntType, choose),
		cel.Overload(name+"_double", []*cel.Type{cel.DoubleType, cel.DoubleType}, cel.DoubleType, choose),
	)
}

// Parse reads an expression. The error says what is wrong with it.
func Parse(text string) (*Formula, error) {
	if len(text) > longest {
		return nil, fmt.Errorf("the expression has %d characters, at most %d will do", len(text), longest)
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make the environment of expressions: %w", err)
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.IntType) && !t.IsExactType(cel.DoubleType) {
		return nil, fmt.Errorf("expression %q: it gives a %s, want a number", text, t)
	}
	program, err := env.Program(ast)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return &Formula{text: text, program: program}, nil
}

// Of is the expression's value for a type, rounded down. A negative one is an error.
func (f *Formula) Of(t Type) (int64, error) {
	out, _, err := f.program.Eval(map[string]any{
		"instance_type": t.Name, "vcpus": t.VCPUs, "memory_mib": t.MemoryMiB,
		"default_enis": t.ENIs, "ips_per_eni": t.IPsPerENI, "max_pods": t.MaxPods,
	})
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", f.text, err)
	}
	n, err := whole(out.Value())
	if err != nil {
		return 0, fmt.Errorf("expression %q: %w", f.text, err)
	}
	return n, nil
}

func whole(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		if v < 0 {
			return 0, fmt.Errorf("it gives %d, want 0 or more", v)
		}
		return v, nil
	case float64:
		if math.IsNaN(v) || v < 0 || v > math.MaxInt32 {
			return 0, fmt.Errorf("it gives %v, want 0 to %d", v, math.MaxInt32)
		}
		return int64(v), nil
	default:
		return 0, errors.New("it gives no number")
	}
}
