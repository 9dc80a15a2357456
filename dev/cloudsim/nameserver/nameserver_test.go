package nameserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// serve answers on loopback and returns the address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	address, err := s.Start(ctx, "127.0.0.1:0", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// ask returns the answer in a line: the code, then each record as "name type value".
func ask(t *testing.T, address, network, name, kind string) string {
	t.Helper()
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(name), dns.StringToType[kind])
	answer, _, err := (&dns.Client{Net: network, Timeout: 5 * time.Second}).Exchange(question, address)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{dns.RcodeToString[answer.Rcode]}
	for _, record := range answer.Answer {
		fields := strings.Fields(record.String())
		words = append(words, fields[0], fields[3], strings.Join(fields[4:], " "))
	}
	return strings.Join(words, " ")
}

// upstream is a resolver of the world outside.
func upstream(t *testing.T) string {
	t.Helper()
	packets, streams, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(request)
		if name := request.Question[0].Name; name == "www.example.net." && request.Question[0].Qtype == dns.TypeA {
			answer.Answer = append(answer.Answer, addressRecord(name, "198.51.100.1"))
		} else {
			answer.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(answer)
	})
	for _, one := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: streams, Handler: handler}} {
		go func() { _ = one.ActivateAndServe() }()
		t.Cleanup(func() { _ = one.Shutdown() })
	}
	return packets.LocalAddr().String()
}

func TestAnswers(t *testing.T) {
	records := []Record{
		{"local.example.org", "A", "203.0.113.2"}, {"local.example.org", "AAAA", "2001:db8::2"},
		{"Other.example.org", "A", "192.0.2.9"}, {"other.example.org", "AAAA", "2001:db8::9"},
		{"www.example.org", "CNAME", "local.example.org."}, {"away.example.org", "CNAME", "www.example.net"},
		{"circle.example.org", "CNAME", "circle.example.org."},
		{"local.example.org", "TXT", "v=spf1 -all"}, {"example.org", "MX", "10 mail.example.org."},
		{"a.b.example.org", "A", "192.0.2.10"},
	}
	address := serve(t, &Server{
		Zones: func() ([]string, []Record, error) { return []string{"example.org"}, records, nil },
		Hosts: func() (map[string]string, error) {
			return map[string]string{"acme.cloudsim.test": "10.87.0.7", "pg.database.sim.invalid": ""}, nil
		},
		Player: func(address string) (string, error) {
			if address == "203.0.113.2" || address == "2001:db8::2" {
				return "10.87.0.5", nil
			}
			return "", nil
		},
		Resolvers: []string{upstream(t)},
	})
	for _, c := range []struct{ name, kind, want string }{
		{"acme.cloudsim.test", "A", "NOERROR acme.cloudsim.test. A 10.87.0.7"},
		{"ACME.cloudsim.test", "A", "NOERROR ACME.cloudsim.test. A 10.87.0.7"},
		{"acme.cloudsim.test", "AAAA", "NOERROR"},
		{"pg.database.sim.invalid", "A", "SERVFAIL"}, // nobody plays it yet
		{"local.example.org", "A", "NOERROR local.example.org. A 10.87.0.5"},
		{"local.example.org", "AAAA", "NOERROR"},
		{"local.example.org", "CAA", "NOERROR"},
		{"local.example.org", "TXT", `NOERROR local.example.org. TXT "v=spf1 -all"`},
		{"other.example.org", "A", "NOERROR other.example.org. A 192.0.2.9"},
		{"other.example.org", "AAAA", "NOERROR other.example.org. AAAA 2001:db8::9"},
		{"www.example.org", "A", "NOERROR www.example.org. CNAME local.example.org. local.example.org. A 10.87.0.5"},
		{"www.example.org", "CNAME", "NOERROR www.example.org. CNAME local.example.org."},
		{"away.example.org", "A", "NOERROR away.example.org. CNAME www.example.net. www.example.net. A 198.51.100.1"},
		{"example.org", "MX", "NOERROR example.org. MX 10 mail.example.org."},
		{"example.org", "A", "NOERROR"},
		{"b.example.org", "A", "NOERROR"}, // it has no records, but a name below it has
		{"none.example.org", "A", "NXDOMAIN"},
		{"www.example.net", "A", "NOERROR www.example.net. A 198.51.100.1"},
		{"notexample.org", "A", "NXDOMAIN"}, // from the resolver
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got := ask(t, address, network, c.name, c.kind); got != c.want {
				t.Errorf("%s %s by %s: %s, want %s", c.name, c.kind, network, got, c.want)
			}
		}
	}
	if got := ask(t, address, "udp", "circle.example.org", "A"); !strings.HasPrefix(got, "N") {
		t.Errorf("a circle: %s", got)
	}
}

// An error is an answer, so that a client asks again, and does not believe that there is no such name.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	address := serve(t, &Server{
		Zones: func() ([]string, []Record, error) { return nil, nil, broken },
		Hosts: func() (map[string]string, error) { return nil, nil },
	})
	if got := ask(t, address, "udp", "local.example.org", "A"); got != "SERVFAIL" {
		t.Error(got)
	}
	address = serve(t, &Server{
		Zones: func() ([]string, []Record, error) { return nil, nil, nil },
		Hosts: func() (map[string]string, error) { return nil, nil },
	})
	if got := ask(t, address, "udp", "www.example.net", "A"); got != "SERVFAIL" {
		t.Errorf("without a resolver: %s", got)
	}
}

// A long answer is cut by UDP, and complete by TCP.
func TestTruncated(t *testing.T) {
	var records []Record
	for range 20 {
		records = append(records, Record{"long.example.org", "TXT", strings.Repeat("x", 100)})
	}
	address := serve(t, &Server{
		Zones: func() ([]string, []Record, error) { return []string{"example.org"}, records, nil },
		Hosts: func() (map[string]string, error) { return nil, nil },
	})
	question := new(dns.Msg)
	question.SetQuestion("long.example.org.", dns.TypeTXT)
	answer, _, err := (&dns.Client{Net: "udp"}).Exchange(question, address)
	if err != nil || !answer.Truncated || len(answer.Answer) == len(records) {
		t.Errorf("by UDP: %v", err)
	}
	answer, _, err = (&dns.Client{Net: "tcp"}).Exchange(question, address)
	if err != nil || answer.Truncated || len(answer.Answer) != len(records) {
		t.Errorf("by TCP: %v", err)
	}
}

func TestResolvers(t *testing.T) {
	list, err := Resolvers("testdata/resolv.conf")
	if err != nil || !slices.Equal(list, []string{"10.87.0.1:53", "[2001:db8::53]:53"}) {
		t.Errorf("%q, %v", list, err)
	}
}
