package userdata

import (
	"errors"
	"fmt"
	"strings"
)

// parseAL2 finds the call of the bootstrap script in the shell parts and reads its flags. It understands words, single
// and double quotes and line continuations; it does not run a shell.
func parseAL2(text []byte) (Node, error) {
	parts, err := split(text)
	if err != nil {
		return Node{}, err
	}
	for _, p := range parts {
		if p.mediaType != typeShell {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(string(p.body), "\\\n", " "), "\n") {
			words := shellWords(line)
			if len(words) > 0 && words[0] == "/etc/eks/bootstrap.sh" {
				return bootstrapFlags(words[1:])
			}
		}
	}
	return Node{}, fmt.Errorf("no shell part calls /etc/eks/bootstrap.sh: %w", ErrNothing)
}

func bootstrapFlags(args []string) (Node, error) {
	n := newNode()
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "--") {
			n.ClusterName = args[i]
			continue
		}
		if i+1 == len(args) {
			return Node{}, fmt.Errorf("bootstrap.sh %s: value is missing", args[i])
		}
		name, value := args[i], args[i+1]
		i++
		switch name {
		case "--apiserver-endpoint":
			n.Endpoint = value
		case "--b64-cluster-ca":
			n.CertificateAuthority = value
		case "--kubelet-extra-args":
			if err := applyFlags(shellWords(value), &n); err != nil {
				return Node{}, fmt.Errorf("bootstrap.sh --kubelet-extra-args: %w", err)
			}
		case "--local-disks":
			n.LocalStorageRAID0 = value == "raid0"
		}
	}
	if n.ClusterName == "" {
		return Node{}, errors.New("bootstrap.sh: the cluster's name is missing")
	}
	return n, nil
}

// shellWords splits a line at blanks outside quotes and strips the quotes.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
				continue
			}
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
