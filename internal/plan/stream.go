package plan

import (
	"encoding/json"
	"errors"
	"io"
)

// A stream reads JSON part by part, so that no more than one resource is in memory. Numbers stay as
// they are written: as floating point, large ones would lose digits, and the mask would look for
// 1e+06.
type stream struct{ *json.Decoder }

func newStream(r io.Reader) stream {
	s := stream{json.NewDecoder(r)}
	s.UseNumber()
	return s
}

// deepest is the maximum nesting depth, which is the limit of encoding/json.
const deepest = 10_000

var errShape = errors.New("it is not JSON of the expected shape")

// object reads an object, or null. value must read the value of each key.
func (s stream) object(value func(key string) error) error {
	return s.inside('{', func() error {
		key, err := s.Token()
		if err != nil {
			return err
		}
		return value(key.(string)) // the decoder only accepts strings as keys
	})
}

// array reads an array, or null. Each call of element must read one element.
func (s stream) array(element func() error) error { return s.inside('[', element) }

func (s stream) inside(open json.Delim, each func() error) error {
	token, err := s.Token()
	if err != nil || token == nil {
		return err
	}
	if token != open {
		return errShape
	}
	for s.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = s.Token()
	return err
}

// skip skips one value. It holds all of it in memory for a moment.
func (s stream) skip() error { var nothing skipped; return s.Decode(&nothing) }

// skipped is a value that nothing is decoded of.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// end ensures that nothing follows.
func (s stream) end() error {
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return errShape
	}
	return nil
}
