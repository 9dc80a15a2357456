package state

import (
	"math"
	"strings"
	"sync"

	"github.com/ccojocar/zxcvbn-go"
)

const (
	// leastBits is what a passphrase has to hold by zxcvbn's estimate, which knows
	// words, names, dates, rows of keys and repetitions: 32 random bytes have more in any
	// spelling, and 16 in hexadecimal digits may have less.
	leastBits = 100
	// looked is how many characters are estimated: the estimate takes the square of them.
	looked = 80
)

var estimates sync.Map // by passphrase: each command asks several times

// bitsOf estimates how many bits somebody has to guess who knows how people make
// passphrases.
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

// period is the length of what a text is a repetition of: its own, mostly.
func period(text string) int {
	if text == "" {
		return 0
	}
	// A text is found in its own double, less the first character, at its period.
	return strings.Index((text + text)[1:], text) + 1
}
