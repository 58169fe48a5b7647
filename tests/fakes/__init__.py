"""Stand-ins for the outside services that Handrail talks to, run as real servers on loopback.

Each is as strict as the service's published rules (and, where users measured more, as strict as that), because a
lenient fake proves nothing. Each can be driven from the test that owns it, or run as a process of its own and driven
over HTTP under `/_control`. None of them judges whether what Handrail said was wise: that is the tests' business.
"""
