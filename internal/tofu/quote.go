package tofu

import (
	"encoding/json"
	"strings"
)

// Quote writes text as a string literal of the OpenTofu language.
func Quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // marshalling a string cannot fail
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(data))
}
