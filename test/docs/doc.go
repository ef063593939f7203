// Package docs tests what the README and docs tell users to type.
//
// A fenced block of the language console is run, each line that begins with "$ " as a command, and what is shown below a
// command is what it must print; a line of "…" stands for any number of lines. Words behind console say what the block
// needs that a test does not have: see needs. Such a block is not run, but its flags, files and make targets must be there.
// Links between the pages must lead somewhere.
//
// It knows the programs by their command lines alone. Start reading at TestConsoleBlocks.
package docs
