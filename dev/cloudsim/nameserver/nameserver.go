// Package nameserver is the DNS server of the simulated cloud: it answers for what exists only
// there, and forwards all other questions.
package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

// A Record is one of a zone.
type Record struct {
	Name   string // complete, without the final dot
	Type   string // such as A
	Target string // in the format of a zone file
}

// A Server answers questions about the simulated cloud.
type Server struct {
	// Zones returns the zones of which we are the name servers, and their published records.
	Zones func() (zones []string, records []Record, err error)
	// Hosts returns the addresses of names in no zone. One that is empty is not known yet.
	Hosts func() (map[string]string, error)
	// Player returns the address of the machine that plays the server with an address; "": no
	// server has it.
	Player func(address string) (string, error)
	// Resolvers answer all other questions. Examples: 10.87.0.1:53
	Resolvers []string
}

// ttl is short, because a machine gets another address each time it starts.
const ttl = 1

// Resolvers returns those of the container that we run in.
func Resolvers(path string) ([]string, error) {
	config, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, server := range config.Servers {
		list = append(list, net.JoinHostPort(server, config.Port))
	}
	return list, nil
}

// Start answers on address, by UDP and TCP, until ctx ends, and returns the address: with port 0, the system
// chooses a port. It tells failed what goes wrong later.
func (s *Server) Start(ctx context.Context, address string, failed func(error)) (string, error) {
	packets, streams, err := listen(ctx, address)
	if err != nil {
		return "", err
	}
	for _, one := range []*dns.Server{{PacketConn: packets, Handler: s}, {Listener: streams, Handler: s}} {
		go func() {
			if err := one.ActivateAndServe(); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}()
	}
	context.AfterFunc(ctx, func() {
		packets.Close()
		streams.Close()
	})
	return packets.LocalAddr().String(), nil
}

// listen takes the same port of UDP and TCP.
func listen(ctx context.Context, address string) (packets net.PacketConn, streams net.Listener, err error) {
	for { // with port 0, until a port of UDP is also free for TCP
		if packets, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp", address); err != nil {
			return nil, nil, err
		}
		if streams, err = (&net.ListenConfig{}).Listen(ctx, "tcp", packets.LocalAddr().String()); err == nil {
			return packets, streams, nil
		}
		packets.Close()
		if _, port, _ := net.SplitHostPort(address); port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
	}
}

// ServeDNS answers one question.
func (s *Server) ServeDNS(w dns.ResponseWriter, request *dns.Msg) {
	answer, err := s.answer(request, w.RemoteAddr().Network())
	if err != nil {
		log.Printf("error: dns: %v", err)
		answer = new(dns.Msg)
		answer.SetRcode(request, dns.RcodeServerFailure)
	}
	if w.RemoteAddr().Network() == "udp" {
		size := dns.MinMsgSize
		if edns := request.IsEdns0(); edns != nil {
			size = max(size, int(edns.UDPSize()))
		}
		answer.Truncate(size)
	}
	_ = w.WriteMsg(answer) // the client may be gone
}

// answer is our own answer, or that of a resolver.
func (s *Server) answer(request *dns.Msg, network string) (*dns.Msg, error) {
	if len(request.Question) != 1 || request.Opcode != dns.OpcodeQuery {
		answer := new(dns.Msg)
		return answer.SetRcode(request, dns.RcodeNotImplemented), nil
	}
	question := request.Question[0]
	own, known, exists, err := s.lookUp(question.Name, question.Qtype)
	if err != nil {
		return nil, err
	}
	if !known {
		return s.forward(request, network)
	}
	answer := new(dns.Msg)
	answer.SetReply(request)
	answer.Authoritative, answer.RecursionAvailable, answer.Answer = true, true, own
	if !exists {
		answer.Rcode = dns.RcodeNameError
	}
	// A client that asks for an address wants the one of the name that an alias leads to.
	if n := len(own); n > 0 && question.Qtype != dns.TypeCNAME {
		if alias, ok := own[n-1].(*dns.CNAME); ok {
			further := request.Copy()
			further.Question[0].Name = alias.Target
			if rest, err := s.forward(further, network); err == nil {
				answer.Answer, answer.Rcode = append(answer.Answer, rest.Answer...), rest.Rcode
			}
		}
	}
	return answer, nil
}

// lookUp returns the records of a name and whether the name is ours and exists. It follows aliases
// as long as they lead to names of ours.
func (s *Server) lookUp(name string, kind uint16) (found []dns.RR, known, exists bool, err error) {
	zones, records, err := s.Zones()
	if err != nil {
		return nil, false, false, err
	}
	hosts, err := s.Hosts()
	if err != nil {
		return nil, false, false, err
	}
	for range 8 { // a chain of aliases may be a circle
		plain := strings.ToLower(strings.TrimSuffix(name, "."))
		if address, ok := hosts[plain]; ok {
			if address == "" {
				return nil, true, true, fmt.Errorf("nobody plays %s yet", plain)
			}
			if kind == dns.TypeA {
				found = append(found, addressRecord(name, address))
			}
			return found, true, true, nil
		}
		ours := slices.ContainsFunc(zones, func(z string) bool { return plain == z || strings.HasSuffix(plain, "."+z) })
		if !ours {
			return found, len(found) > 0, len(found) > 0, nil
		}
		own, alias, exists, err := s.inZone(plain, name, kind, records)
		exists = exists || slices.Contains(zones, plain)
		found = append(found, own...)
		if err != nil || alias == "" {
			return found, true, exists, err
		}
		name = alias
	}
	return found, true, true, nil
}

// inZone returns the records of one name, and where an alias leads.
func (s *Server) inZone(plain, name string, kind uint16, records []Record) (found []dns.RR, alias string, exists bool, err error) {
	for _, r := range records {
		own := strings.ToLower(r.Name)
		exists = exists || own == plain || strings.HasSuffix(own, "."+plain)
		if own != plain || r.Type != dns.TypeToString[kind] && r.Type != "CNAME" {
			continue
		}
		target := r.Target
		if r.Type == "A" || r.Type == "AAAA" {
			player, err := s.Player(target)
			if err != nil {
				return nil, "", true, err
			}
			if player != "" && r.Type == "AAAA" {
				continue // machines have no such address
			}
			if player != "" {
				target = player
			}
		}
		record, err := parse(name, r.Type, target)
		if err != nil {
			return nil, "", true, err
		}
		found = append(found, record)
		if cname, ok := record.(*dns.CNAME); ok && kind != dns.TypeCNAME {
			return found, cname.Target, true, nil
		}
	}
	return found, "", exists, nil
}

// parse reads a record's target as a zone file has it. Names in a target end with a dot, or are
// complete all the same.
func parse(name, kind, target string) (dns.RR, error) {
	if kind == "TXT" && !strings.HasPrefix(target, `"`) {
		target = `"` + target + `"`
	}
	if kind == "CNAME" {
		target = dns.Fqdn(target)
	}
	record, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", name, ttl, kind, target))
	if err != nil {
		return nil, fmt.Errorf("the %s record of %s: %w", kind, name, err)
	}
	return record, nil
}

func addressRecord(name, address string) dns.RR {
	return &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}, A: net.IP(netip.MustParseAddr(address).AsSlice())}
}

// forward asks the resolvers, one after another.
func (s *Server) forward(request *dns.Msg, network string) (*dns.Msg, error) {
	last := fmt.Errorf("there is no resolver for %s", request.Question[0].Name)
	for _, resolver := range s.Resolvers {
		client := &dns.Client{Net: network, Timeout: 5 * time.Second}
		answer, _, err := client.Exchange(request, resolver)
		if err == nil && answer.Truncated && network == "udp" {
			return answer, nil // the client asks again by TCP
		}
		if err == nil {
			return answer, nil
		}
		last = err
	}
	return nil, last
}
