package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// writeLarge writes a plan of n changes in the shape of OpenTofu's, with the parts
// of it in the same proportion: each resource is there once in planned_values, and
// once in prior_state, and twice in the changes.
func writeLarge(to io.Writer, n int) error {
	w := bufio.NewWriter(to)
	list := func(begin, end string, element func(i int)) {
		_, _ = w.WriteString(begin)
		for i := range n {
			if i > 0 {
				_, _ = w.WriteString(",")
			}
			element(i)
		}
		_, _ = w.WriteString(end)
	}
	address := func(i int) string {
		return fmt.Sprintf(`"address":"module.site[\"site-%d\"].terraform_data.host[%d]","mode":"managed","type":"terraform_data","name":"host","index":%d,"provider_name":"terraform.io/builtin/terraform"`, i%100, i, i)
	}
	values := func(i int, age string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"id":"d4b42536-8483-7a0f-b118-%012d","password":"secret of %d, %s","size":%d,"enabled":true,"input":{`, i, i, age, i*1000)
		for a := range 16 {
			if a > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"attribute_%d":"the %s value of attribute %d of host %d"`, a, age, a, i)
		}
		b.WriteString(`},"triggers_replace":null,"addresses":["10.0.0.1","10.0.0.2"]}`)
		return b.String()
	}
	_, _ = w.WriteString(`{"format_version":"1.2","terraform_version":"1.12.6","variables":{"size":{"value":"m"}},`)
	list(`"planned_values":{"root_module":{"child_modules":[{"address":"module.site","resources":[`, `]}]}},`, func(i int) {
		fmt.Fprintf(w, `{%s,"schema_version":0,"values":%s,"sensitive_values":{"password":true,"input":{}}}`, address(i), values(i, "new"))
	})
	list(`"resource_changes":[`, `],`, func(i int) {
		fmt.Fprintf(w, `{%s,"change":{"actions":["update"],"before":%s,"after":%s,"after_unknown":{"input":{},"output":true},"before_sensitive":{"input":{},"password":true},"after_sensitive":{"input":{},"password":true}}}`,
			address(i), values(i, "old"), values(i, "new"))
	})
	list(`"prior_state":{"format_version":"1.0","values":{"root_module":{"child_modules":[{"address":"module.site","resources":[`, `]}]}}},`, func(i int) {
		fmt.Fprintf(w, `{%s,"schema_version":0,"values":%s,"sensitive_values":{"password":true,"input":{}}}`, address(i), values(i, "old"))
	})
	_, _ = w.WriteString(`"configuration":{"root_module":{"variables":{"size":{"default":"s"}}}},"timestamp":"2026-01-01T00:00:00Z","errored":false}`)
	return w.Flush()
}

func large(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := writeLarge(&b, n); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// A watched reader looks now and then how much memory is in use.
type watched struct {
	io.Reader
	every, read int
	peak        uint64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.read/w.every != (w.read+n)/w.every {
		runtime.GC()
		w.peak = max(w.peak, inUse())
	}
	w.read += n
	return n, err
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Reading needs memory for what it returns, and not for the plan.
func TestReadMemory(t *testing.T) {
	const n = 2000
	data := large(t, n)
	runtime.GC()
	before := inUse()
	w := &watched{Reader: bytes.NewReader(data), every: len(data) / 10}
	if s, _, err := Read(w); err != nil || len(s.Changes) != n {
		t.Fatalf("got %d changes, %v", len(s.Changes), err)
	}
	if most := uint64(len(data) / 4); w.peak > before+most {
		t.Errorf("reading %d bytes held %d of memory", len(data), w.peak-before)
	}
}

func BenchmarkRead(b *testing.B) {
	data := large(b, 10_000)
	b.Run("any", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var decoded any
			if err := json.Unmarshal(data, &decoded); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			runtime.GC()
			b.ReportMetric(float64(inUse()>>20)-float64(len(data)>>20), "MiB-held")
			b.StartTimer()
			runtime.KeepAlive(decoded)
		}
	})
	b.Run("plan", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			s, _, err := Read(bytes.NewReader(data))
			if err != nil || len(s.Changes) != 10_000 {
				b.Fatalf("got %d changes, %v", len(s.Changes), err)
			}
		}
	})
	b.Run("plan-memory", func(b *testing.B) {
		runtime.GC()
		before := inUse()
		for b.Loop() {
			w := &watched{Reader: bytes.NewReader(data), every: len(data) / 20}
			if _, _, err := Read(w); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(w.peak-before)/(1<<20), "MiB-held")
		}
	})
}
