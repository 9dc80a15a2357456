package faults

import (
	"encoding/json"
	"net/http"
)

// ServeHTTP sets rules with POST and a list of rules, deletes all with DELETE, and shows them with
// GET.
func (r *Rules) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	switch request.Method {
	case http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r.Current()) // the client may be gone
	case http.MethodPost:
		var rules []Rule
		decoder := json.NewDecoder(request.Body)
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&rules)
		if err == nil {
			err = r.Replace(rules)
		}
		if err != nil {
			http.Error(w, "faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case http.MethodDelete:
		_ = r.Replace(nil) // an empty list is always valid
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "faults: only GET, POST and DELETE are supported", http.StatusMethodNotAllowed)
	}
}
