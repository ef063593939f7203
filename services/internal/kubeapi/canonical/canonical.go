// Package canonical gives API objects hashes that don't depend on how an object
// was written: the order of keys and list items, empty values and white space
// don't count.
//
// It must not know what is hashed. Start reading at Sum, which is all there is.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// length of a sum in hexadecimal digits: 64 bits are plenty to tell the few
// hundred versions of one object apart, and fit a label.
const length = 16

// Sum hashes v's JSON form. Lists count as sets. Absent values, null and empty
// lists and objects count as the same; "", false and 0 count as values, because a
// field that can be absent means something else by them. The result is
// stable over releases; a change of these rules needs a new version beside the
// stored sums.
func Sum(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("hash %T: %w", v, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return "", fmt.Errorf("hash %T: %w", v, err)
	}
	text, err := json.Marshal(normalize(tree))
	if err != nil {
		return "", fmt.Errorf("hash %T: %w", v, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:length], nil
}

// normalize drops what is empty and sorts lists; nil means that nothing is left.
// Objects need no sorting, because encoding/json writes their keys in order.
func normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return normalizeObject(v)
	case []any:
		return normalizeList(v)
	default:
		return v
	}
}

func normalizeObject(v map[string]any) any {
	kept := make(map[string]any, len(v))
	for key, value := range v {
		if value = normalize(value); value != nil {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

func normalizeList(v []any) any {
	items := make([]json.RawMessage, 0, len(v))
	for _, item := range v {
		text, err := json.Marshal(normalize(item))
		if err != nil { // values that came from JSON always go back to JSON
			continue
		}
		items = append(items, text)
	}
	if len(items) == 0 {
		return nil
	}
	slices.SortFunc(items, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return items
}
