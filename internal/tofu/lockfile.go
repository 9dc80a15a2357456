package tofu

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsimple"
)

// LockFile is the name of the provider lock file, beside the code.
const LockFile = ".terraform.lock.hcl"

// A LockedProvider is a provider's entry in a lock file.
type LockedProvider struct {
	Version  string
	Packages map[string]bool // checksums of the packages of this version: its zh: hashes
}

// ReadLockFile returns the entries of a lock file, by provider address. An empty file has none.
func ReadLockFile(text []byte) (map[string]LockedProvider, error) {
	var file struct {
		Providers []struct {
			Address string   `hcl:"address,label"`
			Version string   `hcl:"version,optional"`
			Hashes  []string `hcl:"hashes,optional"`
			Rest    hcl.Body `hcl:",remain"`
		} `hcl:"provider,block"`
		Rest hcl.Body `hcl:",remain"`
	}
	if err := hclsimple.Decode(LockFile, text, nil, &file); err != nil {
		return nil, fmt.Errorf("read the provider lock file: %w", err)
	}
	entries := map[string]LockedProvider{}
	for _, p := range file.Providers {
		packages := map[string]bool{}
		for _, hash := range p.Hashes {
			if strings.HasPrefix(hash, "zh:") {
				packages[hash] = true
			}
		}
		entries[p.Address] = LockedProvider{Version: p.Version, Packages: packages}
	}
	return entries, nil
}
