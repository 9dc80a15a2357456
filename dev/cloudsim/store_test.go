package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// start serves data on a free port until the returned function ends it.
func start(t *testing.T, data string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, serving := make(chan error, 1), make(chan string, 1)
	go func() { done <- serve(ctx, data, "127.0.0.1:0", "", func(at, _ string) { serving <- at }) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case at := <-serving:
		return "http://" + at, stop
	case err := <-done:
		t.Fatalf("it does not serve: %v", err)
		return "", nil
	}
}

func do(t *testing.T, method, url, body string, header ...string) int {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestConditionalWrite races eight writers for each of many keys: one wins.
func TestConditionalWrite(t *testing.T) {
	url, _ := start(t, t.TempDir())
	if status := do(t, "PUT", url+"/bucket", ""); status != http.StatusOK {
		t.Fatalf("make a bucket: %d", status)
	}
	for round := range 25 {
		var won atomic.Int32
		var group sync.WaitGroup
		for writer := range 8 {
			group.Go(func() {
				status := do(t, "PUT", fmt.Sprintf("%s/bucket/key-%d", url, round), fmt.Sprint(writer), "If-None-Match", "*")
				switch status {
				case http.StatusOK:
					won.Add(1)
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("status %d", status)
				}
			})
		}
		group.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("round %d: %d of 8 writers won", round, n)
		}
	}
}

// What was stored is there after a restart, and each request left a line.
func TestDurable(t *testing.T) {
	data := t.TempDir()
	url, stop := start(t, data)
	do(t, "PUT", url+"/bucket", "")
	do(t, "PUT", url+"/bucket/key", "content")
	stop()
	url, _ = start(t, data)
	if status := do(t, "GET", url+"/bucket/key", ""); status != http.StatusOK {
		t.Errorf("after a restart: %d", status)
	}
	lines, err := os.ReadFile(filepath.Join(data, "requests.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"method":"PUT","path":"/bucket/key","status":200`, `"method":"GET","path":"/bucket/key","status":200`} {
		if strings.Count(string(lines), want) != 1 {
			t.Errorf("not one line with %s in\n%s", want, lines)
		}
	}
}
