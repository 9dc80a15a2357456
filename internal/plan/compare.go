package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slipway/internal/redact"
)

// Limits of what is shown of a change. Nothing is truncated, because the mask would not recognise
// part of a secret: a longer value is not shown at all.
const (
	longestValue  = 120 // bytes per value or element
	mostValues    = 20  // per change
	mostElements  = 20  // per list, added or removed
	mostCompared  = 200 // elements of a list of objects
	deepestValues = 16  // levels below an attribute
)

// A comparison collects the differences in one attribute.
type comparison struct {
	rules  rules
	room   int // how many more values may be added
	values []Value
	rest   bool // there is a difference that is not shown
	later  bool // something is only known after the apply
}

// A side is a value before or after the change, with its sensitivity marks.
type side struct{ value, marks any }

func (s side) at(name string) side {
	children, _ := s.value.(map[string]any)
	return side{children[name], at(s.marks, name)}
}

// element returns one of the elements of a list.
func (s side) element(i int) side {
	return side{s.value.([]any)[i], elementOf(s.marks, i)}
}

// elementOf returns the mark, true or a tree, of an element of the marked value.
func elementOf(mark any, i int) any {
	marks, ok := mark.([]any)
	switch {
	case !ok:
		return mark
	case i < len(marks):
		return marks[i]
	}
	return nil
}

// A place is the position of a comparison: how it is shown, and how rules name it.
type place struct {
	shown, path string
	rule        rule
	depth       int
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// below returns the place of a key. A rule for a map applies to the strings in it, but not to
// deeper values.
func (c *comparison) below(p place, key string, scalar bool) place {
	child := place{shown: p.shown + "." + key, path: p.path + "." + key, depth: p.depth + 1}
	if !plainKey.MatchString(key) {
		child.shown = p.shown + "[" + strconv.Quote(key) + "]"
	}
	if child.rule = c.rules[child.path]; child.rule == nothing && scalar {
		child.rule = p.rule
	}
	if redact.SecretName(key) {
		child.rule = nothing
	}
	return child
}

// compare descends to the differences.
func (c *comparison) compare(p place, before, after side, unknown any) {
	switch {
	case unknown == true:
		c.later = true
		return
	case p.depth > deepestValues, before.marks == true, after.marks == true:
		c.rest = true
		return
	case !marksAny(unknown) && reflect.DeepEqual(before.value, after.value):
		c.rest = c.rest || marksAny(before.marks) || marksAny(after.marks)
		return
	}
	_, mapBefore := before.value.(map[string]any)
	_, mapAfter := after.value.(map[string]any)
	_, listBefore := before.value.([]any)
	_, listAfter := after.value.([]any)
	switch {
	case (mapBefore || before.value == nil) && (mapAfter || after.value == nil):
		c.maps(p, before, after, unknown)
	case (listBefore || before.value == nil) && (listAfter || after.value == nil):
		c.lists(p, before, after, unknown)
	default:
		c.scalars(p, before, after)
	}
}

func (c *comparison) maps(p place, before, after side, unknown any) {
	old, _ := before.value.(map[string]any)
	now, _ := after.value.(map[string]any)
	later, _ := unknown.(map[string]any)
	var keys []string
	for key := range all(old, now, later) {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		scalar := isScalar(old[key]) && isScalar(now[key])
		was, is := before.at(key), after.at(key)
		if reflect.DeepEqual(was, is) && !marksAny(later[key]) {
			continue
		}
		c.compare(c.below(p, key, scalar), was, is, later[key])
	}
}

func (c *comparison) scalars(p place, before, after side) {
	old, knownOld := written(p.rule, before.value)
	now, knownNow := written(p.rule, after.value)
	if !knownOld || !knownNow || marksAny(before.marks) || marksAny(after.marks) {
		c.rest = true
		return
	}
	c.add(Value{Path: p.shown, Old: old, New: now})
}

func (c *comparison) add(v Value) {
	if len(c.values) >= c.room {
		c.rest = true
		return
	}
	c.values = append(c.values, v)
}

// lists reports which elements were added and removed. If the number of elements is the same and
// the others keep their positions, the elements are compared.
func (c *comparison) lists(p place, before, after side, unknown any) {
	old, _ := before.value.([]any)
	now, _ := after.value.([]any)
	if len(old) > mostCompared || len(now) > mostCompared {
		c.rest = true
		return
	}
	gone, came := leftOver(old, now, unknown)
	later := unknownAt(unknown, came)
	switch {
	case len(gone)+len(came) == 0: // only the order changed
		c.rest = true
	case slices.Equal(gone, came) && (later || !onlyScalars(old, now)):
		for _, i := range gone {
			element := place{shown: fmt.Sprintf("%s[%d]", p.shown, i), path: p.path, depth: p.depth + 1}
			c.compare(element, before.element(i), after.element(i), elementOf(unknown, i))
		}
	case slices.ContainsFunc(came, func(i int) bool { return elementOf(unknown, i) == true }):
		c.rest = true // the new element is not known yet
	default:
		c.later = c.later || later
		c.replaced(p, before, after, gone, came)
	}
}

// replaced reports which elements of a list were removed and added.
func (c *comparison) replaced(p place, before, after side, gone, came []int) {
	removed, knownRemoved := c.elements(p, before, gone)
	added, knownAdded := c.elements(p, after, came)
	if !knownRemoved || !knownAdded {
		c.rest = true
		return
	}
	// Objects that look the same differ in something that is not shown.
	for i := 0; i < len(removed); i++ {
		if j := slices.Index(added, removed[i]); j >= 0 {
			removed, added = slices.Delete(removed, i, i+1), slices.Delete(added, j, j+1)
			c.rest = true
			i--
		}
	}
	v := Value{Path: p.shown, Added: added, Removed: removed}
	for _, list := range []*[]string{&v.Added, &v.Removed} {
		shown := min(len(*list), mostElements)
		v.More += len(*list) - shown
		*list = (*list)[:shown]
	}
	if v.HasValue() {
		c.add(v)
	}
}

// leftOver returns the positions of the elements that the other list does not have.
func leftOver(old, now []any, unknown any) (gone, came []int) {
	taken := make([]bool, len(now))
next:
	for i := range old {
		for j := range now {
			if !taken[j] && !marksAny(elementOf(unknown, j)) && reflect.DeepEqual(old[i], now[j]) {
				taken[j] = true
				continue next
			}
		}
		gone = append(gone, i)
	}
	for j := range now {
		if !taken[j] {
			came = append(came, j)
		}
	}
	return gone, came
}

func unknownAt(unknown any, places []int) bool {
	return slices.ContainsFunc(places, func(i int) bool { return marksAny(elementOf(unknown, i)) })
}

// elements writes the elements at these positions. It fails if one of them cannot be shown.
func (c *comparison) elements(p place, of side, places []int) (texts []string, ok bool) {
	for _, i := range places {
		text, ok := c.element(p, of.element(i))
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// element writes one element; of an object, only what has rules.
func (c *comparison) element(p place, of side) (text string, ok bool) {
	object, isObject := of.value.(map[string]any)
	if !isObject {
		text, ok = written(p.rule, of.value)
		return text, ok && !marksAny(of.marks)
	}
	var parts []string
	for key := range object {
		child := of.at(key)
		if text, ok := leaf(c.below(place{path: p.path}, key, false).rule, child); ok {
			parts = append(parts, key+": "+text)
		}
	}
	slices.Sort(parts)
	text = "{" + strings.Join(parts, ", ") + "}"
	return text, len(parts) > 0 && len(text) <= longestValue
}

// leaf writes what an object has under one of its keys.
func leaf(r rule, of side) (text string, ok bool) {
	list, isList := of.value.([]any)
	switch {
	case of.value == nil, marksAny(of.marks):
		return "", false
	case !isList:
		return written(r, of.value)
	}
	var texts []string
	for _, element := range list {
		text, ok := written(r, element)
		if !ok {
			return "", false
		}
		texts = append(texts, text)
	}
	return "[" + strings.Join(texts, ", ") + "]", len(texts) > 0
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func onlyScalars(lists ...[]any) bool {
	return !slices.ContainsFunc(slices.Concat(lists...), func(element any) bool { return !isScalar(element) })
}

// plainText matches text that can only be a value: neither the end of one nor a remark of ours.
var plainText = regexp.MustCompile(`^[\pL\pN._:/@+-]+( [\pL\pN._:/@+-]+)*$`)

// written returns a value as it may be shown; ok is false for one that may not. Anything but plain
// text is quoted, with escapes.
func written(r rule, value any) (text string, ok bool) {
	switch value := value.(type) {
	case nil:
		return "null", r != nothing
	case bool:
		return strconv.FormatBool(value), r == everything
	case json.Number:
		return value.String(), r == everything && len(value) <= longestValue
	case string:
		text = value
	default:
		return "", false
	}
	if _, err := netip.ParseAddr(text); r == nothing || r == addresses && err != nil || len(text) > longestValue {
		return "", false
	}
	if parts, _ := redact.Parts(text); len(parts) > 0 {
		return "", false // for example a URL with a password
	}
	if text == "null" || !plainText.MatchString(text) {
		text = strconv.Quote(text)
	}
	return text, true
}
