package playbook

import (
	"bytes"
	"strings"
	"sync"
)

// An output keeps the end of what Ansible printed besides its events, and passes each line on.
type output struct {
	each func(line string) // nil: nobody wants them

	lock    sync.Mutex
	partial []byte
	lines   []string
}

const keptLines = 60

// Write never fails. Ansible writes to both its outputs at the same time.
func (o *output) Write(p []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.partial = append(o.partial, p...)
	for {
		line, rest, ok := bytes.Cut(o.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		o.add(string(line))
		o.partial = bytes.Clone(rest)
	}
}

func (o *output) line(line []byte) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.add(string(line))
}

func (o *output) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if o.each != nil {
		o.each(line)
	}
	o.lines = append(o.lines[max(0, len(o.lines)+1-keptLines):], line)
}

// String returns what was kept.
func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	lines := o.lines
	if len(o.partial) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(o.partial))
	}
	return strings.Join(lines, "\n")
}
