package workspace

// CopyRepository is what the tests of this package look at from outside, because what they use
// imports it.
var CopyRepository = copyRepository
