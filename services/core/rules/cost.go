package rules

// costStep is by how much a deletion cost must have changed for pods to be told: a tenth of what costs range over.
// Nodes come and go, and each time all costs move a little; the order among nodes that are nearly alike matters little.
const costStep = 100

// DeletionCostDue says that a pod is to be told the deletion cost of its node's pods; it has been told another one, or
// 0 for none.
func DeletionCostDue(told, cost int32) bool { return told == 0 || distance(told, cost) >= costStep }

// DeletionCostNews says that a deletion cost of a node's pods is to be passed on to where pods are told, which was last
// told another one. Half a step, because what each pod was told may be as far off on the other side.
func DeletionCostNews(passed, cost int32) bool { return distance(passed, cost) >= costStep/2 }

func distance(a, b int32) int32 { return max(a-b, b-a) }
