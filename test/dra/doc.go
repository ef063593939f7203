// Package dra holds the planner's choice of devices against the scheduler's own: whatever nodes publish and pods claim,
// pod after pod finds the same devices in both, or none in both. It has tests only. Start reading at
// TestPodsGetTheSchedulersDevices.
package dra
