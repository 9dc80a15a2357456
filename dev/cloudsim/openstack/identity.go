package openstack

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"
)

// The only region, project and user.
const (
	Region    = "sim1"
	projectID = "0123456789abcdef0123456789abcdef"
	userID    = "fedcba9876543210fedcba9876543210"
)

// identity is Keystone: https://docs.openstack.org/api-ref/identity/v3/
func (c *Cloud) identity() {
	c.mux.HandleFunc("POST "+c.prefix+"/identity/v3/auth/tokens", c.issueToken)
}

// issueToken accepts any user with a password, and no user without one.
//
// https://docs.openstack.org/api-ref/identity/v3/#password-authentication-with-scoped-authorization
func (c *Cloud) issueToken(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct {
						Name     string `json:"name"`
						Password string `json:"password"`
					} `json:"user"`
				} `json:"password"`
			} `json:"identity"`
		} `json:"auth"`
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil {
		failKeystone(w, refusal{status: http.StatusBadRequest, message: "The request is not JSON."})
		return
	}
	user := request.Auth.Identity.Password.User
	if user.Name == "" || user.Password == "" {
		failKeystone(w, refusal{status: http.StatusUnauthorized, message: "The request you have made requires authentication."})
		return
	}
	token := rand.Text()
	c.mu.Lock()
	c.tokens[token] = true
	c.mu.Unlock()
	endpoint := func(kind, name, path string) map[string]any {
		return map[string]any{"type": kind, "name": name, "id": name, "endpoints": []any{map[string]any{
			"id": name + "-public", "interface": "public", "region": Region, "region_id": Region,
			"url": "http://" + r.Host + c.prefix + path,
		}}}
	}
	now := time.Now().UTC()
	w.Header().Set("X-Subject-Token", token)
	reply(w, http.StatusCreated, map[string]any{"token": map[string]any{
		"methods":    []string{"password"},
		"issued_at":  now.Format("2006-01-02T15:04:05.000000Z"),
		"expires_at": now.Add(time.Hour).Format("2006-01-02T15:04:05.000000Z"),
		"user":       map[string]any{"id": userID, "name": user.Name, "domain": map[string]string{"id": "default", "name": "Default"}},
		"project":    map[string]any{"id": projectID, "name": "slipway", "domain": map[string]string{"id": "default", "name": "Default"}},
		"roles":      []any{map[string]string{"id": "member", "name": "member"}},
		"catalog": []any{
			endpoint("identity", "keystone", "/identity/v3/"),
			endpoint("compute", "nova", "/compute/v2.1/"),
			endpoint("network", "neutron", "/network/"),
			endpoint("image", "glance", "/image/"),
		},
	}})
}
