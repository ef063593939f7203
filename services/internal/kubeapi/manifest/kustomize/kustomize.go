// Package kustomize tells which files a kustomization changes other objects with, so that they are not taken for objects.
//
// Such a patch has an object's kind and name, and little else of it: taken for the object it would take its place. The
// package builds nothing and opens no file: it goes by names and by a kustomization's text. Start reading at Patches.
package kustomize

import (
	"encoding/json"
	"path"
	"strings"
)

// IsFile tells a kustomization by its file's name.
func IsFile(name string) bool {
	switch base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	default:
		return false
	}
}

// Is tells a kustomization without an apiVersion, which kustomize adds.
func Is(apiVersion, kind string) bool { return apiVersion == "" && kind == "Kustomization" }

// Patches are the names of the files with patches, and of those with settings of transformations, that the kustomization
// in a file of this name refers to. Its text is JSON.
func Patches(name string, text []byte) []string {
	type file struct {
		Path string `json:"path"`
	}
	var k struct {
		Patches        []file   `json:"patches"`
		JSON6902       []file   `json:"patchesJson6902"`
		Replacements   []file   `json:"replacements"`
		Merged         []string `json:"patchesStrategicMerge"`
		Configurations []string `json:"configurations"`
		Transformers   []string `json:"transformers"`
	}
	_ = json.Unmarshal(text, &k) // a field of another form, which some have in old files, is none of these; the others are read
	var out []string
	add := func(to string) {
		if to != "" && !strings.Contains(to, "\n") { // a patch may be written where its file would be named
			out = append(out, clean(path.Join(Folder(name), to)))
		}
	}
	for _, list := range [][]file{k.Patches, k.JSON6902, k.Replacements} {
		for _, f := range list {
			add(f.Path)
		}
	}
	for _, list := range [][]string{k.Merged, k.Configurations, k.Transformers} {
		for _, to := range list {
			add(to)
		}
	}
	return out
}

// Same is a file's name as Patches gives it.
func Same(name string) string { return clean(name) }

// Folder is where a kustomization's file is: what kustomize builds. It is "." for one whose file's name says nothing of
// that.
func Folder(name string) string {
	return path.Dir(clean(name))
}

func clean(name string) string { return path.Clean(strings.ReplaceAll(name, `\`, "/")) }

func base(name string) string { return path.Base(clean(name)) }
