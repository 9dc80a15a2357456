package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"sync"
	"time"
)

// A request is one line of requests.log, with which a test counts what really ran.
type request struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"` // 0: the connection was closed without a response
}

// requestsPath serves the request log. It is not a valid bucket name.
const requestsPath = "/-/requests"

// logged writes a line for each request to next, when the request ends.
func logged(w *os.File, next http.Handler) http.Handler {
	var lock sync.Mutex
	return http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		if r.URL.Path == requestsPath {
			http.ServeFile(response, r, w.Name())
			return
		}
		recorder := &statusRecorder{ResponseWriter: response, status: http.StatusOK}
		answered := false
		defer func() { // also when a fault rule closes the connection with a panic
			if !answered {
				recorder.status = 0
			}
			line, err := json.Marshal(request{time.Now().UTC(), r.Method, r.URL.Path, recorder.status})
			if err == nil {
				lock.Lock()
				defer lock.Unlock()
				_, err = w.Write(append(line, '\n'))
			}
			if err != nil {
				log.Printf("error: log a request: %v", err)
			}
		}()
		next.ServeHTTP(recorder, r)
		answered = true
	})
}

// A statusRecorder records the status that a handler sets.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
