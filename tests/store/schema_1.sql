BEGIN TRANSACTION;
CREATE TABLE blobs (
	digest TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE inbox (
	topic TEXT NOT NULL, 
	partition INTEGER NOT NULL, 
	"offset" BIGINT NOT NULL, 
	digest TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (topic, partition, "offset")
);
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
CREATE UNIQUE INDEX one_open_incident_per_target ON incidents (cluster, target_uid) WHERE is_open IS 1;
CREATE INDEX incidents_by_opening ON incidents (opened_at);
CREATE UNIQUE INDEX one_open_incident_per_identity ON incidents (cluster, identity) WHERE is_open IS 1;
CREATE INDEX incidents_by_identity ON incidents (cluster, identity, ended_at);
CREATE TRIGGER journal_refuses_update BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_refuses_delete BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_refuses_replace BEFORE INSERT ON journal WHEN EXISTS (SELECT 1 FROM journal WHERE incident = NEW.incident AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE INDEX signals_by_incident ON signals (incident, seq);
CREATE INDEX signals_by_identity ON signals (identity, seen_at);
COMMIT;
