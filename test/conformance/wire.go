package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kerf-dev/kerf/test/conformance/botocore"
)

// wire checks all that was recorded, and returns the calls that were made and how often.
func (r *report) wire(models botocore.Models, dir string) (map[string]int, error) {
	calls, found := map[string]int{}, map[string]int{}
	answers, dropped := 0, 0
	err := recorded(dir, func(x botocore.Exchange) error {
		call, findings, err := models.Check(x)
		if err != nil {
			return fmt.Errorf("%s %s: %w", call, x.Request, err)
		}
		calls[call.String()]++
		if x.Status == 0 {
			dropped++
		} else {
			answers++
		}
		for _, f := range findings {
			found[f.String()]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.row("on the wire", "%d requests of %d calls, %d answers, %d connections that were closed before one; differences: %d",
		answers+dropped, len(calls), answers, dropped, len(found))
	used := map[string]int{}
	for _, text := range sortedKeys(found) {
		known, ok := knownOf(text)
		if !ok {
			r.fail("%s (%d times)", text, found[text])
			continue
		}
		used[known.prefix]++
	}
	for _, k := range wireDiffers() {
		if used[k.prefix] == 0 {
			r.fail("%s: known.go names it, and there is no such difference", k.prefix)
			continue
		}
		r.note("%s (%d): %s", k.prefix, used[k.prefix], k.reason)
	}
	return calls, nil
}

func knownOf(text string) (difference, bool) {
	for _, k := range wireDiffers() {
		if strings.HasPrefix(text, k.prefix) {
			return k, true
		}
	}
	return difference{}, false
}

func recorded(dir string, each func(botocore.Exchange) error) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := readAll(name, each); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readAll(name string, each func(botocore.Exchange) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	for d := json.NewDecoder(f); ; {
		var x botocore.Exchange
		if err := d.Decode(&x); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(x); err != nil {
			return err
		}
	}
}

// errors has awserror's own test compare its table with the models. EC2's model lists no codes.
func (r *report) errors(ctx context.Context, models botocore.Models, calls map[string]int, root, data string) error {
	var modelled []string
	codes, ec2 := 0, 0
	for _, name := range sortedKeys(calls) {
		service, call, _ := strings.Cut(name, " ")
		if service == "ec2" {
			ec2++
			continue
		}
		modelled = append(modelled, name)
		codes += len(models[service].ErrorCodes(models[service].Operations[call]))
	}
	r.row("error codes", "%d codes of %d calls; the models have none for EC2, whose %d calls are left out", codes, len(modelled), ec2)
	ran, err := goTest(ctx, root, []string{"KERF_BOTOCORE=" + data, "KERF_CALLS=" + strings.Join(modelled, ",")},
		"-run", "Botocore", "./services/actuator/internal/awserror")
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(ran) {
		if ran[name] != "pass" {
			r.fail("%s: go test -run %s ./services/actuator/internal/awserror with KERF_BOTOCORE=%s tells more", name, name, data)
		}
	}
	return nil
}
