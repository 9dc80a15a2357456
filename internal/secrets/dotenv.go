package secrets

import (
	"fmt"

	"github.com/getsops/sops/v3/stores/dotenv"
)

// ReadDotenv returns the variables of an unencrypted dotenv file. It refuses duplicate names.
func ReadDotenv(data []byte) (map[string]string, error) {
	branches, err := (&dotenv.Store{}).LoadPlainFile(data)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, branch := range branches {
		for _, item := range branch {
			if name, ok := item.Key.(string); ok {
				if _, twice := values[name]; twice {
					return nil, fmt.Errorf("%s is defined twice", name)
				}
				values[name] = fmt.Sprint(item.Value)
			}
		}
	}
	return values, nil
}
