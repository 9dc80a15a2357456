package tofu

import (
	"bytes"
	"sync"
)

// A Capture keeps the first part of a tool's output, up to 32 MiB. The tool may write to both its
// outputs at the same time. The buffer is not embedded: io.Copy would find its ReadFrom, bypass
// Write, and keep everything.
type Capture struct {
	lock sync.Mutex
	kept bytes.Buffer
}

const maxCapture = 32 << 20 // bytes

// Write never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.kept.Write(p[:min(maxCapture-c.kept.Len(), len(p))])
	return len(p), nil
}

// String returns what was kept.
func (c *Capture) String() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.kept.String()
}

// Reset discards what was kept.
func (c *Capture) Reset() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.kept.Reset()
}
