package githubsim

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// listing shows everything as text, or only the issue or pull request in the path.
func (s *Server) listing(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	s.lock.Lock()
	if r.PathValue("number") == "" {
		fmt.Fprintf(&text, "A GitHub to try things on: whatever is posted here stays here.\n")
		for _, name := range slices.Sorted(maps.Keys(s.state.Repositories)) {
			fmt.Fprintf(&text, "\n%s\n%s\n", name, strings.Repeat("=", len(name)))
			for _, i := range s.state.Repositories[name].Issues {
				describe(&text, i)
			}
		}
	} else if i := s.find(r); i != nil {
		describe(&text, i)
	}
	s.lock.Unlock()
	if text.Len() == 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// A reader that has gone away needs no response.
	_, _ = io.WriteString(w, text.String())
}

// find returns the issue or pull request in the path, or nil.
func (s *Server) find(r *http.Request) *Issue {
	repository := s.state.Repositories[r.PathValue("owner")+"/"+r.PathValue("name")]
	number, err := strconv.Atoi(r.PathValue("number"))
	if repository == nil || err != nil {
		return nil
	}
	return repository.issue(number)
}

func describe(w io.Writer, i *Issue) {
	kind := "Issue"
	if i.Pull {
		kind = "Pull request"
	}
	fmt.Fprintf(w, "\n%s #%d, %s, by %s: %s\n", kind, i.Number, stateOf(i), i.Author, i.Title)
	if len(i.Labels) > 0 {
		fmt.Fprintf(w, "Labels: %s\n", strings.Join(i.Labels, ", "))
	}
	indent(w, i.Body)
	for _, c := range i.Comments {
		fmt.Fprintf(w, "\n  Comment by %s, %s:\n", c.Author, c.Updated.Format("2006-01-02 15:04:05 MST"))
		indent(w, c.Body)
	}
}

func indent(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\r\n"))
	}
}
