output "actuator_role" {
  value = aws_iam_role.actuator.arn
}

output "actuator_web_identity_role" {
  value = one(aws_iam_role.irsa[*].arn)
}

output "node_role" {
  value = aws_iam_role.node.name
}
