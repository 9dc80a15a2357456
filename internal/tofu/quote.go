package tofu

import (
	"encoding/json"
	"strings"
)

// Quote writes text as a string literal of OpenTofu's language.
func Quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be marshalled
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(data))
}
