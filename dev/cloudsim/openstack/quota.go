package openstack

import (
	"net/http"
)

// A quota is how much the project may use. It survives the process.
//
// https://docs.openstack.org/api-ref/compute/#quota-sets-os-quota-sets
type quota struct {
	ID        string `json:"id"`
	Instances int    `json:"instances"`
	Cores     int    `json:"cores"`
	RAM       int    `json:"ram"` // MB
	KeyPairs  int    `json:"key_pairs"`
	Metadata  int    `json:"metadata_items"`
}

func (q call) quota() (quota, error) {
	limit, ok, err := quotas.get(q.tx, projectID)
	if !ok {
		limit = quota{ID: projectID, Instances: 20, Cores: 64, RAM: 256000, KeyPairs: 100, Metadata: 128}
	}
	return limit, err
}

// used returns the total of all servers.
func (q call) used() (instances, cores, ram int, err error) {
	all, err := servers.where(q.tx, nil)
	for _, s := range all {
		f, _ := flavorByID(s.FlavorID)
		instances, cores, ram = instances+1, cores+f.VCPUs, ram+f.RAM
	}
	return instances, cores, ram, err
}

// withinQuota refuses a server that would exceed the quota.
func withinQuota(q call, f flavor) error {
	limit, err := q.quota()
	if err != nil {
		return err
	}
	instances, cores, ram, err := q.used()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name             string
		wanted, used, of int
	}{{"instances", 1, instances, limit.Instances}, {"cores", f.VCPUs, cores, limit.Cores}, {"ram", f.RAM, ram, limit.RAM}} {
		if one.used+one.wanted > one.of {
			return forbidden("", "Quota exceeded for %s: Requested %d, but already used %d of %d %s", one.name, one.wanted, one.used, one.of, one.name)
		}
	}
	return nil
}

// https://docs.openstack.org/api-ref/compute/#show-a-quota
func (c *Cloud) showQuota(q call) (int, any, error) {
	limit, err := q.quota()
	return http.StatusOK, map[string]any{"quota_set": limit}, err
}

// updateQuota exists so that tests can hit the quota; in a real cloud only the operator may change
// it.
//
// https://docs.openstack.org/api-ref/compute/#update-quotas
func (c *Cloud) updateQuota(q call) (int, any, error) {
	limit, err := q.quota()
	if err != nil {
		return 0, nil, err
	}
	if err := q.read("quota_set", &limit); err != nil {
		return 0, nil, err
	}
	limit.ID = projectID
	return http.StatusOK, map[string]any{"quota_set": limit}, quotas.put(q.tx, projectID, limit)
}

// https://docs.openstack.org/api-ref/compute/#show-rate-and-absolute-limits
func (c *Cloud) showLimits(q call) (int, any, error) {
	limit, err := q.quota()
	if err != nil {
		return 0, nil, err
	}
	instances, cores, ram, err := q.used()
	return http.StatusOK, map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": map[string]int{
		"maxTotalInstances": limit.Instances, "maxTotalCores": limit.Cores, "maxTotalRAMSize": limit.RAM, "maxTotalKeypairs": limit.KeyPairs,
		"maxServerMeta": limit.Metadata, "totalInstancesUsed": instances, "totalCoresUsed": cores, "totalRAMUsed": ram,
	}}}, err
}
