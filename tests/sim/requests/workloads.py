"""Requests about workloads that no controller disturbs: Deployments without replicas, and what is refused of them."""

from __future__ import annotations

from tests.sim import normal
from tests.sim.asks import JSON_PATCH, MERGE, STRATEGIC, Ask
from tests.sim.requests.bodies import (
    APPS,
    CONTAINER,
    CORE,
    CRASH,
    DRY,
    MANAGER,
    POLICY,
    deployment,
    observed,
    pod,
    replace,
    template,
)

DEPLOYMENTS = f"{APPS}/deployments"
STILL = f"{DEPLOYMENTS}/still"
STRICT = {"fieldValidation": "Strict"}
IMAGE = "/spec/template/spec/containers/0/image"


def _broken(**spec: object) -> dict[str, object]:
    body = deployment("broken")
    return body | {"spec": body["spec"] | spec}


def _with_resources(**resources: dict[str, object]) -> dict[str, object]:
    container = {"name": "a", "image": "a:1", "resources": resources}
    return _broken(template={"metadata": {"labels": {"app": "broken"}}, "spec": {"containers": [container]}})


REFUSED = [
    Ask("a negative number of replicas", "POST", DEPLOYMENTS, deployment("broken", -1), status=422),
    Ask("no selector", "POST", DEPLOYMENTS, _broken(selector=None), status=422),
    Ask("a selector that matches nothing", "POST", DEPLOYMENTS,
        _broken(selector={"matchLabels": {"app": "other"}}), status=422),
    Ask("an empty selector", "POST", DEPLOYMENTS, _broken(selector={}), status=422),
    Ask("no image", "POST", DEPLOYMENTS, deployment("broken", image=""), status=422),
    Ask("no containers", "POST", DEPLOYMENTS,
        _broken(template={"metadata": {"labels": {"app": "broken"}}, "spec": {"containers": []}}), status=422),
    Ask("no template", "POST", DEPLOYMENTS, _broken(template=None), status=422),
    Ask("two containers of one name", "POST", DEPLOYMENTS,
        _broken(template={"metadata": {"labels": {"app": "broken"}},
                          "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "a", "image": "b"}]}}),
        status=422),
    Ask("an unknown strategy", "POST", DEPLOYMENTS, _broken(strategy={"type": "Hope"}), status=422),
    Ask("a strategy that can't move", "POST", DEPLOYMENTS,
        _broken(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        status=422),
    Ask("a restart policy that a Deployment can't have", "POST", DEPLOYMENTS,
        _broken(template={"metadata": {"labels": {"app": "broken"}},
                          "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}),
        status=422),
    Ask("a deadline shorter than minReadySeconds", "POST", DEPLOYMENTS,
        _broken(minReadySeconds=10, progressDeadlineSeconds=10), status=422),
    Ask("a surge that is no share", "POST", DEPLOYMENTS,
        _broken(strategy={"rollingUpdate": {"maxSurge": "x", "maxUnavailable": -1}}), status=422),
    Ask("limits that are no quantity", "POST", DEPLOYMENTS, _with_resources(limits={"cpu": "x"}), status=400),
    Ask("negative limits", "POST", DEPLOYMENTS, _with_resources(limits={"memory": "-1Mi"}), status=422),
    Ask("requests above the limits", "POST", DEPLOYMENTS,
        _with_resources(limits={"memory": "1Gi"}, requests={"memory": "1025Mi"}), status=422),
    Ask("quantities in other words", "POST", DEPLOYMENTS,
        _with_resources(limits={"memory": "1024Mi", "cpu": 2}, requests={"memory": "1.5Mi", "cpu": "1500m"}),
        query={**MANAGER, **DRY}, status=201, shows=normal.part("spec")),
    Ask("replicas that are no number", "POST", DEPLOYMENTS, _broken(replicas="many"), status=400),
    Ask("an unknown field, strictly", "POST", DEPLOYMENTS, _broken(replcias=1), query=STRICT, status=400),
    Ask("an unknown field of metadata, strictly", "POST", DEPLOYMENTS,
        deployment("broken") | {"metadata": {"name": "broken", "owner": "me"}}, query=STRICT, status=400),
    Ask("an unknown field, by default", "POST", DEPLOYMENTS, _broken(replcias=1), query={**DRY, **MANAGER}, status=201),
]  # fmt: skip

STANDING = [
    Ask("a deployment without replicas", "POST", DEPLOYMENTS, deployment("still"), query=MANAGER, status=201),
    Ask("which its controller has seen", "GET", STILL,
        until=lambda b: observed(b) and len(b["status"].get("conditions", ())) == 2),
    Ask("a dry run of another image", "PATCH", STILL, [replace(IMAGE, CRASH)], JSON_PATCH, {**MANAGER, **DRY}),
    Ask("a no-op of it", "PATCH", STILL, [replace("/spec/replicas", 0)], JSON_PATCH, MANAGER),
    Ask("a patch with an unknown field, strictly", "PATCH", STILL, {"spec": {"replcias": 1}}, MERGE, STRICT, 422),
    Ask("a JSON patch with an unknown field, strictly", "PATCH", STILL,
        [{"op": "add", "path": "/spec/replcias", "value": 1}], JSON_PATCH, STRICT, 422),
    Ask("a patch with an unknown field, by default", "PATCH", STILL, {"spec": {"replcias": 1}}, MERGE, MANAGER),
    Ask("a patch with replicas that are no number", "PATCH", STILL, {"spec": {"replicas": "many"}}, MERGE,
        MANAGER, 422),
    Ask("another selector", "PATCH", STILL,
        {"spec": {"selector": {"matchLabels": {"app": "other"}},
                  "template": {"metadata": {"labels": {"app": "other"}}}}}, MERGE, MANAGER, 422),
    Ask("other labels in the template", "PATCH", STILL,
        [replace("/spec/template/metadata/labels/app", "other")], JSON_PATCH, MANAGER, 422),
    Ask("a wrong UID of a deployment", "PATCH", STILL,
        [replace("/metadata/uid", "00000000-0000-4000-8000-000000000000")], JSON_PATCH, MANAGER, 422),
    Ask("an annotation of a deployment", "PATCH", STILL,
        {"metadata": {"annotations": {"handrail.dev/key": "i/1/s/do"}}}, MERGE, MANAGER),
    Ask("which raises what is observed", "GET", STILL, until=observed),
    Ask("a label of a deployment", "PATCH", STILL, {"metadata": {"labels": {"team": "shop"}}}, MERGE, MANAGER),
    Ask("status in a patch of the object is ignored", "PATCH", STILL,
        {"status": {"replicas": 7}}, MERGE, MANAGER, shows=normal.part("status", "replicas")),
    Ask("a strategic merge keeps the other containers", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}, STRATEGIC,
        {**MANAGER, **DRY}, shows=normal.part("spec", "template", "spec", "containers")),
    Ask("a strategic merge by name", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": CONTAINER, "env": [{"name": "A", "value": "1"}]}]}}}},
        STRATEGIC, {**MANAGER, **DRY}, shows=normal.part("spec")),
    Ask("a strategic merge that replaces the template", "PATCH", STILL,
        {"spec": {"template": template("still", "new:2") | {"$patch": "replace"}}}, STRATEGIC,
        {**MANAGER, **DRY}, shows=normal.part("spec")),
    Ask("a strategic merge that deletes a container", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": CONTAINER, "$patch": "delete"}]}}}}, STRATEGIC,
        MANAGER, 422),
    Ask("a merge patch replaces the containers", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:latest"}]}}}}, MERGE,
        {**MANAGER, **DRY}, shows=normal.part("spec", "template", "spec", "containers")),
    Ask("a patch of the status leaves the spec alone", "PATCH", f"{STILL}/status",
        {"spec": {"replicas": 5}, "status": {"replicas": 7}}, MERGE, {**MANAGER, **DRY},
        shows=normal.parts("metadata.generation", "spec.replicas", "status.replicas")),
    Ask("replaced as a whole", "PUT", STILL, deployment("still", revisionHistoryLimit=3), query={**MANAGER, **DRY},
        shows=normal.parts("metadata.generation", "metadata.labels", "metadata.annotations", "spec", "status")),
    Ask("a strategic merge of variables", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": CONTAINER, "env": [{"name": "B", "value": "1"},
         {"name": "A", "value": "1"}], "ports": [{"containerPort": 80}], "args": ["x"]}],
         "tolerations": [{"key": "k"}], "nodeSelector": {"disk": "ssd"}}}}},
        STRATEGIC, {**MANAGER, **DRY}, shows=normal.part("spec")),
    Ask("probes and limits", "PATCH", STILL,
        {"spec": {"template": {"spec": {"containers": [{"name": CONTAINER, "readinessProbe":
         {"httpGet": {"port": 8080}}, "resources": {"limits": {"memory": "64Mi"}}, "env":
         [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
         "volumeMounts": [{"name": "c", "mountPath": "/c"}]}],
         "volumes": [{"name": "c", "configMap": {"name": "c"}}]}}}},
        STRATEGIC, {**MANAGER, **DRY}, shows=normal.part("spec")),
    Ask("a container that is null", "PATCH", STILL, [replace("/spec/template/spec/containers/0", None)], JSON_PATCH,
        MANAGER, 422),
    Ask("empty fields are as none", "PATCH", STILL,
        [{"op": "add", "path": "/spec/template/spec/containers/0/env", "value": []},
         {"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {}},
         {"op": "add", "path": "/spec/template/spec/containers/0/workingDir", "value": ""},
         {"op": "add", "path": "/spec/paused", "value": False},
         {"op": "add", "path": "/spec/minReadySeconds", "value": 0}],
        JSON_PATCH, {**MANAGER, **DRY}),
    Ask("a probe without a handler", "PATCH", STILL,
        [{"op": "add", "path": "/spec/template/spec/containers/0/livenessProbe", "value": {}}],
        JSON_PATCH, MANAGER, 422),
    Ask("a port out of range", "PATCH", STILL,
        [{"op": "add", "path": "/spec/template/spec/containers/0/ports", "value": [{"containerPort": 70000}]}],
        JSON_PATCH, MANAGER, 422),
    Ask("a volume without a source", "PATCH", STILL,
        [{"op": "add", "path": "/spec/template/spec/volumes", "value": [{"name": "v"}]}], JSON_PATCH,
        {**MANAGER, **DRY}, shows=normal.part("spec")),
    Ask("its scale", "GET", f"{STILL}/scale"),
    Ask("its status", "GET", f"{STILL}/status", shows=normal.part("status")),
    Ask("delete it in a dry run", "DELETE", STILL, query=DRY),
    Ask("delete it with what it owns", "DELETE", STILL),
    Ask("its ReplicaSets go too", "GET", f"{APPS}/replicasets", until=lambda b: not b["items"], shows=normal.names),
]  # fmt: skip

OTHERS = [
    Ask("a pod without an image", "POST", f"{CORE}/pods", pod("broken", ""), status=422),
    Ask("a pod with an unknown field, strictly", "POST", f"{CORE}/pods",
        pod("broken") | {"spec": {"containers": [{"name": "a", "image": "a", "imagePolicy": "x"}]}}, query=STRICT,
        status=400),
    Ask("a service without ports", "POST", f"{CORE}/services",
        {"metadata": {"name": "empty"}, "spec": {"selector": {"app": "x"}}}, status=422),
    Ask("a budget with both limits", "POST", f"{POLICY}/poddisruptionbudgets",
        {"metadata": {"name": "both"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}}, status=422),
    Ask("a budget of less than nothing", "POST", f"{POLICY}/poddisruptionbudgets",
        {"metadata": {"name": "less"}, "spec": {"minAvailable": -1}}, status=422),
    Ask("an autoscaler upside down", "POST", f"{APPS.replace('apps/v1', 'autoscaling/v2')}/horizontalpodautoscalers",
        {"metadata": {"name": "upside"}, "spec": {"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef":
         {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}}, status=422),
    Ask("a service", "POST", f"{CORE}/services",
        {"metadata": {"name": "front"}, "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}},
        query={**MANAGER, **DRY}, status=201,
        shows=normal.parts("kind", "spec.type", "spec.ports", "spec.selector", "spec.sessionAffinity", "status")),
    Ask("an autoscaler", "POST", f"{APPS.replace('apps/v1', 'autoscaling/v2')}/horizontalpodautoscalers",
        {"metadata": {"name": "upright"}, "spec": {"maxReplicas": 2, "metrics": [{"type": "Resource", "resource":
         {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}], "scaleTargetRef":
         {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}}, query={**MANAGER, **DRY}, status=201),
    Ask("a stateful set", "POST", f"{APPS}/statefulsets",
        {"metadata": {"name": "cart"}, "spec": {"replicas": 0, "serviceName": "cart", "selector":
         {"matchLabels": {"app": "cart"}}, "template": template("cart")}}, query=MANAGER, status=201),
    Ask("a stateful set may not change its selector", "PATCH", f"{APPS}/statefulsets/cart",
        {"spec": {"serviceName": "other"}}, MERGE, MANAGER, 422),
    Ask("a daemon set", "POST", f"{APPS}/daemonsets",
        {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template":
         {**template("agent"), "spec": {"nodeSelector": {"none": "such"},
                                        "containers": [{"name": "a", "image": "a:1"}]}}}},
        query={**MANAGER, **DRY}, status=201),
    Ask("an event", "POST", f"{CORE}/events",
        {"metadata": {"name": "told"}, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "differential"},
         "reason": "Told", "message": "by a test", "type": "Normal"}, query=MANAGER, status=201),
    Ask("events by what they are about", "GET", f"{CORE}/events",
        query={"fieldSelector": "involvedObject.name=x,reason=Told,type=Normal"}, shows=normal.names),
    Ask("an endpoint slice", "POST", f"{APPS.replace('apps/v1', 'discovery.k8s.io/v1')}/endpointslices",
        {"metadata": {"name": "one"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}],
         "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}, query=MANAGER, status=201),
    Ask("a node may be cordoned in a dry run", "PATCH", "/api/v1/nodes/node-1", {"spec": {"unschedulable": True}},
        STRATEGIC, {**MANAGER, **DRY}, shows=normal.part("spec", "unschedulable")),
]  # fmt: skip

ASKS = [*REFUSED, *STANDING, *OTHERS]
