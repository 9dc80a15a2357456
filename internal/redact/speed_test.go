package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// made is a text of n random characters.
func made(n int, characters string) string {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n)
	for i := range text {
		text[i] = characters[random.IntN(len(characters))]
	}
	return string(text)
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// nested is JSON within JSON, as deep as fits into n bytes.
func nested(n int) string {
	text := `{"password":"s3cr3t-of-the-innermost"}`
	for {
		outer := `{"a":` + strconv.Quote(text) + `}`
		if len(outer) > n {
			return text + strings.Repeat(" ", max(0, n/2-len(text)))
		}
		text = outer
	}
}

// Values that are expensive to add or to search cost no more than their length allows.
func TestCostIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("deep: it measures")
	}
	const size = 64 << 10
	texts := map[string]string{
		"random":              made(size, alphanumeric),
		"one character":       strings.Repeat("a", size),
		"a short period":      strings.Repeat("ab", size/2),
		"nested arrays":       strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"nested JSON":         nested(size),
		"nested objects":      strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6),
		"backslashes":         strings.Repeat(`\`, size),
		"percents":            strings.Repeat("%25", size/3),
		"entities":            strings.Repeat("&amp;", size/5),
		"escapes":             strings.Repeat(`\u00e9`, size/6),
		"halves of surrogate": strings.Repeat(`\ud83d`, size/6),
		"white space":         "x" + strings.Repeat(" ", size) + "x",
		"a key in lines":      strings.Repeat(made(64, alphanumeric)+"\n", size/65),
		"YAML":                strings.Repeat("- name: x\n  password: abcdefgh\n", size/64/2),
		"flow YAML":           "a: " + strings.Repeat("[", size),
		"assignments":         strings.Repeat("a=b\n", size/4),
		"at signs":            "https://" + strings.Repeat("a:@", size/3),
	}
	for name, secret := range texts {
		t.Run(name, func(t *testing.T) {
			begin := cpuTime(t)
			set := New(secret, "s3cr3t-of-the-innermost")
			if took := cpuTime(t) - begin; took > time.Second {
				t.Errorf("to take it in took %v", took)
			}
			for other, text := range texts {
				begin := cpuTime(t)
				got := set.String(text)
				if took := cpuTime(t) - begin; took > time.Second {
					t.Errorf("to read %s took %v", other, took)
				}
				if strings.Contains(got, "s3cr3t-of") {
					t.Errorf("%s is not masked", other)
				}
			}
			// Written in pieces, too.
			begin = cpuTime(t)
			w := set.Writer(discard{})
			for at := 0; at < len(secret); at += 100 {
				_, _ = w.Write([]byte(secret[at:min(at+100, len(secret))]))
			}
			if took := cpuTime(t) - begin; took > time.Second {
				t.Errorf("to read it in pieces took %v", took)
			}
		})
	}
}

// A secret of 1 MB, and one after the other of a thousand.
func TestCostOfAdding(t *testing.T) {
	if testing.Short() {
		t.Skip("deep: it measures")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := cpuTime(t)
	secret := made(1<<20, alphanumeric)
	set := New(secret)
	if took := cpuTime(t) - begin; took > time.Second {
		t.Errorf("1 MB took %v", took)
	}
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 100 {
		t.Errorf("1 MB took %d MB of memory", taken)
	}
	begin = cpuTime(t)
	for i := range 1000 {
		set.Add(fmt.Sprintf("%s-%d", secret[i*40:i*40+40], i))
	}
	if took := cpuTime(t) - begin; took > time.Second {
		t.Errorf("a thousand more took %v", took)
	}
	if got := set.String(secret); got != Mask {
		t.Errorf("it becomes %.100q", got)
	}
}

func BenchmarkWriter(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d-secrets", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			secrets := make([]string, n)
			for i := range secrets {
				secret := make([]byte, 40)
				for j := range secret {
					secret[j] = byte(33 + random.IntN(94))
				}
				secrets[i] = string(secret)
			}
			var text strings.Builder
			for i := range 20_000 {
				fmt.Fprintf(&text, `{"@level":"info","@message":"module.compute.openstack_networking_secgroup_rule_v2.rule[%d]: Creation complete after 1s"}`+"\n", i)
				if i%20 == 0 {
					text.WriteString("password = " + secrets[random.IntN(n)] + "\n")
				}
			}
			input := []byte(text.String())
			set := New(secrets...)
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				w := set.Writer(discard{})
				if _, err := w.Write(input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The same in the lines that a tool prints.
func BenchmarkWriterLines(b *testing.B) {
	secrets := make([]string, 100)
	text := made(100*40, alphanumeric)
	for i := range secrets {
		secrets[i] = text[i*40 : i*40+40]
	}
	line := []byte(`{"@level":"info","@message":"module.compute.openstack_networking_secgroup_rule_v2.rule[7]: Creation complete after 1s"}` + "\n")
	w := New(secrets...).Writer(discard{})
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_, _ = w.Write(line)
	}
}

// JSON within JSON is nothing but escapes.
func BenchmarkWriterEscapes(b *testing.B) {
	input := bytes.Repeat([]byte(`{\"level\":\"info\",\"line\":\"a\\nb\",\"url\":\"https%3A%2F%2Fexample.org%2Fa\"}`), 10_000)
	set := New(made(40, alphanumeric))
	b.SetBytes(int64(len(input)))
	for b.Loop() {
		_, _ = set.Writer(discard{}).Write(input)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{40, 4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			secret := made(n, alphanumeric)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				New(secret)
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// cpuTime is what this process has had of the processors: other than the time of day, it
// does not depend on what else the machine does.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
