BEGIN TRANSACTION;
CREATE TABLE ledger_answer (
	statement INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	table_name TEXT NOT NULL, 
	column_name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	records BLOB NOT NULL, 
	signs BLOB, 
	value TEXT NOT NULL, 
	PRIMARY KEY (statement, position)
);
INSERT INTO "ledger_answer" VALUES(1,0,'staff','salary','sum',X'32789C63666061A865060001250088',X'789C63FCCF080002050102','-7/3');
INSERT INTO "ledger_answer" VALUES(1,1,'staff','salary','max',X'32789C6360F8C2080001ED00F6',NULL,'240/1');
CREATE TABLE ledger_binding (
	id TEXT NOT NULL, 
	format INTEGER NOT NULL, 
	protect_digest TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	sizes TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	protect TEXT NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "ledger_binding" VALUES('c313e10edaa44598a90af93672bac51d',2,'digest','fingerprint','[["staff","salary",1000]]','everyone','[{"column":"salary","maximum":"250","step":"10"}]','2026-11-20T18:46:36.589647+00:00');
CREATE TABLE ledger_statement (
	number INTEGER NOT NULL, 
	time TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	sql TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	normalised TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	code TEXT NOT NULL, 
	is_check INTEGER NOT NULL, 
	risk_before FLOAT, 
	risk_after FLOAT, 
	leak INTEGER NOT NULL, 
	answers INTEGER NOT NULL, 
	hash BLOB NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "ledger_statement" VALUES(1,'2026-11-20T18:46:36.612997+00:00','ann','SELECT max(salary) FROM staff','','','answered','answered',0,NULL,NULL,0,2,X'9788BB8FB8769A42400AFBF2C9B2DFEE76CB4F7CA44080037C3B4250A8B808E8');
INSERT INTO "ledger_statement" VALUES(2,'2026-11-20T18:46:36.615866+00:00','bob','SELECT 1','','','refused','risk',0,0.2,0.9,0,0,X'05A46CA42E9B7CDF49A27BB9B1EA0160891CC435F6822C1ECFE5786486622CCC');
CREATE TRIGGER ledger_binding_no_update BEFORE UPDATE ON ledger_binding BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_binding_no_delete BEFORE DELETE ON ledger_binding BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_statement_no_update BEFORE UPDATE ON ledger_statement BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_statement_no_delete BEFORE DELETE ON ledger_statement BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_answer_no_update BEFORE UPDATE ON ledger_answer BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_answer_no_delete BEFORE DELETE ON ledger_answer BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
