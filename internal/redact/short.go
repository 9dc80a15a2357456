package redact

// shorts are values that are too short to be searched in any other spelling.
type shorts struct {
	values   map[[shortestPlain]byte][]shortValue // by their first bytes
	first    [1 << 10]uint64                      // the first two bytes of the values
	prefixes map[string]bool                      // proper prefixes of values
	known    map[string]bool
	longest  int
}

type shortValue struct {
	text  string
	owner int32
}

func newShorts() shorts {
	return shorts{values: map[[shortestPlain]byte][]shortValue{}, prefixes: map[string]bool{}, known: map[string]bool{}}
}

func (s *shorts) add(text string, owner int32) {
	if s.known[text] {
		return
	}
	s.known[text] = true
	key := [shortestPlain]byte([]byte(text))
	s.values[key] = append(s.values[key], shortValue{text, owner})
	set(s.first[:], uint64(text[0])<<8|uint64(text[1]))
	for n := 1; n < len(text); n++ {
		s.prefixes[text[:n]] = true
	}
	s.longest = max(s.longest, len(text))
}

// find calls each for every value in text.
func (s *shorts) find(text []byte, each func(begin int, v shortValue)) {
	for i := 0; i+shortestPlain <= len(text); i++ {
		if !has(s.first[:], uint64(text[i])<<8|uint64(text[i+1])) {
			continue
		}
		for _, v := range s.values[[shortestPlain]byte(text[i:])] {
			if len(text)-i >= len(v.text) && string(text[i:i+len(v.text)]) == v.text {
				each(i, v)
			}
		}
	}
}

// hold returns where the end of text is the beginning of a value.
func (s *shorts) hold(text []byte) int {
	most := min(s.longest-1, len(text))
	for less := range most {
		at := len(text) - most + less
		if s.prefixes[string(text[at:])] {
			return at
		}
	}
	return len(text)
}
