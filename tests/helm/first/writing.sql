BEGIN TRANSACTION;
CREATE TABLE blobs (
	digest TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "blobs" VALUES('40ba756c4ace68488ac5e97c06b0f9a75f9e9e7596eb797867b23b9a4bf6bac0','3 of 3 pods ready; 1 on the newest template; Progressing is False (ProgressDeadlineExceeded)
Deployment shop/checkout, uid 90c192cf-d3ac-44af-8f21-ddb66cad4a26, generation 2, created 2026-11-29T15:00:00Z
spec.replicas: 3
spec.progressDeadlineSeconds: 20
status.observedGeneration: 2
status.replicas: 4
status.updatedReplicas: 1
status.readyReplicas: 3
status.availableReplicas: 3
status.unavailableReplicas: 1
container app: image registry.example/checkout:1.5.0-crash
condition Available: True, MinimumReplicasAvailable, since 2026-11-29T15:00:01Z
condition Progressing: False, ProgressDeadlineExceeded, since 2026-11-29T15:00:30Z');
INSERT INTO "blobs" VALUES('7a4d6cd2b3c93d003cd1a9aef53ec5ee832b63bd337589d7f2d3f413a6f57f99','4 pods, 3 ready; checkout-v4d7sgc2w-xqsq8: app waiting (CrashLoopBackOff), 7 restarts, exit code 1 before
pod checkout-v4d7sgc2w-xqsq8: Running, not ready, on node-1
  condition Ready: False, ContainersNotReady, since 2026-11-29T15:00:11Z
  condition ContainersReady: False, ContainersNotReady, since 2026-11-29T15:00:11Z
  container app: waiting (CrashLoopBackOff), not ready, 7 restarts; before: ended (Error, exit code 1, at 2026-11-29T15:00:39Z)
pod checkout-gfkf27lcl-58qwc: Running, ready, on node-1
  container app: running since 2026-11-29T15:00:01Z, 0 restarts
pod checkout-gfkf27lcl-6zk9f: Running, ready, on node-2
  container app: running since 2026-11-29T15:00:01Z, 0 restarts
pod checkout-gfkf27lcl-gtwns: Running, ready, on node-3
  container app: running since 2026-11-29T15:00:01Z, 0 restarts');
INSERT INTO "blobs" VALUES('fab5a18ca5c26a12f7e17230be18f52e3ed20d438eae86fb84208ca2f377dc18','revision 2: 0 of 1 ready; revision 1: 3 of 3 ready
revision 2 (its template is the current one): checkout-v4d7sgc2w, created 2026-11-29T15:00:10Z, 0 of 1 ready, images: registry.example/checkout:1.5.0-crash
revision 1: checkout-gfkf27lcl, created 2026-11-29T15:00:00Z, 3 of 3 ready, images: registry.example/checkout:1.4.2');
INSERT INTO "blobs" VALUES('8648f9598316c063ee12ccf3265f09c51294edb9a23bdf605829568ca3814f51','--- before
+++ after
@@ -4,5 +4,5 @@
 spec:
   containers:
-  - image: registry.example/checkout:1.4.2
+  - image: registry.example/checkout:1.5.0-crash
     imagePullPolicy: IfNotPresent
     name: app');
INSERT INTO "blobs" VALUES('b5270e52b29ec744b13e61ec0c4b78dec412d6ad6a1cb49356932b0c7c500869','condition Available: Deployment has minimum availability.
condition Progressing: ReplicaSet "checkout-v4d7sgc2w" has timed out progressing.
pod checkout-v4d7sgc2w-xqsq8, condition Ready: containers with unready status: [app]
pod checkout-v4d7sgc2w-xqsq8, condition ContainersReady: containers with unready status: [app]
pod checkout-v4d7sgc2w-xqsq8, container app waiting: back-off 10s restarting failed container=app pod=checkout-v4d7sgc2w-xqsq8_shop(e040015c-e064-4114-85f1-115bb2fff17b)');
INSERT INTO "blobs" VALUES('8a034eec69e0529ab18e814250326489e23ff46bbfeaf747a715c5685471ca58','2026-11-29T15:00:39Z Warning BackOff (7 times), Pod checkout-v4d7sgc2w-xqsq8: Back-off restarting failed container app in pod checkout-v4d7sgc2w-xqsq8_shop(e040015c-e064-4114-85f1-115bb2fff17b)
2026-11-29T15:00:37Z Normal Started (8 times), Pod checkout-v4d7sgc2w-xqsq8: Started container app
2026-11-29T15:00:37Z Normal Created (8 times), Pod checkout-v4d7sgc2w-xqsq8: Created container: app
2026-11-29T15:00:11Z Normal Pulled, Pod checkout-v4d7sgc2w-xqsq8: Successfully pulled image "registry.example/checkout:1.5.0-crash"
2026-11-29T15:00:10Z Normal SuccessfulCreate, ReplicaSet checkout-v4d7sgc2w: Created pod: checkout-v4d7sgc2w-xqsq8
2026-11-29T15:00:10Z Normal Scheduled, Pod checkout-v4d7sgc2w-xqsq8: Successfully assigned shop/checkout-v4d7sgc2w-xqsq8 to node-1
2026-11-29T15:00:10Z Normal ScalingReplicaSet, Deployment checkout: Scaled up replica set checkout-v4d7sgc2w from 0 to 1
2026-11-29T15:00:10Z Normal Pulling, Pod checkout-v4d7sgc2w-xqsq8: Pulling image "registry.example/checkout:1.5.0-crash"
2026-11-29T15:00:00Z Normal ScalingReplicaSet, Deployment checkout: Scaled up replica set checkout-gfkf27lcl from 0 to 3');
INSERT INTO "blobs" VALUES('bd5082f7b3a6b2efff2f7b073347122f1afbb8562f38bf024a8dd8c02bf4bbe4','starting
configuration loaded
ERROR config: key "payments.endpoint" is required but not set
fatal: could not start: invalid configuration
');
INSERT INTO "blobs" VALUES('437aa890145b2e76b650e6b4d5bde00be0e56c3c9e0c8e6bbe7a84d4d9d86fa7','KubeDeploymentRolloutStuck, firing, severity warning, since 2026-11-29 15:00:40 UTC
label cluster: demo
label deployment: checkout
label namespace: shop
annotation summary: Rollout of deployment shop/checkout is stuck');
CREATE TABLE inbox (
	topic TEXT NOT NULL, 
	partition INTEGER NOT NULL, 
	"offset" BIGINT NOT NULL, 
	digest TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (topic, partition, "offset")
);
INSERT INTO "inbox" VALUES('alerts',0,0,'0bd619dcecfc3e4f1217d9d280c8a585a9776ed7a37fd949b798f8bd64d0d716','2026-11-29T15:00:40.000000+00:00');
CREATE TABLE incidents (
	id TEXT NOT NULL, 
	cluster TEXT NOT NULL, 
	identity TEXT NOT NULL, 
	episode TEXT NOT NULL, 
	state TEXT NOT NULL, 
	title TEXT NOT NULL, 
	target_uid TEXT, 
	target TEXT NOT NULL, 
	opened_at TEXT NOT NULL, 
	moved_at TEXT NOT NULL, 
	ended_at TEXT, 
	head INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	is_open BOOLEAN NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "incidents" VALUES('inc-rezcskzl7r','demo','db7e9f63919303ce5b2d11b15ceb7e19c6873bfd487fbbd1010aeb5d1ca20847','b443ed6fc4e9a100f8a9c356bc6c9a761084c7500763827bb44df523cd5903b8','executing','KubeDeploymentRolloutStuck','90c192cf-d3ac-44af-8f21-ddb66cad4a26','Deployment shop/checkout','2026-11-29T15:00:40.000000+00:00','2026-11-29T15:00:40.000000+00:00',NULL,11,1,1);
CREATE TABLE journal (
	incident TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	data TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (incident, seq)
);
INSERT INTO "journal" VALUES('inc-rezcskzl7r',1,'2026-11-29T15:00:40.000000+00:00','opened',1,'{"alert":{"annotations":{"summary":"Rollout of deployment shop/checkout is stuck"},"cluster":"demo","ends_at":null,"labels":{"cluster":"demo","deployment":"checkout","namespace":"shop"},"name":"KubeDeploymentRolloutStuck","seen_at":"2026-11-29T15:00:40Z","severity":"warning","starts_at":null,"status":"firing","trace_id":"","wire":"otlp_proto"},"episode":"b443ed6fc4e9a100f8a9c356bc6c9a761084c7500763827bb44df523cd5903b8","findings":[{"cause":"rollout_stuck","corroborated":false,"detector":"named_alert","facts":{"group":"kubernetes-apps"},"handling":"approve","severity":"warning","summary":"A rollout makes no progress; is the revision before it still ready?","target":{"container":"","kind":"Deployment","name":"checkout","namespace":"shop","uid":""}}],"identity":"db7e9f63919303ce5b2d11b15ceb7e19c6873bfd487fbbd1010aeb5d1ca20847","kind":"opened","source":{"digest":"0bd619dcecfc3e4f1217d9d280c8a585a9776ed7a37fd949b798f8bd64d0d716","offset":0,"partition":0,"topic":"alerts"},"target":{"container":"","kind":"Deployment","name":"checkout","namespace":"shop","uid":""}}','intake','','c691e4b8761d8b1e9809818fe71a71555eb93f8580370015bfea615342deaa82');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',2,'2026-11-29T15:00:40.000000+00:00','gathering_begun',1,'{"kind":"gathering_begun"}','handrail','c691e4b8761d8b1e9809818fe71a71555eb93f8580370015bfea615342deaa82','857fb0901e9c67f99a42d3161bb7ef3ccb37348ba9912c75ace37473436c55c0');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',3,'2026-11-29T15:00:40.000000+00:00','gathered',1,'{"away":[],"evidence":[{"at":"2026-11-29T15:00:40Z","digest":"40ba756c4ace68488ac5e97c06b0f9a75f9e9e7596eb797867b23b9a4bf6bac0","excerpt":"3 of 3 pods ready; 1 on the newest template; Progressing is False (ProgressDeadlineExceeded)\nDeployment shop/checkout, uid 90c192cf-d3ac-44af-8f21-ddb66cad4a26, generation 2, created 2026-11-29T15:00:00Z\nspec.replicas: 3\nspec.progressDeadlineSeconds: 20\nstatus.observedGeneration: 2\nstatus.replicas: 4\nstatus.updatedReplicas: 1\nstatus.readyReplicas: 3\nstatus.availableReplicas: 3\nstatus.unavailableReplicas: 1\ncontainer app: image registry.example/checkout:1.5.0-crash\ncondition Available: True, MinimumReplicasAvailable, since 2026-11-29T15:00:01Z\ncondition Progressing: False, ProgressDeadlineExcee","id":"e1","kind":"owner","source":"kubernetes: Deployment shop/checkout","title":"Deployment shop/checkout: spec and status","trust":"api"},{"at":"2026-11-29T15:00:40Z","digest":"7a4d6cd2b3c93d003cd1a9aef53ec5ee832b63bd337589d7f2d3f413a6f57f99","excerpt":"4 pods, 3 ready; checkout-v4d7sgc2w-xqsq8: app waiting (CrashLoopBackOff), 7 restarts, exit code 1 before\npod checkout-v4d7sgc2w-xqsq8: Running, not ready, on node-1\n  condition Ready: False, ContainersNotReady, since 2026-11-29T15:00:11Z\n  condition ContainersReady: False, ContainersNotReady, since 2026-11-29T15:00:11Z\n  container app: waiting (CrashLoopBackOff), not ready, 7 restarts; before: ended (Error, exit code 1, at 2026-11-29T15:00:39Z)\npod checkout-gfkf27lcl-58qwc: Running, ready, on node-1\n  container app: running since 2026-11-29T15:00:01Z, 0 restarts\npod checkout-gfkf27lcl-6zk9f: ","id":"e2","kind":"pods","source":"kubernetes: pods of Deployment shop/checkout","title":"Pods of Deployment shop/checkout","trust":"api"},{"at":"2026-11-29T15:00:40Z","digest":"fab5a18ca5c26a12f7e17230be18f52e3ed20d438eae86fb84208ca2f377dc18","excerpt":"revision 2: 0 of 1 ready; revision 1: 3 of 3 ready\nrevision 2 (its template is the current one): checkout-v4d7sgc2w, created 2026-11-29T15:00:10Z, 0 of 1 ready, images: registry.example/checkout:1.5.0-crash\nrevision 1: checkout-gfkf27lcl, created 2026-11-29T15:00:00Z, 3 of 3 ready, images: registry.example/checkout:1.4.2","id":"e3","kind":"revisions","source":"kubernetes: ReplicaSets of Deployment shop/checkout","title":"Revisions of Deployment shop/checkout, newest first","trust":"api"},{"at":"2026-11-29T15:00:40Z","digest":"8648f9598316c063ee12ccf3265f09c51294edb9a23bdf605829568ca3814f51","excerpt":"--- before\n+++ after\n@@ -4,5 +4,5 @@\n spec:\n   containers:\n-  - image: registry.example/checkout:1.4.2\n+  - image: registry.example/checkout:1.5.0-crash\n     imagePullPolicy: IfNotPresent\n     name: app","id":"e4","kind":"template_diff","source":"kubernetes: ReplicaSets of Deployment shop/checkout","title":"Deployment shop/checkout: what changed from revision 1 to revision 2","trust":"api"},{"at":"2026-11-29T15:00:40Z","digest":"b5270e52b29ec744b13e61ec0c4b78dec412d6ad6a1cb49356932b0c7c500869","excerpt":"condition Available: Deployment has minimum availability.\ncondition Progressing: ReplicaSet \"checkout-v4d7sgc2w\" has timed out progressing.\npod checkout-v4d7sgc2w-xqsq8, condition Ready: containers with unready status: [app]\npod checkout-v4d7sgc2w-xqsq8, condition ContainersReady: containers with unready status: [app]\npod checkout-v4d7sgc2w-xqsq8, container app waiting: back-off 10s restarting failed container=app pod=checkout-v4d7sgc2w-xqsq8_shop(e040015c-e064-4114-85f1-115bb2fff17b)","id":"e5","kind":"messages","source":"kubernetes: Deployment shop/checkout","title":"What Deployment shop/checkout and its pods say","trust":"text"},{"at":"2026-11-29T15:00:40Z","digest":"8a034eec69e0529ab18e814250326489e23ff46bbfeaf747a715c5685471ca58","excerpt":"2026-11-29T15:00:39Z Warning BackOff (7 times), Pod checkout-v4d7sgc2w-xqsq8: Back-off restarting failed container app in pod checkout-v4d7sgc2w-xqsq8_shop(e040015c-e064-4114-85f1-115bb2fff17b)\n2026-11-29T15:00:37Z Normal Started (8 times), Pod checkout-v4d7sgc2w-xqsq8: Started container app\n2026-11-29T15:00:37Z Normal Created (8 times), Pod checkout-v4d7sgc2w-xqsq8: Created container: app\n2026-11-29T15:00:11Z Normal Pulled, Pod checkout-v4d7sgc2w-xqsq8: Successfully pulled image \"registry.example/checkout:1.5.0-crash\"\n2026-11-29T15:00:10Z Normal SuccessfulCreate, ReplicaSet checkout-v4d7sgc2w","id":"e6","kind":"events","source":"kubernetes: events of Deployment shop/checkout and what it owns","title":"Events of Deployment shop/checkout, newest first","trust":"text"},{"at":"2026-11-29T15:00:40Z","digest":"bd5082f7b3a6b2efff2f7b073347122f1afbb8562f38bf024a8dd8c02bf4bbe4","excerpt":"starting\nconfiguration loaded\nERROR config: key \"payments.endpoint\" is required but not set\nfatal: could not start: invalid configuration\n","id":"e7","kind":"previous_logs","source":"kubernetes: logs of Pod shop/checkout-v4d7sgc2w-xqsq8","title":"Logs of container app in Pod shop/checkout-v4d7sgc2w-xqsq8, the run before, newest last","trust":"text"},{"at":"2026-11-29T15:00:40Z","digest":"437aa890145b2e76b650e6b4d5bde00be0e56c3c9e0c8e6bbe7a84d4d9d86fa7","excerpt":"KubeDeploymentRolloutStuck, firing, severity warning, since 2026-11-29 15:00:40 UTC\nlabel cluster: demo\nlabel deployment: checkout\nlabel namespace: shop\nannotation summary: Rollout of deployment shop/checkout is stuck","id":"e8","kind":"alert","source":"alert: KubeDeploymentRolloutStuck","title":"The alert KubeDeploymentRolloutStuck","trust":"text"}],"findings":[{"cause":"bad_revision_crashes","corroborated":true,"detector":"workload_rollout","facts":{"bad_revision":2,"container":"app","desired":3,"ended":"Error","exit_code":1,"healthy_revision":1,"pods":1,"ready":3,"reason":"CrashLoopBackOff","restarts":7},"handling":"approve","severity":"warning","summary":"revision 2 crashes (container app: CrashLoopBackOff, exit code 1) while revision 1 is ready","target":{"container":"app","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}},{"cause":"rollout_stuck","corroborated":false,"detector":"named_alert","facts":{"group":"kubernetes-apps"},"handling":"approve","severity":"warning","summary":"A rollout makes no progress; is the revision before it still ready?","target":{"container":"","kind":"Deployment","name":"checkout","namespace":"shop","uid":""}}],"kind":"gathered","severity":{"desired":3,"ready":3},"target":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}}','handrail','857fb0901e9c67f99a42d3161bb7ef3ccb37348ba9912c75ace37473436c55c0','db8d1cab29d0cd688ffa95da53d8f4a72f32515d7d99021fa56670c935683745');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',4,'2026-11-29T15:00:40.000000+00:00','offered',1,'{"kind":"offered","menu":{"not_offered":[{"detail":"a rollout of Deployment shop/checkout is under way (1 of 3 pods are on the newest template)","reason":"ROLLOUT_IN_PROGRESS","step":"rollout_restart"}],"options":[{"id":"o1","params":{"to_revision":1},"ranges":{},"risk":"disruptive","step":"rollout_undo","summary":"undo the rollout of Deployment shop/checkout to revision 1","target":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}},{"id":"o2","params":{},"ranges":{"replicas":[4,6]},"risk":"reversible","step":"scale_workload","summary":"scale Deployment shop/checkout up from 3 to at least 4, at most 6 replicas","target":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}}]}}','handrail','db8d1cab29d0cd688ffa95da53d8f4a72f32515d7d99021fa56670c935683745','61113effe04af3637329f0688abd56c76a41e38503164c203da850ea9bb3603b');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',5,'2026-11-29T15:00:40.000000+00:00','planned',1,'{"kind":"planned","planner":"runbook","proposal":{"choices":[{"option":"o1","params":{}}],"diagnosis":[{"confidence":"high","evidence":["e1","e2","e3","e4","e6"],"statement":"revision 2 crashes (container app: CrashLoopBackOff, exit code 1) while revision 1 is ready"}],"expected_effect":"all pods run the older revision again and stay ready","would_disprove":"pods of the older revision fail in the same way: then the cause lies outside this rollout"}}','handrail','61113effe04af3637329f0688abd56c76a41e38503164c203da850ea9bb3603b','fa8e820ddcff9bbcdf8153222206d4deee0dba27ec769d32874354c3b50acfd9');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',6,'2026-11-29T15:00:40.000000+00:00','compiled',1,'{"kind":"compiled","saga":{"at":"2026-11-29T15:00:40Z","incident":"inc-rezcskzl7r","round":1,"steps":[{"index":0,"params":{"to_revision":1},"risk":"disruptive","step":"rollout_undo","summary":"undo the rollout of Deployment shop/checkout to revision 1","target":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}}]}}','handrail','fa8e820ddcff9bbcdf8153222206d4deee0dba27ec769d32874354c3b50acfd9','7cc7bdc6e8e0e076f96e9eb38490a99bc9a1f277f8ba1ab9b3b4c07ea02bdae6');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',7,'2026-11-29T15:00:40.000000+00:00','rehearsed',1,'{"kind":"rehearsed","rehearsal":{"blast":{"notes":["3 of 3 pods are ready now","no ready pod goes before its replacement is ready"],"percent":0,"pods":4,"ready":3},"saga":{"at":"2026-11-29T15:00:40Z","incident":"inc-rezcskzl7r","round":1,"steps":[{"index":0,"params":{"to_revision":1},"risk":"disruptive","step":"rollout_undo","summary":"undo the rollout of Deployment shop/checkout to revision 1","target":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"}}]},"writes":[{"after":"0bbd06722db9fce0c3c833bcd6a9631a8ce159bbd8bfe56d59bdecfc890daabf","diff":"--- before\n+++ after\n@@ -24,5 +24,5 @@\n     spec:\n       containers:\n-      - image: registry.example/checkout:1.5.0-crash\n+      - image: registry.example/checkout:1.4.2\n         imagePullPolicy: IfNotPresent\n         name: app","fingerprint":"7318dd1e900393b0175f8bbc503435f8425c7ce6d6f9cea42613744eb4d9e630","rehearsed":true,"step":0,"undo_diff":"--- before\n+++ after\n@@ -24,5 +24,5 @@\n     spec:\n       containers:\n-      - image: registry.example/checkout:1.4.2\n+      - image: registry.example/checkout:1.5.0-crash\n         imagePullPolicy: IfNotPresent\n         name: app","write":{"body":null,"key":"inc-rezcskzl7r/1/0/do/90c192cf-d3ac-44af-8f21-ddb66cad4a26/patch","object":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"},"ops":[{"op":"replace","path":"/spec/template","value":{"metadata":{"labels":{"app":"checkout"}},"spec":{"containers":[{"image":"registry.example/checkout:1.4.2","imagePullPolicy":"IfNotPresent","name":"app","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}],"sets_replicas":false,"summary":"put the pod template of Deployment shop/checkout back to that of revision 1","verb":"patch"}}]}}','handrail','7cc7bdc6e8e0e076f96e9eb38490a99bc9a1f277f8ba1ab9b3b4c07ea02bdae6','69820566c74840ca5dbbef10a5f8f96071406902d2cf49fb7e77543b0716e708');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',8,'2026-11-29T15:00:40.000000+00:00','asked',1,'{"kind":"asked","request":{"approvers":{"groups":[],"local":true,"slack_users":[],"users":[]},"asked_at":"2026-11-29T15:00:40Z","expires":"2026-11-29T15:30:40Z","hash":"9a17a0c5575b9529dbbf05585cd39ebdf17bed06267a8721035901bf076d0f3b","id":"request-1-150040000000","run_until":"2026-11-29T16:00:40Z","undo_included":true}}','handrail','69820566c74840ca5dbbef10a5f8f96071406902d2cf49fb7e77543b0716e708','6921083c9587c4322bcd8ae3abd54f82d8042e4991f47e0e7d0465528cccbc42');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',9,'2026-11-29T15:00:40.000000+00:00','approved',1,'{"by":{"groups":[],"name":"tester","via":"local"},"kind":"approved","request":"request-1-150040000000"}','local:tester','6921083c9587c4322bcd8ae3abd54f82d8042e4991f47e0e7d0465528cccbc42','28d2df29dd085294f85ec47cad9dafaa74a8ee1f412222d24ed952e0772296e9');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',10,'2026-11-29T15:00:40.000000+00:00','step_begun',1,'{"before":{"desired":3,"ready":3,"revision":2,"template":{"metadata":{"labels":{"app":"checkout"}},"spec":{"containers":[{"image":"registry.example/checkout:1.5.0-crash","imagePullPolicy":"IfNotPresent","name":"app","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}},"to":"85bb183856f5b07488350f8578c0274ffecda700a00c0cd1663c4581d3a7a048"},"kind":"step_begun","step":0}','handrail','28d2df29dd085294f85ec47cad9dafaa74a8ee1f412222d24ed952e0772296e9','6079fb98dac154684fa1dda8e892d58a3ef36f092a6b2cea61c75bb28cfa8179');
INSERT INTO "journal" VALUES('inc-rezcskzl7r',11,'2026-11-29T15:00:40.000000+00:00','intent',1,'{"direction":"do","expected":"7318dd1e900393b0175f8bbc503435f8425c7ce6d6f9cea42613744eb4d9e630","kind":"intent","resource_version":"90","step":0,"write":{"body":null,"key":"inc-rezcskzl7r/1/0/do/90c192cf-d3ac-44af-8f21-ddb66cad4a26/patch","object":{"api_version":"apps/v1","kind":"Deployment","name":"checkout","namespace":"shop","uid":"90c192cf-d3ac-44af-8f21-ddb66cad4a26"},"ops":[{"op":"replace","path":"/spec/template","value":{"metadata":{"labels":{"app":"checkout"}},"spec":{"containers":[{"image":"registry.example/checkout:1.4.2","imagePullPolicy":"IfNotPresent","name":"app","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}],"sets_replicas":false,"summary":"put the pod template of Deployment shop/checkout back to that of revision 1","verb":"patch"}}','handrail','6079fb98dac154684fa1dda8e892d58a3ef36f092a6b2cea61c75bb28cfa8179','0d58079e6e86de073d30b17d3817a1aa4912c20e38e8ef8f9f5a18c3c88f302b');
CREATE TABLE meta (
	id INTEGER NOT NULL CHECK (id = 1), 
	schema INTEGER NOT NULL, 
	min_reader INTEGER NOT NULL, 
	holder_epoch INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "meta" VALUES(1,1,1,1);
CREATE TABLE saga_starts (
	target_uid TEXT NOT NULL, 
	incident TEXT NOT NULL, 
	round INTEGER NOT NULL, 
	saga TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (target_uid, incident, round), 
	FOREIGN KEY(incident) REFERENCES incidents (id)
);
INSERT INTO "saga_starts" VALUES('90c192cf-d3ac-44af-8f21-ddb66cad4a26','inc-rezcskzl7r',1,'522a5e983c73d569ee4400c6b6a333e37df806155db261f3fc5005075a77fe76','2026-11-29T15:00:40.000000+00:00');
CREATE TABLE signals (
	id INTEGER NOT NULL, 
	incident TEXT, 
	seq INTEGER, 
	identity TEXT NOT NULL, 
	episode TEXT NOT NULL, 
	name TEXT NOT NULL, 
	status TEXT NOT NULL, 
	seen_at TEXT NOT NULL, 
	at TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(incident) REFERENCES incidents (id)
);
INSERT INTO "signals" VALUES(1,'inc-rezcskzl7r',1,'db7e9f63919303ce5b2d11b15ceb7e19c6873bfd487fbbd1010aeb5d1ca20847','b443ed6fc4e9a100f8a9c356bc6c9a761084c7500763827bb44df523cd5903b8','KubeDeploymentRolloutStuck','firing','2026-11-29T15:00:40.000000+00:00','2026-11-29T15:00:40.000000+00:00','{"annotations":{"summary":"Rollout of deployment shop/checkout is stuck"},"cluster":"demo","ends_at":null,"labels":{"cluster":"demo","deployment":"checkout","namespace":"shop"},"name":"KubeDeploymentRolloutStuck","seen_at":"2026-11-29T15:00:40Z","severity":"warning","starts_at":null,"status":"firing","trace_id":"","wire":"otlp_proto"}');
CREATE TABLE switch (
	id INTEGER NOT NULL CHECK (id = 1), 
	stopped BOOLEAN NOT NULL, 
	"by" TEXT NOT NULL, 
	why TEXT NOT NULL, 
	at TEXT, 
	head INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "switch" VALUES(1,0,'','',NULL,0);
CREATE TABLE telling (
	incident TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	ts TEXT NOT NULL, 
	told_seq INTEGER NOT NULL, 
	PRIMARY KEY (incident), 
	FOREIGN KEY(incident) REFERENCES incidents (id)
);
CREATE INDEX incidents_by_identity ON incidents (cluster, identity, ended_at);
CREATE UNIQUE INDEX one_open_incident_per_target ON incidents (cluster, target_uid) WHERE is_open IS 1;
CREATE UNIQUE INDEX one_open_incident_per_identity ON incidents (cluster, identity) WHERE is_open IS 1;
CREATE INDEX incidents_by_opening ON incidents (opened_at);
CREATE TRIGGER journal_refuses_update BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_refuses_delete BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_refuses_replace BEFORE INSERT ON journal WHEN EXISTS (SELECT 1 FROM journal WHERE incident = NEW.incident AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE INDEX signals_by_identity ON signals (identity, seen_at);
CREATE INDEX signals_by_incident ON signals (incident, seq);
COMMIT;
