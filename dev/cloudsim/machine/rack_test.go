package machine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// poll is what a machine does all the time.
func poll(t *testing.T, url, machine string) string {
	t.Helper()
	response, err := http.Get(url + Path + machine)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var s Server
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// A machine keeps its server as long as there is one, also over a restart, and no
// two machines play the same.
func TestParts(t *testing.T) {
	var all []Server
	path := filepath.Join(t.TempDir(), "machines.json")
	open := func() string {
		rack, err := NewRack(path, func() ([]Server, error) { return all, nil })
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(rack)
		t.Cleanup(server.Close)
		return server.URL
	}
	url := open()
	expect := func(machine, want string) {
		t.Helper()
		if got := poll(t, url, machine); got != want {
			t.Errorf("%s plays %q, want %q", machine, got, want)
		}
	}
	expect("one", "")
	all = []Server{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	expect("two", "a")
	expect("one", "b")
	expect("two", "a")
	url = open()
	expect("one", "b")
	expect("two", "a")
	all = all[1:]
	expect("two", "c")
	expect("one", "b")
	all = nil
	expect("one", "")
}

// The proxy leads to the machine that plays the server with that address, while the
// server runs.
func TestConnect(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	go func() {
		for {
			c, err := there.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.WriteString(c, "hello\n")
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(there.Addr().String())
	status := "ACTIVE"
	rack, err := NewRack(filepath.Join(t.TempDir(), "machines.json"), func() ([]Server, error) {
		return []Server{{ID: "a", Name: "web", Status: status, Addresses: []string{"203.0.113.2"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			rack.Connect(w, r)
			return
		}
		rack.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	// connect returns the answer's status and what comes back for a line.
	connect := func(host string) (string, string) {
		t.Helper()
		c, err := net.Dial("tcp", proxy.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "CONNECT %s:%s HTTP/1.1\r\nHost: %[1]s:%s\r\n\r\n", host, port)
		reader := bufio.NewReader(c)
		first, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(first, "200") {
			return first, ""
		}
		_, _ = reader.ReadString('\n')
		hello, _ := reader.ReadString('\n')
		_, _ = io.WriteString(c, "echo\n")
		echo, _ := reader.ReadString('\n')
		return first, hello + echo
	}
	if first, _ := connect("203.0.113.2"); !strings.Contains(first, "502") {
		t.Errorf("before there is a machine: %s", first)
	}
	poll(t, proxy.URL, "one")
	if first, text := connect("203.0.113.2"); text != "hello\necho\n" {
		t.Errorf("got %s, %q", first, text)
	}
	if first, _ := connect("203.0.113.3"); !strings.Contains(first, "502") {
		t.Errorf("another address: %s", first)
	}
	if first, _ := connect("www.example.org"); !strings.Contains(first, "502") {
		t.Errorf("a name without a zone: %s", first)
	}
	rack.Resolve = func(name string) (string, error) {
		return map[string]string{"www.example.org": "203.0.113.2"}[name], nil
	}
	if first, text := connect("www.example.org"); text != "hello\necho\n" {
		t.Errorf("a name: %s, %q", first, text)
	}
	if first, _ := connect("other.example.org"); !strings.Contains(first, "502") {
		t.Errorf("another name: %s", first)
	}
	status = "SHUTOFF"
	if first, _ := connect("203.0.113.2"); !strings.Contains(first, "502") {
		t.Errorf("a server that is off: %s", first)
	}
}
