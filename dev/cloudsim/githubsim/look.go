package githubsim

import (
	"fmt"
	"slices"
	"strings"
)

// AddIssue adds an open issue by author, a login, and returns its number. Like all methods that
// begin with Add, it is for tests and panics if the file cannot be written.
func (s *Server) AddIssue(repository, author, title, body string, labels ...string) int {
	return s.add(repository, false, author, title, body, labels)
}

// AddPull adds an open pull request and returns its number.
func (s *Server) AddPull(repository, author, title, body string, labels ...string) int {
	return s.add(repository, true, author, title, body, labels)
}

func (s *Server) add(repository string, pull bool, author, title, body string, labels []string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	i := s.issue(repository, pull, author)
	issueRequest{Title: &title, Body: &body, Labels: &labels}.apply(s.repository(repository), i)
	s.mustSave()
	return i.Number
}

// AddComment adds a comment by author, a login, to an existing issue or pull request, and returns
// its ID.
func (s *Server) AddComment(repository string, number int, author, body string) int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	i := s.repository(repository).issue(number)
	if i == nil {
		panic(fmt.Sprintf("githubsim: there is no %s#%d", repository, number))
	}
	comment := s.comment(i, author, body)
	s.mustSave()
	return comment.ID
}

// RemoveComment deletes a comment if it exists.
func (s *Server) RemoveComment(repository string, id int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if i, at := s.repository(repository).comment(id); i != nil {
		i.Comments = slices.Delete(i.Comments, at, at+1)
		s.mustSave()
	}
}

// Edit changes an existing issue or pull request, as a human would.
func (s *Server) Edit(repository string, number int, edit func(*Issue)) {
	s.lock.Lock()
	defer s.lock.Unlock()
	edit(s.repository(repository).issue(number))
	s.mustSave()
}

func (s *Server) mustSave() {
	if err := s.save(); err != nil {
		panic(fmt.Sprintf("githubsim: %v", err))
	}
}

// Issues returns the issues and pull requests of a repository, number 1 first.
func (s *Server) Issues(repository string) []Issue {
	s.lock.Lock()
	defer s.lock.Unlock()
	var list []Issue
	for _, i := range s.repository(repository).Issues {
		shown := *i
		shown.Labels, shown.Comments = slices.Clone(i.Labels), nil
		for _, c := range i.Comments {
			comment := *c
			shown.Comments = append(shown.Comments, &comment)
		}
		list = append(list, shown)
	}
	return list
}

// Comments returns the comments on an issue or pull request, oldest first.
func (s *Server) Comments(repository string, number int) []Comment {
	var list []Comment
	for _, i := range s.Issues(repository) {
		if i.Number == number {
			for _, c := range i.Comments {
				list = append(list, *c)
			}
		}
	}
	return list
}

// Labels returns the names of a repository's labels.
func (s *Server) Labels(repository string) []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.repository(repository).Labels)
}

// Requests returns the method and path of each request so far, including failed ones.
func (s *Server) Requests() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.received)
}

// Writes returns those of the Requests that may change something.
func (s *Server) Writes() []string {
	return slices.DeleteFunc(s.Requests(), func(request string) bool {
		return strings.HasPrefix(request, "GET ") || request == "POST /graphql"
	})
}
