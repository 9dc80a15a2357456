package ovh

import bolt "go.etcd.io/bbolt"

// A Record is one that the name servers of Zone answer with.
type Record struct{ SubDomain, Type, Target string }

// Published lists the records of Zone as they were at its last refresh.
func (c *Cloud) Published() (list []Record, err error) {
	err = c.records.View(func(tx *bolt.Tx) error {
		z, err := zoneNamed(tx, Zone)
		for _, r := range z.Published {
			list = append(list, Record{r.SubDomain, r.Type, r.Target})
		}
		return err
	})
	return list, err
}
