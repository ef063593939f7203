package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/kerf-dev/kerf/test/versus/history"
)

// Run is one load with one seed on one side; or the bound for it, which has values but no history.
type Run struct {
	Load    string           `json:"load"`
	Seed    uint64           `json:"seed"`
	Side    string           `json:"side"`
	Values  Values           `json:"values"`
	History *history.History `json:"history,omitempty"`
}

// BoundSide is the side of runs that are bounds.
const BoundSide = "bound"

// Results are all runs of a comparison.
type Results struct {
	// About says on what and of what the runs were made.
	About string `json:"about"`
	Runs  []Run  `json:"runs"`
}

// Read reads results that Write wrote, and works out their figures anew.
func Read(file string) (*Results, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r Results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range r.Runs {
		if run := &r.Runs[i]; run.History != nil {
			run.Values = Measure(run.Load, run.History)
		}
	}
	return &r, nil
}

// Write keeps the results, so that they can be shown again.
func (r *Results) Write(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// Row is one measure of one load: the median over the seeds for each side, where there is any.
type Row struct {
	Load string `json:"load"`
	Key  string `json:"key"`
	Text string `json:"text"`
	// Median, Low and High are by side.
	Median map[string]float64 `json:"median"`
	Low    map[string]float64 `json:"low"`
	High   map[string]float64 `json:"high"`
	// Ratio is Kerf's figure over another side's: the median over the seeds that both ran, as seeds differ more than
	// sides do.
	Ratio map[string]float64 `json:"ratio"`

	format string
}

// Rows are the table, by loads in the order of their first runs.
func (r *Results) Rows() []Row {
	var loads []string
	for _, run := range r.Runs {
		if !slices.Contains(loads, run.Load) {
			loads = append(loads, run.Load)
		}
	}
	var rows []Row
	for _, load := range loads {
		for _, m := range loadMeasures()[load] {
			row := r.row(load, m)
			if len(row.Median) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func (r *Results) row(load string, m measure) Row {
	values, bySeed := map[string][]float64{}, map[string]map[uint64]float64{}
	for _, run := range r.Runs {
		if v, ok := run.Values[m.key]; ok && run.Load == load {
			values[run.Side] = append(values[run.Side], v)
			if bySeed[run.Side] == nil {
				bySeed[run.Side] = map[uint64]float64{}
			}
			bySeed[run.Side][run.Seed] = v
		}
	}
	row := Row{
		Load: load, Key: m.key, Text: m.text, format: m.format,
		Median: map[string]float64{}, Low: map[string]float64{}, High: map[string]float64{}, Ratio: map[string]float64{},
	}
	for side, v := range values {
		row.Median[side], row.Low[side], row.High[side] = history.Median(v), slices.Min(v), slices.Max(v)
		var ratios []float64
		for seed, other := range bySeed[side] {
			if ours, both := bySeed["kerf"][seed]; both && other != 0 && side != "kerf" {
				ratios = append(ratios, ours/other)
			}
		}
		if len(ratios) > 0 {
			row.Ratio[side] = history.Median(ratios)
		}
	}
	return row
}

// Print writes the table: medians, with the lowest and the highest of several seeds behind them.
func (r *Results) Print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "LOAD\tMEASURE\tKERF\tKARPENTER\tBOUND\tKERF/KARPENTER\tKERF/BOUND")
	for _, row := range r.Rows() {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Load, row.Text, row.cell("kerf"), row.cell("karpenter"),
			row.cell(BoundSide), row.ratio("karpenter"), row.ratio(BoundSide))
	}
	return tab.Flush()
}

// PrintMarkdown writes the table for a page.
func (r *Results) PrintMarkdown(w io.Writer) error {
	_, err := fmt.Fprintln(w, "| load | | Kerf | Karpenter | bound | Kerf / Karpenter | Kerf / bound |\n|---|---|---|---|---|---|---|")
	for _, row := range r.Rows() {
		_, e := fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", row.Load, row.Text, row.cell("kerf"), row.cell("karpenter"),
			row.cell(BoundSide), row.ratio("karpenter"), row.ratio(BoundSide))
		err = errors.Join(err, e)
	}
	return err
}

func (row Row) cell(side string) string {
	v, ok := row.Median[side]
	if !ok {
		return "-"
	}
	text := fmt.Sprintf(row.format, v)
	low, high := fmt.Sprintf(row.format, row.Low[side]), fmt.Sprintf(row.format, row.High[side])
	if low == high {
		return text
	}
	return fmt.Sprintf("%s (%s–%s)", text, low, high)
}

// ratio is Kerf's figure over another's.
func (row Row) ratio(to string) string {
	ratio, ok := row.Ratio[to]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// PrintJSON writes the rows as JSON.
func (r *Results) PrintJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r.Rows())
}
