package report

// Console writes the report for a terminal, in at most limit bytes. A single layer takes as few
// lines as possible.
func Console(r Report, limit int) string {
	v := look(r)
	sentence, more := v.totals()
	d := document{head: sentence + more + "\n", short: sentence, whole: v.whole}
	if subject := v.subject(); subject != "" {
		d.head = subject + ": " + d.head
	}
	end, single := "\n", len(v.layers)+len(v.problems) < 2
	if single {
		end = ""
	} else {
		d.problems.heading = "Could not be planned:\n"
		d.losses.heading = v.heading() + ":\n"
		d.warnings.heading = "Warnings:\n"
	}
	d.head += end
	if header, rows := aligned(v.table()); len(rows) > 0 {
		d.table.lists = []*list{{open: header, close: end, lines: rows}}
	}
	for _, p := range v.problems {
		d.problems.lists = append(d.problems.lists, &list{place: p.place, whole: v.whole, close: end, lines: p.lines})
	}
	for _, l := range v.layers {
		lost := &list{place: l.place, whole: v.whole, close: end, indent: "  ", lines: l.lost}
		other := &list{place: l.place, whole: v.whole, close: end, indent: "  ", lines: l.other}
		if !single {
			lost.open = l.place + ":\n"
			other.open = l.place + ": " + l.folded() + "\n"
		}
		if len(l.warnings) > 0 {
			warnings := &list{place: l.place, whole: v.whole, close: end, indent: "  ", lines: l.warnings}
			if !single {
				warnings.open = l.place + ":\n"
			}
			d.warnings.lists = append(d.warnings.lists, warnings)
		}
		if len(l.lost) > 0 {
			d.losses.lists = append(d.losses.lists, lost)
		}
		if len(l.other) > 0 {
			d.others.lists = append(d.others.lists, other)
		}
	}
	return d.within(limit)
}
