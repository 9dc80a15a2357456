package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"slipway/dev/engine/build"
)

// rememberPins sets PINS in .env, which every `dagger call` reads, or removes it if the upstream
// images are used. Other lines stay as they are.
func (s settings) rememberPins(pins string) error {
	old, err := os.ReadFile(s.dotEnv())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var text strings.Builder
	for line := range strings.Lines(string(old)) {
		if !strings.HasPrefix(line, "PINS=") {
			text.WriteString(line)
		}
	}
	if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
		text.WriteString("\n")
	}
	if pins != "" {
		text.WriteString("PINS=" + pins + "\n")
	}
	if text.String() == string(old) {
		return nil
	}
	// .env may contain secrets.
	return build.WriteFile(s.dotEnv(), []byte(text.String()), 0o600)
}
