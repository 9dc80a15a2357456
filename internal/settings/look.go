package settings

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/printable"
)

// Look returns the mode of what is at the path, without following symbolic links on the way: a link
// could make prod mean test, or leave the repository. If it meets a link, it returns that. Links
// are only visible in an fs.ReadLinkFS, such as those of os.DirFS and os.Root.
func Look(fsys fs.FS, name string) (found string, mode fs.FileMode, err error) {
	for part := range strings.SplitSeq(name, "/") {
		found = path.Join(found, part)
		info, err := fs.Lstat(fsys, found)
		if err != nil {
			return found, 0, err
		}
		mode = info.Mode()
		if mode&fs.ModeSymlink != 0 {
			return found, mode, nil
		}
		if !mode.IsDir() && found != name {
			return found, 0, fs.ErrNotExist
		}
	}
	return found, mode, nil
}

// Find is Look for a value of the file. It refuses a link. The mode is zero if nothing is there.
func (s *Source) Find(fsys fs.FS, at, name string) (fs.FileMode, bool, error) {
	found, mode, err := Look(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if mode&fs.ModeSymlink != 0 {
		return 0, false, s.Refuse(at, ReplaceLink(found), "%s is a symbolic link", found)
	}
	return mode, true, nil
}

// ReplaceLink returns the commands that replace a link by a copy.
func ReplaceLink(name string) string {
	link, target := printable.Word(name), printable.Word(name+".copy")
	return "replace it with a copy: cp -RL " + link + " " + target + " && rm " + link + " && mv " + target + " " + link
}

// Read decodes the file into the struct, if it is there. It refuses a link, and what is not a file.
func (s *Source) Read(repository fs.FS, into any) (there bool, err error) {
	mode, there, err := s.Find(repository, "", s.Path)
	if err != nil || !there {
		return false, err
	}
	if !mode.IsRegular() {
		return true, fault.Refuse("ls -l "+printable.Word(s.Path), "%s is not a file", s.Path)
	}
	data, err := fs.ReadFile(repository, s.Path)
	if err != nil {
		return true, err
	}
	return true, s.Decode(data, into)
}
