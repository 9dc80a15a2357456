package environment

import "io/fs"

// LoadChosen loads the environment called name, or all environments if name is empty.
func LoadChosen(repository fs.FS, name string) ([]*Environment, error) {
	names := []string{name}
	if name == "" {
		var err error
		if names, err = List(repository); err != nil {
			return nil, err
		}
	}
	var chosen []*Environment
	for _, name := range names {
		e, err := Load(repository, name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, e)
	}
	return chosen, nil
}
