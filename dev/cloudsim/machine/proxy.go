package machine

import (
	"io"
	"net/http"
)

// Connect is an HTTP proxy to the servers: their addresses only exist in the simulated cloud.
//
// https://www.rfc-editor.org/rfc/rfc9110#CONNECT
func (r *Rack) Connect(w http.ResponseWriter, request *http.Request) {
	there, err := r.Dial(request.Context(), request.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	copyTo := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go copyTo(there, buffered)
	go copyTo(here, there)
	<-done // when one direction ends, both end
}
