// Package shadow runs kerf shadow against a real control plane that holds what Karpenter would have left there: its
// objects, its nodes, and pods on them. The program acts as the watcher's user, which may only read.
//
// It knows the program by its command line alone. Start reading at TestAShadowTellsWhatKerfWouldDo.
package shadow
