package ovh

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
)

// A record is one line of a zone. A name can have several of a type.
type record struct {
	ID                      int64
	Type, SubDomain, Target string
	TTL                     int // seconds; 0 for the zone's own
}

func (r record) view(zone string) map[string]any {
	return map[string]any{"id": r.ID, "zone": zone, "fieldType": r.Type, "subDomain": r.SubDomain, "target": r.Target, "ttl": r.TTL}
}

// recordTypes are those that the API takes; https://api.ovh.com/console/#/domain, zone.NamedResolutionFieldTypeEnum.
var recordTypes = []string{
	"A", "AAAA", "CAA", "CNAME", "DKIM", "DMARC", "DNAME", "HTTPS", "LOC", "MX", "NAPTR", "NS", "PTR", "RP", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT",
}

var subDomains = regexp.MustCompile(`^$|^(\*|[a-zA-Z0-9_-]+)(\.[a-zA-Z0-9_-]+)*$`)

// check refuses what the API would.
func (r record) check() error {
	address, err := netip.ParseAddr(r.Target)
	switch {
	case !slices.Contains(recordTypes, r.Type):
		return bad("[fieldType] Given data (%s) does not belong to the NamedResolutionFieldTypeEnum enumeration", r.Type)
	case !subDomains.MatchString(r.SubDomain):
		return bad("Invalid subdomain %q", r.SubDomain)
	case r.TTL != 0 && r.TTL < 60:
		return bad("Invalid TTL %d: it is 0, or 60 at least", r.TTL)
	case r.Target == "" || r.Type == "A" && (err != nil || !address.Is4()) || r.Type == "AAAA" && (err != nil || !address.Is6()):
		return bad("Invalid target %q for a record of type %s", r.Target, r.Type)
	}
	return nil
}

// record is the one of the zone that the path names.
func (q call) record(z *zone) (*record, error) {
	i := slices.IndexFunc(z.Records, func(r record) bool { return strconv.FormatInt(r.ID, 10) == q.PathValue("id") })
	if i < 0 {
		return nil, missing("The requested object (id = %s) does not exist", q.PathValue("id"))
	}
	return &z.Records[i], nil
}

// read takes over what the request names, and leaves the rest as it is.
func (r *record) read(q call) error {
	asked := struct {
		FieldType, SubDomain, Target string
		TTL                          int
	}{r.Type, r.SubDomain, r.Target, r.TTL}
	if err := q.read(&asked); err != nil {
		return err
	}
	if r.ID == 0 { // a record keeps its type
		r.Type = asked.FieldType
	}
	r.SubDomain, r.Target, r.TTL = asked.SubDomain, asked.Target, asked.TTL
	return r.check()
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/record~GET
func listRecords(q call) (any, error) {
	z, err := q.zone()
	ids := []int64{}
	wanted := q.URL.Query()
	for _, r := range z.Records {
		if wanted.Has("fieldType") && wanted.Get("fieldType") != r.Type || wanted.Has("subDomain") && wanted.Get("subDomain") != r.SubDomain {
			continue
		}
		ids = append(ids, r.ID)
	}
	return ids, err
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/record~POST
func createRecord(q call) (any, error) {
	z, err := q.zone()
	if err != nil {
		return nil, err
	}
	var r record
	if err := r.read(q); err != nil {
		return nil, err
	}
	z.LastID = max(z.LastID, 5_000_000_000) + 1 // as large as the real ones
	r.ID = z.LastID
	z.Records = append(z.Records, r)
	return r.view(z.Name), z.put(q)
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/record/{id}~GET
func showRecord(q call) (any, error) {
	z, err := q.zone()
	if err != nil {
		return nil, err
	}
	r, err := q.record(&z)
	if err != nil {
		return nil, err
	}
	return r.view(z.Name), nil
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/record/{id}~PUT
func updateRecord(q call) (any, error) {
	z, err := q.zone()
	if err != nil {
		return nil, err
	}
	r, err := q.record(&z)
	if err != nil {
		return nil, err
	}
	if err := r.read(q); err != nil {
		return nil, err
	}
	return nil, z.put(q)
}

// https://api.ovh.com/console/#/domain/zone/{zoneName}/record/{id}~DELETE
func deleteRecord(q call) (any, error) {
	z, err := q.zone()
	if err != nil {
		return nil, err
	}
	r, err := q.record(&z)
	if err != nil {
		return nil, err
	}
	id := r.ID
	z.Records = slices.DeleteFunc(z.Records, func(r record) bool { return r.ID == id })
	return nil, z.put(q)
}
