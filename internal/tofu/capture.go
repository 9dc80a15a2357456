package tofu

import (
	"bytes"
	"sync"
)

// A Capture keeps the first part of what a tool prints, up to 32 MiB. The tool may print to its
// two outputs at the same time. The buffer is not embedded: io.Copy would find its ReadFrom,
// go past Write, and keep everything.
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

// String is what was kept.
func (c *Capture) String() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.kept.String()
}

// Reset forgets it.
func (c *Capture) Reset() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.kept.Reset()
}
