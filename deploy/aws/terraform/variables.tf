variable "cluster_name" {
  type        = string
  description = "The EKS cluster's name; settings.clusterName."
  validation {
    condition     = length(var.cluster_name) > 0 && length(var.cluster_name) <= 40
    error_message = "cluster_name has from 1 to 40 letters."
  }
}

variable "oidc_provider" {
  type        = string
  default     = ""
  description = "For IRSA in the place of Pod Identity, the cluster's issuer without https://."
}

variable "queue_name" {
  type        = string
  default     = ""
  description = "Of the queue, settings.interruptionQueue; empty for the cluster's name, which Karpenter's queue may have already."
}

variable "volume_key" {
  type        = string
  default     = ""
  description = "The ARN of the KMS key that node classes name for volumes, or that the account's default is; empty where it is AWS's own."
}

variable "create_spot_role" {
  type        = bool
  default     = false
  description = "Makes EC2's service-linked role for spot; true in an account that never had a spot instance, where it is missing."
}
