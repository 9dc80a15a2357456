//go:build blackbox

package inspect

import (
	"testing"

	"slipway/internal/must"
	"slipway/internal/testkit"
)

// The list has every address, and says so where there is none.
func TestBlackBoxListState(t *testing.T) {
	t.Parallel()
	d := testkit.NewShop(t, "resource \"terraform_data\" \"one\" {}\nresource \"terraform_data\" \"two\" {}\n")
	must.Do(t, listState(t.Context(), d.Layer))
	d.Says("test: nothing\n")
	d.Apply()
	must.Do(t, listState(t.Context(), d.Layer))
	d.Says("test: terraform_data.one\ntest: terraform_data.two\n")
	d.File("terraform.tfstate", "{")
	must.Fail(t, listState(t.Context(), d.Layer), "tofu state list of test failed")
}
