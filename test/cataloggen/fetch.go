package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// What is downloaded where no flag names it.
const (
	motoPackage     = "moto==5.2.5"
	karpenterModule = "github.com/aws/karpenter-provider-aws@v1.14.1"
	instancesModule = "github.com/cristim/ec2-instances-info@v0.0.0-20250528091325-32acf84f42eb"
)

// inputs are where the three packages are.
type inputs struct{ wheel, karpenter, instances string }

// sources are what the three packages say.
type sources struct {
	moto      *moto
	karpenter *karpenter
	instances *instances
}

// fetch downloads what is not named. clean removes what nothing else uses.
func (in *inputs) fetch() (clean func(), err error) {
	clean = func() {}
	for _, m := range []struct {
		dir    *string
		module string
	}{{&in.karpenter, karpenterModule}, {&in.instances, instancesModule}} {
		if *m.dir == "" {
			if *m.dir, err = moduleDir(m.module); err != nil {
				return clean, err
			}
		}
	}
	if in.wheel != "" {
		return clean, nil
	}
	dir, err := os.MkdirTemp("", "cataloggen")
	if err != nil {
		return clean, err
	}
	clean = func() { _ = os.RemoveAll(dir) }
	pip := exec.Command("pip", "download", "--quiet", "--no-deps", "--dest", dir, motoPackage) //nolint:gosec // the package is a constant, the folder ours
	if said, err := pip.CombinedOutput(); err != nil {
		return clean, fmt.Errorf("pip download %s: %w: %s", motoPackage, err, said)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return clean, fmt.Errorf("pip download %s: %d wheels: %w", motoPackage, len(wheels), err)
	}
	in.wheel = wheels[0]
	return clean, nil
}

func moduleDir(module string) (string, error) {
	var got struct{ Dir, Error string }
	command := exec.Command("go", "mod", "download", "-json", module) //nolint:gosec // of a constant
	command.Dir = os.TempDir()                                        // outside of any module, whose go.mod it would be held against
	said, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s", module, err, said)
	}
	if err := json.Unmarshal(said, &got); err != nil || got.Dir == "" {
		return "", fmt.Errorf("go mod download %s: no folder: %s %w", module, got.Error, err)
	}
	return got.Dir, nil
}

func (in inputs) read() (*sources, error) {
	var s sources
	var err error
	if s.moto, err = readMoto(in.wheel); err != nil {
		return nil, fmt.Errorf("%s: %w", in.wheel, err)
	}
	if s.karpenter, err = readKarpenter(in.karpenter); err != nil {
		return nil, fmt.Errorf("%s: %w", in.karpenter, err)
	}
	if s.instances, err = readInstances(in.instances); err != nil {
		return nil, fmt.Errorf("%s: %w", in.instances, err)
	}
	return &s, nil
}
