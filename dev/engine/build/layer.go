package build

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A tarLayer is an image layer that is stored uncompressed: it is only read over loopback, where
// compression gains nothing, and its digest does not depend on a compressor's version.
type tarLayer struct {
	path   string
	digest v1.Hash
	size   int64
}

// openLayer reads the archive at path once, to compute its digest.
func openLayer(path string) (*tarLayer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	digest, size, err := v1.SHA256(f)
	return &tarLayer{path, digest, size}, err
}

func (l *tarLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *tarLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l *tarLayer) Size() (int64, error)                 { return l.size, nil }
func (l *tarLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *tarLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *tarLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

// A Placement puts a file or a whole folder of the host into a layer.
type Placement struct {
	From, To   string
	Executable func(name string) bool // whether a file is executable, by its path below from
}

// Always is for files that are programs, never for those that are not.
func Always(string) bool { return true }
func Never(string) bool  { return false }

// WriteLayer archives the placements at path: owned by root, with fixed times and modes, in lexical
// order.
func WriteLayer(path string, placements ...Placement) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, p := range placements {
		if err := p.write(w); err != nil {
			return fmt.Errorf("archive %s: %w", p.From, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

func (p Placement) write(w *tar.Writer) error {
	return filepath.WalkDir(p.From, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.From, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name:    path.Join(p.To, filepath.ToSlash(name))[1:],
			Mode:    0o644,
			ModTime: time.Unix(sourceDateEpoch, 0),
			Format:  tar.FormatPAX,
		}
		switch {
		case d.IsDir() && header.Name == "":
			return nil // the root itself
		case d.IsDir():
			header.Typeflag, header.Name, header.Mode = tar.TypeDir, header.Name+"/", 0o755
			return w.WriteHeader(header)
		case info.Mode().IsRegular():
			header.Typeflag, header.Size = tar.TypeReg, info.Size()
			if p.Executable(name) {
				header.Mode = 0o755
			}
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			return CopyFile(w, file)
		default:
			return fmt.Errorf("%s is neither a file nor a folder", file)
		}
	})
}
