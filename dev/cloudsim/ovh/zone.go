package ovh

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// zones is the bucket of the DNS zones: one for each, under its name, with its records.
var zones = []byte("zones")

// Zone is the one that the account has. A zone comes with a domain, not by the API.
const Zone = "example.org"

// A zone has the records that the API changes, and those that its name servers answer with:
// the records as they were at the last refresh.
type zone struct {
	Name       string
	LastUpdate time.Time
	LastID     int64
	Records    []record
	Published  []record
}

func (c *Cloud) dns() {
	c.handle("GET /domain/zone", func(call) (any, error) { return []string{Zone}, nil })
	c.handle("GET /domain/zone/{zone}", showZone)
	c.handle("POST /domain/zone/{zone}/refresh", refreshZone)
	c.handle("GET /domain/zone/{zone}/record", listRecords)
	c.handle("POST /domain/zone/{zone}/record", createRecord)
	c.handle("GET /domain/zone/{zone}/record/{id}", showRecord)
	c.handle("PUT /domain/zone/{zone}/record/{id}", updateRecord)
	c.handle("DELETE /domain/zone/{zone}/record/{id}", deleteRecord)
	// Not of the API: what the name servers of the zone answer.
	c.mux.HandleFunc("GET "+c.prefix+"/nameserver/{zone}", func(w http.ResponseWriter, r *http.Request) {
		answers := []map[string]any{}
		err := c.records.View(func(tx *bolt.Tx) error {
			z, err := zoneNamed(tx, r.PathValue("zone"))
			for _, one := range z.Published {
				answers = append(answers, one.view(z.Name))
			}
			return err
		})
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, http.StatusOK, answers)
	})
}

// zone is the one that the path names.
func (q call) zone() (zone, error) { return zoneNamed(q.tx, q.PathValue("zone")) }

func zoneNamed(tx *bolt.Tx, name string) (z zone, err error) {
	if name != Zone {
		return z, missing("This service does not exist")
	}
	z.Name = name
	if data := tx.Bucket(zones).Get([]byte(name)); data != nil {
		err = json.Unmarshal(data, &z)
	}
	return z, err
}

func (z zone) put(q call) error {
	z.LastUpdate = q.now
	data, err := json.Marshal(z)
	if err != nil {
		return err
	}
	return q.tx.Bucket(zones).Put([]byte(z.Name), data)
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}~GET
func showZone(q call) (any, error) {
	z, err := q.zone()
	return map[string]any{
		"name": z.Name, "lastUpdate": z.LastUpdate, "nameServers": []string{"dns200.anycast.me", "ns200.anycast.me"},
		"hasDnsAnycast": false, "dnssecSupported": true,
	}, err
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/refresh~POST
func refreshZone(q call) (any, error) {
	z, err := q.zone()
	if err != nil {
		return nil, err
	}
	z.Published = slices.Clone(z.Records)
	return nil, z.put(q)
}
