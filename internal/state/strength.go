package state

import (
	"math"
	"strings"
	"sync"

	"github.com/ccojocar/zxcvbn-go"
)

const (
	// leastBits is the minimum entropy of a passphrase by zxcvbn's estimate, which knows words,
	// names, dates, keyboard rows and repetitions. 32 random bytes exceed it in any encoding; 16 in
	// hexadecimal digits may not.
	leastBits = 100
	// looked limits the number of characters that are estimated: the cost grows with their square.
	looked = 80
)

var estimates sync.Map // by passphrase; each command asks several times

// bitsOf estimates how many bits an attacker has to guess who knows how people choose passphrases.
func bitsOf(passphrase string) float64 {
	if known, ok := estimates.Load(passphrase); ok {
		return known.(float64)
	}
	unit := period(passphrase)
	text := passphrase[:unit]
	bits := zxcvbn.PasswordStrength(text[:min(len(text), looked)], nil).Entropy
	if unit < len(passphrase) {
		bits += math.Log2(float64(len(passphrase)) / float64(unit))
	}
	estimates.Store(passphrase, bits)
	return bits
}

// period returns the length of the shortest unit that text repeats. For most texts that is their
// own length.
func period(text string) int {
	if text == "" {
		return 0
	}
	// Search for text in its own double, skipping the first character: it is found at its period.
	return strings.Index((text + text)[1:], text) + 1
}
