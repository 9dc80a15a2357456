package openstack

import (
	"crypto/md5"
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/crypto/ssh"
)

// compute is Nova: https://docs.openstack.org/api-ref/compute/
func (c *Cloud) compute() {
	c.handle("GET /compute/v2.1/os-keypairs", c.listKeypairs)
	c.handle("POST /compute/v2.1/os-keypairs", c.createKeypair)
	c.handle("GET /compute/v2.1/os-keypairs/{name}", c.showKeypair)
	c.handle("DELETE /compute/v2.1/os-keypairs/{name}", c.deleteKeypair)
}

// A keypair is one public key, by its name.
type keypair struct {
	Name        string `json:"name"`
	PublicKey   string `json:"public_key"`
	Fingerprint string `json:"fingerprint"` // MD5, in hexadecimal pairs
	UserID      string `json:"user_id"`
}

const keypairKind = "keypairs"

// https://docs.openstack.org/api-ref/compute/#list-keypairs
func (c *Cloud) listKeypairs(w http.ResponseWriter, _ *http.Request) {
	all, err := c.list(keypairKind)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := []any{}
	for _, k := range all {
		list = append(list, map[string]any{"keypair": k})
	}
	reply(w, http.StatusOK, map[string]any{"keypairs": list})
}

// createKeypair imports a public key. It makes none, as Nova no longer does.
//
// https://docs.openstack.org/api-ref/compute/#import-or-create-keypair
func (c *Cloud) createKeypair(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Keypair keypair `json:"keypair"`
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.Keypair.Name == "" {
		fail(w, http.StatusBadRequest, "Invalid input for field/attribute keypair.")
		return
	}
	k := request.Keypair
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k.PublicKey))
	if err != nil {
		fail(w, http.StatusBadRequest, "Keypair data is invalid: failed to generate fingerprint")
		return
	}
	if ok, err := c.get(keypairKind, k.Name, &keypair{}); err != nil || ok {
		fail(w, http.StatusConflict, fmt.Sprintf("Key pair '%s' already exists.", k.Name))
		return
	}
	sum := md5.Sum(key.Marshal())
	for i, b := range sum {
		if i > 0 {
			k.Fingerprint += ":"
		}
		k.Fingerprint += fmt.Sprintf("%02x", b)
	}
	k.UserID = userID
	if err := c.put(keypairKind, k.Name, k); err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	reply(w, http.StatusOK, map[string]any{"keypair": k})
}

// https://docs.openstack.org/api-ref/compute/#show-keypair-details
func (c *Cloud) showKeypair(w http.ResponseWriter, r *http.Request) {
	var k keypair
	ok, err := c.get(keypairKind, r.PathValue("name"), &k)
	if err != nil || !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("Keypair %s not found for user %s", r.PathValue("name"), userID))
		return
	}
	reply(w, http.StatusOK, map[string]any{"keypair": k})
}

// https://docs.openstack.org/api-ref/compute/#delete-keypair
func (c *Cloud) deleteKeypair(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	ok, err := c.get(keypairKind, name, &keypair{})
	if err == nil && ok {
		err = c.remove(keypairKind, name)
	}
	if err != nil || !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("Keypair %s not found for user %s", name, userID))
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
