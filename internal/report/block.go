package report

import "strings"

// longestLine is how many bytes of a line in a block are shown.
const longestLine = 1000

// Block writes lines, which may contain anything, as a code block of at most limit bytes that no
// line can end. It says how many lines are left out.
func Block(lines []string, limit int) string {
	ticks := 2
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = shorten(printable(line), longestLine)
		ticks = max(ticks, backticks(shown[i]))
	}
	fence := strings.Repeat("`", ticks+1)
	room := limit - 2*len(fence+"\n") - len("… and 999,999,999 more lines\n")
	var b strings.Builder
	b.WriteString(fence + "\n")
	for i, line := range shown {
		if b.Len()+len(line)+1 > room {
			b.WriteString("… and " + counted(len(shown)-i, "more line", "more lines") + "\n")
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String() + fence + "\n"
}
