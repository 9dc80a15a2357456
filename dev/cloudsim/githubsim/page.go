package githubsim

import (
	"fmt"
	"strconv"
	"strings"
)

// paginate returns the requested page of a list, and the Link header for the other pages.
//
// https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
func paginate[T any](c *call, list []T) (page []T, link string) {
	size, number := 30, 1
	if n, err := strconv.Atoi(c.URL.Query().Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(c.URL.Query().Get("page")); err == nil && n > 0 {
		number = n
	}
	last := max(1, (len(list)+size-1)/size)
	var links []string
	add := func(to int, rel string) {
		query := c.URL.Query()
		query.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.base, c.URL.EscapedPath(), query.Encode(), rel))
	}
	if number > 1 {
		add(min(number-1, last), "prev")
	}
	if number < last {
		add(number+1, "next")
		add(last, "last")
	}
	if number > 1 {
		add(1, "first")
	}
	if number > last {
		return nil, strings.Join(links, ", ")
	}
	begin := (number - 1) * size
	return list[begin:min(begin+size, len(list))], strings.Join(links, ", ")
}
