package watch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is how many a second of /proc/PID/stat has: USER_HZ, which is 100 on every Linux that Go runs on.
const ticks = 100

// process is the CPU seconds that a process has used, the bytes of memory that it holds, and how many of them no file
// backs.
func process(pid int) (cpu float64, memory, anonymous uint64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	if cpu, memory, err = parseStat(string(stat), uint64(os.Getpagesize())); err != nil {
		return 0, 0, 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	anonymous, err = parseStatus(string(status))
	return cpu, memory, anonymous, err
}

// parseStatus reads RssAnon, which is in KiB.
func parseStatus(text string) (anonymous uint64, err error) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "RssAnon:" {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("not the status file of a process")
}

// parseStat reads utime, stime and rss. The program's name, the second field, may hold spaces and parentheses.
func parseStat(text string, page uint64) (cpu float64, memory uint64, err error) {
	_, rest, ok := cutLast(text, ")")
	fields := strings.Fields(rest) // the first of them is the third of the file
	if !ok || len(fields) < 22 {
		return 0, 0, errors.New("not the stat file of a process")
	}
	var numbers [3]uint64
	for i, field := range []int{14, 15, 24} {
		if numbers[i], err = strconv.ParseUint(fields[field-3], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("field %d: %w", field, err)
		}
	}
	return float64(numbers[0]+numbers[1]) / ticks, numbers[2] * page, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
