package settings

import (
	"fmt"
	"strings"
)

// DidYouMean returns the beginning of a hint, or "" if no known word is close.
func DidYouMean(word string, known []string) string {
	best, least := "", 3 // two differences are a typo, three are another word
	for _, candidate := range known {
		// In a short word, two differences leave too little in common.
		if d := distance(word, candidate); d < least && 2*d < len(candidate) {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", best)
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to turn one
// word into the other.
func distance(a, b string) int {
	// The last three rows of the table: swaps look back two rows.
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replaced := above[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Enumerate joins words for a sentence: a, b and c.
func Enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
