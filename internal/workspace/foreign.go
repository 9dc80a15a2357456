package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"slipway/internal/environment"
	"slipway/internal/foreign"
	"slipway/internal/run"
)

// RefuseForeign refuses a root module whose code would run something that its environment does not
// allow. dir is relative to the repository's root. It is called before any tool starts.
func RefuseForeign(r *run.Run, e *environment.Environment, dir string) error {
	findings, err := foreign.Find(os.DirFS(r.Path("repository")), dir)
	if err != nil {
		return err
	}
	return foreign.Judge(findings, e)
}

// RefuseFetched does the same for the modules that init has fetched for a root module. data is the
// folder where tofu stores them.
func RefuseFetched(r *run.Run, e *environment.Environment, dir, data string) error {
	list, err := Folder(r).Read(filepath.Join(Inside(r, data), "modules", "modules.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the root calls no modules
	}
	if err != nil {
		return err
	}
	var manifest struct {
		Modules []struct{ Key, Dir string }
	}
	if err := json.Unmarshal(list, &manifest); err != nil {
		return fmt.Errorf("read the list of modules that tofu fetched: %w", err)
	}
	work, err := os.OpenRoot(r.Work)
	if err != nil {
		return err
	}
	defer work.Close()
	var findings []foreign.Finding
	for _, module := range manifest.Modules {
		at := module.Dir
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		name := filepath.ToSlash(Inside(r, at))
		found, _, err := foreign.Folder(work.FS(), name)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
	}
	return foreign.Judge(slices.Compact(findings), e)
}
