package main

import (
	"testing"
	"testing/fstest"
)

// Whatever the kernel lets nobody read is there all the same, to be written.
func TestRead(t *testing.T) {
	files, err := read(fstest.MapFS{
		"swappiness":          {Data: []byte("60\n")},
		"keys/root_maxkeys":   {Data: []byte("1\n")},
		"keys/more/root_keys": {},
	})
	if err != nil || len(files) != 3 || string(files["swappiness"]) != "60\n" || string(files["keys/root_maxkeys"]) != "1\n" {
		t.Errorf("%v: %q", err, files)
	}
}
