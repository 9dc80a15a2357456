package openstack

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// A kind of record has a bucket of that name, in which each record is stored as JSON under its ID.
type kind[T any] string

const (
	keypairs       kind[keypair]       = "keypairs"
	servers        kind[server]        = "servers"
	networks       kind[network]       = "networks"
	subnets        kind[subnet]        = "subnets"
	ports          kind[port]          = "ports"
	securityGroups kind[securityGroup] = "security-groups"
	rules          kind[rule]          = "security-group-rules"
	routers        kind[router]        = "routers"
	floatingIPs    kind[floatingIP]    = "floatingips"
	quotas         kind[quota]         = "quotas"
)

// furnish creates what every new cloud contains.
func furnish(tx *bolt.Tx) error {
	for _, name := range []string{
		string(keypairs), string(servers), string(networks), string(subnets), string(ports), string(securityGroups),
		string(rules), string(routers), string(floatingIPs), string(quotas),
	} {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	if err := furnishNetwork(tx); err != nil {
		return err
	}
	return furnishSecurityGroup(tx)
}

func (k kind[T]) put(tx *bolt.Tx, id string, record T) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(k)).Put([]byte(id), data)
}

// get reads a record; ok is false if there is none.
func (k kind[T]) get(tx *bolt.Tx, id string) (record T, ok bool, err error) {
	data := tx.Bucket([]byte(k)).Get([]byte(id))
	if data == nil {
		return record, false, nil
	}
	return record, true, json.Unmarshal(data, &record)
}

func (k kind[T]) remove(tx *bolt.Tx, id string) error {
	return tx.Bucket([]byte(k)).Delete([]byte(id))
}

// where returns the records for which want is true, or all if want is nil, sorted by ID.
func (k kind[T]) where(tx *bolt.Tx, want func(T) bool) ([]T, error) {
	found := []T{}
	err := tx.Bucket([]byte(k)).ForEach(func(_, data []byte) error {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return err
		}
		if want == nil || want(record) {
			found = append(found, record)
		}
		return nil
	})
	return found, err
}

// newID returns a version 4 UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
