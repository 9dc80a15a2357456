package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// A refusal is an error caused by the client. Each service writes it in its own format.
type refusal struct {
	status  int
	kind    string // Neutron's name for it
	message string
}

func (r refusal) Error() string { return r.message }

func bad(format string, values ...any) error {
	return refusal{http.StatusBadRequest, "HTTPBadRequest", fmt.Sprintf(format, values...)}
}

func missing(kind, format string, values ...any) error {
	return refusal{http.StatusNotFound, kind, fmt.Sprintf(format, values...)}
}

func conflict(kind, format string, values ...any) error {
	return refusal{http.StatusConflict, kind, fmt.Sprintf(format, values...)}
}

func forbidden(kind, format string, values ...any) error {
	return refusal{http.StatusForbidden, kind, fmt.Sprintf(format, values...)}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// https://docs.openstack.org/api-guide/compute/faults.html
func failNova(w http.ResponseWriter, r refusal) {
	kind := map[int]string{
		http.StatusBadRequest: "badRequest", http.StatusForbidden: "forbidden", http.StatusNotFound: "itemNotFound",
		http.StatusConflict: "conflictingRequest", http.StatusNotAcceptable: "notAcceptable",
	}[r.status]
	if kind == "" {
		kind = "computeFault"
	}
	reply(w, r.status, map[string]any{kind: map[string]any{"code": r.status, "message": r.message}})
}

// https://docs.openstack.org/api-ref/network/v2/#faults
func failNeutron(w http.ResponseWriter, r refusal) {
	reply(w, r.status, map[string]any{"NeutronError": map[string]string{"type": r.kind, "message": r.message, "detail": ""}})
}

// Glance returns faults as HTML: https://docs.openstack.org/api-ref/image/v2/
func failGlance(w http.ResponseWriter, r refusal) {
	title := fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(r.status)
	fmt.Fprintf(w, "<html><head><title>%s</title></head><body><h1>%s</h1>%s</body></html>\n", title, title, r.message)
}

// https://docs.openstack.org/api-ref/identity/v3/#identity-api-operations
func failKeystone(w http.ResponseWriter, r refusal) {
	reply(w, r.status, map[string]any{"error": map[string]any{"code": r.status, "title": http.StatusText(r.status), "message": r.message}})
}
