package cluster

import (
	"testing"

	"slipway/internal/testkit/schemas"
)

var schema = schemas.Schema{Of: &Cluster{}, File: "../../environments/cluster.schema.json", Title: FileName, Package: "./internal/cluster"}

func TestSchema(t *testing.T) { schema.Check(t, *update) }

// The schema accepts what Load accepts, and refuses what breaks a rule of form.
func TestSchemaAgrees(t *testing.T) {
	schema.Agrees(t, map[string]bool{
		"valid-least": true, "valid-full": true, "valid-even": true, "valid-from-layers": true,
		"unknown-key": false, "secret-key": false, "name": false, "talos-version": false, "kubernetes-version": false, "node-role": false, "node-name": false, "registry-without-mirrors": false,
	})
}
