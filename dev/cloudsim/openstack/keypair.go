package openstack

import (
	"crypto/md5"
	"fmt"
	"net/http"

	"golang.org/x/crypto/ssh"
)

// A keypair is one public key, by its name.
type keypair struct {
	Name        string `json:"name"`
	PublicKey   string `json:"public_key"`
	Fingerprint string `json:"fingerprint"` // MD5, in hexadecimal pairs
	UserID      string `json:"user_id"`
}

// https://docs.openstack.org/api-ref/compute/#list-keypairs
func (c *Cloud) listKeypairs(q call) (int, any, error) {
	all, err := keypairs.where(q.tx, nil)
	list := []any{}
	for _, k := range all {
		list = append(list, map[string]any{"keypair": k})
	}
	return http.StatusOK, map[string]any{"keypairs": list}, err
}

// createKeypair imports a public key. It does not generate one, as Nova no longer does.
//
// https://docs.openstack.org/api-ref/compute/#import-or-create-keypair
func (c *Cloud) createKeypair(q call) (int, any, error) {
	var k keypair
	if err := q.read("keypair", &k); err != nil {
		return 0, nil, err
	}
	if k.Name == "" {
		return 0, nil, bad("Invalid input for field/attribute keypair.")
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k.PublicKey))
	if err != nil {
		return 0, nil, bad("Keypair data is invalid: failed to generate fingerprint")
	}
	if _, ok, err := keypairs.get(q.tx, k.Name); err != nil || ok {
		return 0, nil, conflict("", "Key pair '%s' already exists.", k.Name)
	}
	k.Fingerprint, k.UserID = "", userID
	for i, b := range md5.Sum(key.Marshal()) {
		if i > 0 {
			k.Fingerprint += ":"
		}
		k.Fingerprint += fmt.Sprintf("%02x", b)
	}
	return http.StatusOK, map[string]any{"keypair": k}, keypairs.put(q.tx, k.Name, k)
}

func (q call) keypair() (keypair, error) {
	k, ok, err := keypairs.get(q.tx, q.PathValue("name"))
	if err == nil && !ok {
		err = missing("", "Keypair %s not found for user %s", q.PathValue("name"), userID)
	}
	return k, err
}

// https://docs.openstack.org/api-ref/compute/#show-keypair-details
func (c *Cloud) showKeypair(q call) (int, any, error) {
	k, err := q.keypair()
	return http.StatusOK, map[string]any{"keypair": k}, err
}

// https://docs.openstack.org/api-ref/compute/#delete-keypair
func (c *Cloud) deleteKeypair(q call) (int, any, error) {
	k, err := q.keypair()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, nil, keypairs.remove(q.tx, k.Name)
}
