package openstack

import (
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ServersPath lists the servers, for a program that starts a container for each. It needs no token.
const ServersPath = "/-/servers"

// A Machine is a server with what a player needs to know.
type Machine struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Status    string              `json:"status"`
	Addresses map[string][]string `json:"addresses"` // by network
	Created   time.Time           `json:"created"`

	Networks map[string][]string `json:"-"` // addresses by network ID
	Public   string              `json:"-"` // public IPv4 address; empty: none
	Boots    int                 `json:"-"` // how often the API has switched it on again
}

// Machines lists the servers, oldest first. A booting server already has its addresses: the player
// needs them before anybody else.
func (c *Cloud) Machines() ([]Machine, error) {
	now := time.Now().UTC()
	if err := c.settle(now); err != nil {
		return nil, err
	}
	list := []Machine{}
	err := c.records.View(func(tx *bolt.Tx) error {
		all, err := servers.where(tx, nil)
		if err != nil {
			return err
		}
		for _, s := range all {
			m, err := call{tx: tx, now: now}.self(s)
			if err != nil {
				return err
			}
			one := Machine{ID: s.ID, Name: s.Name, Status: s.Status, Addresses: map[string][]string{}, Created: s.Created, Boots: s.Boots, Networks: map[string][]string{}}
			for _, at := range m.places {
				for _, ip := range at.port.FixedIPs {
					one.Addresses[at.network.Name] = append(one.Addresses[at.network.Name], ip.IPAddress)
					one.Networks[at.network.ID] = append(one.Networks[at.network.ID], ip.IPAddress)
				}
			}
			if address, ok := m.address(true); ok {
				one.Public, _ = address.(string)
			}
			list = append(list, one)
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b Machine) int { return a.Created.Compare(b.Created) })
	return list, err
}

// SwitchedOff records that a server has switched itself off. Nova notices that and does not switch
// it on again.
func (c *Cloud) SwitchedOff(id string) error {
	return c.records.Update(func(tx *bolt.Tx) error {
		s, ok, err := servers.get(tx, id)
		if err != nil || !ok || s.Status != "ACTIVE" || s.Task != "" {
			return err
		}
		s.Status, s.Updated = "SHUTOFF", time.Now().UTC().Truncate(time.Second)
		return servers.put(tx, s.ID, s)
	})
}
