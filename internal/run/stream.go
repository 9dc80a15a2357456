package run

import (
	"bytes"
	"io"
	"strings"

	"slipway/internal/printable"
	"slipway/internal/redact"
)

// A Stream passes on the output of a tool while the tool runs, line by line: masked, and without characters that
// control a terminal or a workflow. It is not safe for concurrent use.
type Stream struct {
	masked *redact.Writer
	lines  *lines
}

// Stream returns one that writes to w.
func (r *Run) Stream(w io.Writer) *Stream {
	l := &lines{to: w}
	return &Stream{r.Mask.Writer(l), l}
}

// Write passes on the lines that p completes, unless they may be part of a secret that is not complete.
func (s *Stream) Write(p []byte) (int, error) { return s.masked.Write(p) }

// Close passes on the rest.
func (s *Stream) Close() error {
	if err := s.masked.Flush(); err != nil {
		return err
	}
	return s.lines.flush()
}

// Last returns the last lines that were passed on, up to 20 of them.
func (s *Stream) Last() string { return strings.Join(s.lines.last, "") }

// lines passes on whole lines.
type lines struct {
	to      io.Writer
	partial []byte
	last    []string
}

const keptLines = 20

func (l *lines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	end := bytes.LastIndexByte(l.partial, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	text := string(l.partial[:end])
	l.partial = append(l.partial[:0], l.partial[end:]...)
	return len(p), l.pass(text)
}

func (l *lines) flush() error {
	text := string(l.partial)
	l.partial = nil
	return l.pass(text)
}

func (l *lines) pass(text string) error {
	text = printable.Log(text)
	for line := range strings.Lines(text) {
		l.last = append(l.last[max(0, len(l.last)+1-keptLines):], line)
	}
	_, err := io.WriteString(l.to, text)
	return err
}
