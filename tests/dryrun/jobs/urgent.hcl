variable "priority" {
  type    = number
  default = 50
}

locals {
  groups = {
    first  = 300
    second = 800
  }
}

# The groups of urgent.json.
job "urgent" {
  datacenters = ["dc1"]
  priority    = var.priority

  dynamic "group" {
    for_each = local.groups
    labels   = [group.key]

    content {
      ephemeral_disk {
        size = 150
      }

      task "main" {
        driver = "exec"

        config {
          command = "run"
        }

        resources {
          cpu    = group.value
          memory = 100
        }
      }
    }
  }
}
