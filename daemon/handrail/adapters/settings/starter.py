"""The commented file that `handrail config init` writes. A test loads it, so it can't rot."""

from __future__ import annotations

STARTER = """\
# Handrail's configuration. Secrets never stand here: name a file or an environment variable.
# Prove it with: handrail check --config handrail.yaml

cluster:
  # Must equal the `cluster` label of the alerts meant for this cluster.
  name: "{cluster}"
  # Take alerts that carry no cluster label at all. Set to false when several clusters share a topic.
  accept_unlabelled: true

kafka:
  bootstrap: [kafka-0.kafka:9092]
  topics:
    # signal: logs, metrics or traces; OTLP protobuf does not name its own. encoding: auto tells the formats apart by
    # the value itself: OTLP, Alertmanager, Grafana, CloudEvents, ... Try it: handrail decode FILE
    - {{name: otlp_logs, signal: logs, encoding: auto}}
  group: handrail
  # A stable member name spares a rebalance at each restart; each replica needs its own. HOSTNAME is the pod's name.
  # group_instance_env: HOSTNAME
  group_instance_id: ""
  # What can't be decoded goes here, with the reason in its headers.
  dead_letter_topic: handrail.dead-letters
  # Every event of every incident, for others to read (docs/reference/events.md). "" publishes nothing.
  events_topic: ""               # e.g. handrail.events
  # Where a new consumer group begins. Old alerts open nothing (alert_age_minutes in the policy).
  offset_reset: earliest
  security:
    protocol: PLAINTEXT        # or SSL, SASL_PLAINTEXT, SASL_SSL
    # ca_file: /etc/handrail/kafka/ca.crt
    # sasl:
    #   mechanism: SCRAM-SHA-512
    #   username: {{file: /etc/handrail/kafka/username}}
    #   password: {{file: /etc/handrail/kafka/password}}

alerts:
  # Kubernetes events that last occurred longer ago are passed over: a collector sends all of them when it restarts.
  event_age_minutes: 15
  # A sender's own attribute names, ours first (all keys: docs/wiring.md). A topic may have a mapping of its own.
  # mapping:
  #   name: monitor.title
  #   status: monitor.state
  #   firing: [OPEN, REOPENED]
  #   resolved: CLOSED
  #   namespace: app.namespace
  #   kind: app.kind
  #   object: app.name

kubernetes:
  mode: in-cluster             # or kubeconfig
  # kubeconfig: /home/me/.kube/config
  # The namespace that this daemon runs in: it is never written to.
  own_namespace: handrail
  # false: observe only, whatever the policy says.
  hands_enabled: true

store:
  # One process. Replicas share a PostgreSQL instead: url: postgresql://handrail@db.example/handrail
  url: sqlite:////var/lib/handrail/handrail.db
  # password: {{file: /etc/handrail/store/password}}

# Who may do what, how often (budgets) and when not (freezes). observe.yaml (the default) writes nothing.
policy: /etc/handrail/policy.yaml

planner:
  mode: runbook                # runbook | model | both
  # model:
  #   key: {{file: /etc/handrail/model/key}}
  #   name: claude-sonnet-5-5
  #   max_calls: 2
  #   max_input_tokens: 20000

# slack:
#   channel: C0123456789
#   bot_token: {{file: /etc/handrail/slack/bot-token}}
#   app_token: {{file: /etc/handrail/slack/app-token}}

# The second channel: told when Slack fails.
# webhook:
#   url: {{file: /etc/handrail/webhook/url}}

# prometheus:
#   url: http://prometheus.monitoring:9090

# Asked whether an alert is silenced or inhibited before anything is done about it (docs/wiring.md).
# alertmanager:
#   url: http://alertmanager.monitoring:9093

# Alerts by HTTP, at /v1/alerts/alertmanager, /v1/alerts/grafana and /v1/logs. Without a token they are not there.
# intake:
#   http:
#     tokens:
#       - {{file: /etc/handrail/secrets/intake/token}}

http:
  # /healthz, /readyz, /metrics and the API of the CLI.
  listen: 0.0.0.0:8080
  # An address of its own for alerts; else they are taken at `listen`.
  # intake: 0.0.0.0:8081

log:
  level: info
  format: json
"""
