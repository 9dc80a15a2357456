package githubsim

import (
	"hash/fnv"
	"net/http"
	"regexp"
	"strings"
)

// Bot is the login of a workflow's token. Its login and ID are the same in every repository.
const Bot = "github-actions[bot]"

const botID = 41898282

// Guest is the login of a user without push access, who may not set labels.
const Guest = "guest"

var validLogin = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

type user struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Type  string `json:"type"` // User or Bot
}

// userOf gives each login its own stable ID.
func userOf(login string) user {
	if login == Bot {
		return user{Bot, botID, "Bot"}
	}
	hash := fnv.New32a()
	// Writing to a hash cannot fail.
	_, _ = hash.Write([]byte(strings.ToLower(login)))
	return user{login, int64(hash.Sum32()) + 1, "User"}
}

// user returns the client. A workflow's token belongs to an app, and may not request this.
//
// https://docs.github.com/en/rest/users/users#get-the-authenticated-user
func (c *call) user() answer {
	if c.login == Bot {
		return refused(http.StatusForbidden, "Resource not accessible by integration", "https://docs.github.com/rest/users/users#get-the-authenticated-user")
	}
	return answer{status: http.StatusOK, body: userOf(c.login)}
}

// viewerQuery is the only supported query, with its fields in any order.
var viewerQuery = regexp.MustCompile(`^\s*(query\s*)?\{\s*viewer\s*\{\s*(login\s+databaseId|databaseId\s+login|databaseId|login)\s*\}\s*\}\s*$`)

// graphql returns the client, even for a workflow's token.
//
// https://docs.github.com/en/graphql/reference/queries#viewer
func (c *call) graphql() answer {
	var query struct {
		Query string `json:"query"`
	}
	if a, ok := c.decode(&query); !ok {
		return a
	}
	match := viewerQuery.FindStringSubmatch(query.Query)
	if match == nil {
		// GraphQL responds to a wrong query with status 200.
		return answer{status: http.StatusOK, body: map[string]any{"errors": []map[string]string{
			{"message": "githubsim only supports queries of the viewer's login and databaseId"},
		}}}
	}
	u, fields := userOf(c.login), map[string]any{}
	for name := range strings.FieldsSeq(match[2]) {
		fields[name] = map[string]any{"login": u.Login, "databaseId": u.ID}[name]
	}
	return answer{status: http.StatusOK, body: map[string]any{"data": map[string]any{"viewer": fields}}}
}
