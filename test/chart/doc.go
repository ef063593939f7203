// Package chart holds the Helm chart of deploy/chart against the kustomization of deploy/overlays/ha: with the same
// settings both are the same objects, to the field. It is a module of its own, because Helm and kustomize, as
// libraries, are not for the other modules.
//
// Start reading at TestChartAndKustomizationAreAlike.
package chart
