package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// counted is a product that writes a given text and counts how often.
func counted(name, input, content string, count *int) Product {
	return Product{Name: name, Inputs: []string{input}, Make: func(_ context.Context, dir string) error {
		*count++
		return os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o644)
	}}
}

// ensureAfresh is ensure as another process would call it.
func ensureAfresh(t *testing.T, s Cache, p Product) string {
	t.Helper()
	ensured.Clear()
	dir, err := s.Ensure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEnsureMakesOnce(t *testing.T) {
	s, count := Cache(t.TempDir()), 0
	p := counted("thing", "1", "content", &count)
	dir := ensureAfresh(t, s, p)
	if again := ensureAfresh(t, s, p); again != dir || count != 1 {
		t.Errorf("made %d times, in %s and %s", count, dir, again)
	}
}

func TestEnsureAtOnce(t *testing.T) {
	s, count := Cache(t.TempDir()), 0
	p := counted("thing", "at once", "content", &count)
	ensured.Clear()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := s.Ensure(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if count != 1 {
		t.Errorf("made %d times", count)
	}
}

func TestEnsureMakesDamagedAgain(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"a changed byte":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte("c0ntent"), 0o644) },
		"a changed mode":   func(dir string) error { return os.Chmod(filepath.Join(dir, "file"), 0o755) },
		"a missing file":   func(dir string) error { return os.Remove(filepath.Join(dir, "file")) },
		"a further file":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "more"), nil, 0o644) },
		"a missing tree":   os.RemoveAll,
		"a missing digest": func(dir string) error { return os.Remove(dir + ".sha256") },
		"an empty digest":  func(dir string) error { return os.WriteFile(dir+".sha256", nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			s, count := Cache(t.TempDir()), 0
			p := counted("thing", "1", "content", &count)
			if err := damage(ensureAfresh(t, s, p)); err != nil {
				t.Fatal(err)
			}
			dir := ensureAfresh(t, s, p)
			if got, _ := os.ReadFile(filepath.Join(dir, "file")); count != 2 || string(got) != "content" {
				t.Errorf("made %d times, content %q", count, got)
			}
		})
	}
}

// A product that fails, or whose making is cut off, must not count as made.
func TestEnsureKeepsNothingHalf(t *testing.T) {
	s, count := Cache(t.TempDir()), 0
	p := counted("thing", "1", "content", &count)
	broken := p
	broken.Make = func(_ context.Context, dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o644); err != nil {
			return err
		}
		return errors.New("cut off")
	}
	ensured.Clear()
	if _, err := s.Ensure(t.Context(), broken); err == nil || s.Have(p) {
		t.Fatalf("error %v, have %v", err, s.Have(p))
	}
	dir := ensureAfresh(t, s, p)
	if _, err := os.Stat(filepath.Join(dir, "half")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the broken attempt left is in the product: %v", err)
	}
}

func TestEnsureDropsOlder(t *testing.T) {
	s, count := Cache(t.TempDir()), 0
	old, neighbour := counted("thing", "1", "old", &count), counted("thing-else", "1", "other", &count)
	oldDir, neighbourDir := ensureAfresh(t, s, old), ensureAfresh(t, s, neighbour)
	ensureAfresh(t, s, counted("thing", "2", "new", &count))
	if _, err := os.Stat(oldDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the older product is still there: %v", err)
	}
	if _, err := os.Stat(neighbourDir); err != nil {
		t.Errorf("another product is gone: %v", err)
	}
}
