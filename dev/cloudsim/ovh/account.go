package ovh

import (
	"crypto/sha1"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Secret is the application secret with which all requests are signed. Any application key and
// consumer key are accepted.
const Secret = "cloudsim-application-secret"

// account adds the endpoints for the caller's identity and the projects.
func (c *Cloud) account() {
	// https://api.ovh.com/console/#/auth/time~GET needs no signature: clients get the time for it
	// from here.
	c.mux.HandleFunc("GET "+c.prefix+"/auth/time", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, time.Now().Unix())
	})
	// https://api.ovh.com/console/#/auth/details~GET
	c.handle("GET /auth/details", func(call) (any, error) {
		return map[string]any{
			"account": "cs0000-ovh", "user": "", "method": "account", "description": "", "allowedRoutes": []any{},
			"identities": []string{"urn:v1:eu:identity:account:cs0000-ovh"}, "roles": []string{},
		}, nil
	})
	// https://api.ovh.com/console/#/cloud/project/{serviceName}~GET
	c.handle("GET /cloud/project/{service}", func(q call) (any, error) {
		return map[string]any{
			"project_id": q.PathValue("service"), "projectName": q.PathValue("service"), "description": "simulated", "status": "ok",
			"access": "full", "planCode": "project.2018", "creationDate": "2025-01-01T00:00:00+00:00", "expiration": nil, "orderId": nil,
			"manualQuota": false, "unleash": false,
		}, nil
	})
}

// signed checks the signature and its age.
//
// https://docs.ovh.com/gb/en/api/first-steps-with-ovh-api/#first-api-usage
func (q call) signed() error {
	for _, name := range []string{"X-Ovh-Application", "X-Ovh-Consumer", "X-Ovh-Timestamp", "X-Ovh-Signature"} {
		if q.Header.Get(name) == "" {
			return refusal{http.StatusForbidden, "Client::Forbidden", "You must login first: there is no " + name}
		}
	}
	stamp, err := strconv.ParseInt(q.Header.Get("X-Ovh-Timestamp"), 10, 64)
	if err != nil || q.now.Sub(time.Unix(stamp, 0)).Abs() > 5*time.Minute {
		return bad("Query out of time")
	}
	scheme := "http"
	if q.TLS != nil {
		scheme = "https"
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%s+%s+%s+%s+%s+%s",
		Secret, q.Header.Get("X-Ovh-Consumer"), q.Method, scheme+"://"+q.Host+q.RequestURI, q.body, q.Header.Get("X-Ovh-Timestamp")))
	if subtle.ConstantTimeCompare(fmt.Appendf(nil, "$1$%x", sum), []byte(q.Header.Get("X-Ovh-Signature"))) != 1 {
		return refusal{http.StatusForbidden, "Client::Forbidden", "Invalid signature"}
	}
	return nil
}
