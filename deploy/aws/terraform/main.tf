# What Kerf needs in AWS for one EKS cluster: the actuator's role, the nodes' role, and the queue of interruptions. The planner and
# the watcher need nothing in AWS. It is what ../cloudformation.yaml makes.

locals {
  documents = "${path.module}/../policies"
  events    = "${path.module}/../events"

  # What the policies speak of.
  names = {
    partition = data.aws_partition.current.partition
    suffix    = data.aws_partition.current.dns_suffix
    region    = data.aws_region.current.region
    account   = data.aws_caller_identity.current.account_id
    cluster   = var.cluster_name
    issuer    = var.oidc_provider
    volumekey = var.volume_key
    queue     = aws_sqs_queue.kerf.arn
    noderole  = aws_iam_role.node.arn
  }
}

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

# Pods with the service account kerf-actuator, of Pod Identity.
resource "aws_iam_role" "actuator" {
  name               = "KerfActuator-${var.cluster_name}"
  assume_role_policy = templatefile("${local.documents}/pod-identity-trust.json", { cluster = var.cluster_name })
}

# Not beside IRSA: where there is an association EKS goes by it alone, and pods of a cluster without its agent get nothing.
resource "aws_eks_pod_identity_association" "actuator" {
  count           = var.oidc_provider == "" ? 1 : 0
  cluster_name    = var.cluster_name
  namespace       = "kerf-system"
  service_account = "kerf-actuator"
  role_arn        = aws_iam_role.actuator.arn
}

# The same of IRSA.
resource "aws_iam_role" "irsa" {
  count              = var.oidc_provider == "" ? 0 : 1
  name               = "KerfActuatorIRSA-${var.cluster_name}"
  assume_role_policy = templatefile("${local.documents}/irsa-trust.json", local.names)
}

resource "aws_iam_policy" "actuator" {
  name   = "KerfActuator-${var.cluster_name}"
  policy = templatefile("${local.documents}/actuator.json", local.names)
}

resource "aws_iam_role_policy_attachment" "actuator" {
  for_each   = toset(concat([aws_iam_role.actuator.name], aws_iam_role.irsa[*].name))
  role       = each.value
  policy_arn = aws_iam_policy.actuator.arn
}

# For volumes that a key of the account's encrypts. The key's own policy must leave its use to IAM, as that of a new key does.
resource "aws_iam_policy" "volumes" {
  count  = var.volume_key == "" ? 0 : 1
  name   = "KerfVolumes-${var.cluster_name}"
  policy = templatefile("${local.documents}/volumes.json", local.names)
}

resource "aws_iam_role_policy_attachment" "volumes" {
  for_each   = var.volume_key == "" ? toset([]) : toset(concat([aws_iam_role.actuator.name], aws_iam_role.irsa[*].name))
  role       = each.value
  policy_arn = aws_iam_policy.volumes[0].arn
}

# What an EC2NodeClass names as its role.
resource "aws_iam_role" "node" {
  name               = "KerfNodeRole-${var.cluster_name}"
  assume_role_policy = templatefile("${local.documents}/node-trust.json", { suffix = data.aws_partition.current.dns_suffix })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset([
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
  ])
  role       = aws_iam_role.node.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/${each.value}"
}

resource "aws_eks_access_entry" "node" {
  cluster_name  = var.cluster_name
  principal_arn = aws_iam_role.node.arn
  type          = "EC2_LINUX"
}

# One for the account. To keep it where all else is destroyed: terraform state rm.
resource "aws_iam_service_linked_role" "spot" {
  count            = var.create_spot_role ? 1 : 0
  aws_service_name = "spot.amazonaws.com"
}

resource "aws_sqs_queue" "kerf" {
  name                      = var.queue_name == "" ? var.cluster_name : var.queue_name
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "kerf" {
  queue_url = aws_sqs_queue.kerf.id
  policy    = templatefile("${local.documents}/queue.json", local.names)
}

# The events that the actuator reads.
resource "aws_cloudwatch_event_rule" "kerf" {
  for_each      = toset(["interruptions", "maintenance"])
  name          = "kerf-${var.cluster_name}-${each.value}"
  event_pattern = file("${local.events}/${each.value}.json")
}

resource "aws_cloudwatch_event_target" "kerf" {
  for_each  = aws_cloudwatch_event_rule.kerf
  target_id = "kerf"
  rule      = each.value.name
  arn       = aws_sqs_queue.kerf.arn
}
