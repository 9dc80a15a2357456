//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"slipway/internal/run"
)

// A stateServer speaks OpenTofu's http protocol, with locks.
type stateServer struct {
	lock   sync.Mutex
	states map[string][]byte
	locks  map[string][]byte
	user   string
}

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if user, _, _ := r.BasicAuth(); user != s.user {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch key := r.URL.Path; r.Method {
	case http.MethodGet:
		if s.states[key] == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(s.states[key])
	case http.MethodPost:
		s.states[key] = body
	case "LOCK":
		if held := s.locks[key]; held != nil && !bytes.Equal(held, body) {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(held)
			return
		}
		s.locks[key] = body
	case "UNLOCK":
		delete(s.locks, key)
	}
}

// TestBlackBoxHTTP keeps the state on a server of OpenTofu's http protocol.
func TestBlackBoxHTTP(t *testing.T) {
	p := newProject(t, "")
	server := &stateServer{states: map[string][]byte{}, locks: map[string][]byte{}, user: "operator"}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	p.write("environments/test/main.tf", "terraform {\n  backend \"http\" {}\n}\n"+one)
	p.write("environments/test/environment.yaml", "credentials: [test]\nstate:\n  http: {address: \""+web.URL+"/states\"}\n")
	p.secret = map[string]string{"STATE_PASSPHRASE": passphrase, "TF_HTTP_USERNAME": "operator", "TF_HTTP_PASSWORD": "password-of-the-operator"}
	p.seal()

	p.run("bootstrap").must(t, run.Done).says(t, "nothing to do")
	p.run("plan").must(t, run.Changes).says(t, "1 to create")
	p.run("apply").must(t, run.Done)
	p.run("plan").must(t, run.Done).says(t, "No changes")
	p.run("state-list").must(t, run.Done).says(t, "test: terraform_data.one")
	p.run("recover").must(t, run.BadInput).says(t, "recover needs a state in S3")

	held, err := json.Marshal(map[string]string{"ID": "held-by-alice", "Who": "alice@laptop", "Operation": "OperationTypeApply"})
	if err != nil {
		t.Fatal(err)
	}
	server.lock.Lock()
	const key = "/states/test/test.tfstate"
	if state := string(server.states[key]); !strings.Contains(state, "encrypted_data") || strings.Contains(state, `"one"`) {
		t.Errorf("the server holds a state that is not sealed: %.200s", state)
	}
	server.locks[key] = held
	server.lock.Unlock()
	p.run("destroy", confirm).must(t, run.Failed).says(t, "alice@laptop")
	p.run("unlock").must(t, run.BadInput).says(t, "can only be removed by its ID", "--lock-id=")
	p.run("unlock", func(o *call) { o.add("--lock-id=held-by-alice") }).must(t, run.Done).says(t, "test: unlocked")
	p.run("destroy", confirm).must(t, run.Done)
}
