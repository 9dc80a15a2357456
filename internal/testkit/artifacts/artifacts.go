// Package artifacts does with files what GitHub's actions for artifacts do, in the versions that the
// workflows pin: src/shared/search.ts of actions/upload-artifact v4.6.2, and
// src/download-artifact.ts of actions/download-artifact v5.0.0.
package artifacts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Store is the folder with the artifacts of a run: a folder each.
type Store string

// Upload stores the files of an artifact: all below a folder, or all that a path with * matches. What
// is before the first * is no part of their names.
func (s Store) Upload(name, path string) error {
	var steps []string
	for step := range strings.SplitSeq(path, "/") {
		if strings.Contains(step, "*") {
			break
		}
		steps = append(steps, step)
	}
	root := strings.Join(steps, "/")
	found, err := filepath.Glob(path)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("no file is " + path)
	}
	for _, file := range found {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if file == root && !info.IsDir() {
			root = filepath.Dir(file)
		}
		if err := copyAll(file, filepath.Join(string(s), name, strings.TrimPrefix(file, root))); err != nil {
			return err
		}
	}
	return nil
}

// Download writes artifacts to the folder path of a step's inputs: the one of that name, or all whose
// name matches a pattern. Each has a folder of its own there, unless they are to be merged, or unless
// there is only one.
func (s Store) Download(with map[string]string) error {
	if with["name"] != "" {
		return copyAll(filepath.Join(string(s), with["name"]), with["path"])
	}
	pattern := with["pattern"]
	if pattern == "" {
		pattern = "*"
	}
	found, err := filepath.Glob(filepath.Join(string(s), pattern))
	if err != nil {
		return err
	}
	for _, artifact := range found {
		to := with["path"]
		if with["merge-multiple"] != "true" && len(found) > 1 {
			to = filepath.Join(to, filepath.Base(artifact))
		}
		if err := copyAll(artifact, to); err != nil {
			return err
		}
	}
	return nil
}

// copyAll copies a file, or all below a folder, over files that are there.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}
