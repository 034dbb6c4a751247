-- 001: experiments, their tasks, every raw sample.
-- Wall clock times are nanoseconds since 1970-01-01 UTC; measured durations carry their unit in the column beside them.

CREATE TABLE experiment (
  id             INTEGER PRIMARY KEY,
  kind           TEXT NOT NULL,      -- 'patterns', 'run'
  command        TEXT NOT NULL,      -- the command line that started it
  device         TEXT NOT NULL,      -- device spec, 'cpu'
  subject        TEXT NOT NULL,      -- program or programs, for listings
  plan           TEXT NOT NULL,      -- hash of everything that decides what is measured: a resumed experiment must have the same one
  seed           INTEGER NOT NULL,
  status         TEXT NOT NULL,      -- 'running', 'done', 'failed', 'interrupted'
  started_ns     INTEGER NOT NULL,
  finished_ns    INTEGER,            -- NULL while running, and for ever when killed
  configuration  TEXT NOT NULL,      -- JSON object
  environment    TEXT NOT NULL,      -- JSON object: machine, software, its state when the experiment started
  result         TEXT                -- JSON object as the command wrote it; NULL until done
);

CREATE TABLE task (
  id             INTEGER PRIMARY KEY,
  experiment     INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  key            TEXT NOT NULL,      -- what was measured: 'vmap_small/trial/3'
  status         TEXT NOT NULL,      -- 'ok', 'error', 'abort', 'timeout', 'out_of_memory', 'unsupported'
  message        TEXT,               -- why not, with the last words of a worker that died
  finished_ns    INTEGER NOT NULL,
  detail         TEXT NOT NULL,      -- JSON object: the worker's answer without its series
  UNIQUE (experiment, key)
);

CREATE TABLE sample (
  task           INTEGER NOT NULL REFERENCES task(id) ON DELETE CASCADE,
  metric         TEXT NOT NULL,      -- name of the series: 'execute'
  unit           TEXT NOT NULL,      -- 'ns', 'bytes', 'count'
  position       INTEGER NOT NULL,   -- in the order in which they were taken, from 0
  value          REAL NOT NULL,
  PRIMARY KEY (task, metric, position)
) WITHOUT ROWID;
