package environment

import (
	"testing"

	"slipway/internal/testkit/schemas"
)

var schema = schemas.Schema{Of: &Environment{}, File: "../../environments/environment.schema.json", Title: "environment.yaml", Package: "./internal/environment"}

func TestSchema(t *testing.T) { schema.Check(t, *update) }

// The schema accepts what Load accepts, and refuses what breaks a rule of form.
func TestSchemaAgrees(t *testing.T) {
	schema.Agrees(t, map[string]bool{
		"valid-small": true, "valid-full": true, "valid-review": true, "review-empty": false, "valid-http": true,
		"unknown-key": false, "unknown-key-inside": false, "secret-key": false,
		"wrong-type-bool": false, "wrong-type-number": false, "wrong-type-list": false,
		"no-state": false, "two-states": false, "empty-list": false, "no-bucket": false, "no-region": false,
	})
}
