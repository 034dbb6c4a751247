// store.c - the result store on SQLite.
//
// synchronous=NORMAL in WAL mode: a commit is safe against the death of any process, and costs no
// fsync; a power cut may lose the last ones.
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/files/private_file.h"
#include "lab/store/store.h"
#include "lab/store/store_guard_internal.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

static const struct {
  int number;
  const char *name;
  const char *sql;
} MIGRATIONS[] = {
#include "lab_schema.inc"
};

struct hsc_store {
  sqlite3 *db;
  char *path;
};

// ---- SQLite, with statuses ----------------------------------------------------------------------

static hsc_status *sql_error(const hsc_store *store, int rc, const char *what) {
  const char *text = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc);
  switch (rc & 0xff) {
    case SQLITE_NOMEM:
      return hsc_status_out_of_memory();
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return hsc_status_hint(HSC_ERR(DATA_LOSS, "%s: not a result store: %s", store->path, text),
                             "move the file away, or choose another one with --store FILE");
    case SQLITE_CANTOPEN:
      return HSC_ERR(NOT_FOUND, "%s: cannot open the result store: %s", store->path, text);
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return HSC_ERR(PERMISSION_DENIED, "%s: the result store cannot be written: %s", store->path,
                     text);
    case SQLITE_IOERR:  // a disk, or a limit of the process, that takes no more
      return HSC_ERR(UNAVAILABLE, "%s: the result store cannot be written: %s", store->path, text);
    case SQLITE_FULL:
      return HSC_ERR(RESOURCE_EXHAUSTED, "%s: no room for results: %s", store->path, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return hsc_status_hint(
          HSC_ERR(UNAVAILABLE, "%s: another process keeps the result store locked", store->path),
          "wait for it to end, or use a store of your own (--store FILE)");
    default:
      return HSC_ERR(INTERNAL, "%s: %s: %s", store->path, what, text);
  }
}

static hsc_status *sql_run(hsc_store *store, const char *sql) {
  int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? NULL : sql_error(store, rc, sql);
}

static hsc_status *sql_prepare(hsc_store *store, const char *sql, sqlite3_stmt **out_statement) {
  int rc = sqlite3_prepare_v2(store->db, sql, -1, out_statement, NULL);
  return rc == SQLITE_OK ? NULL : sql_error(store, rc, sql);
}

// One step; *out_row tells whether there is a row.
static hsc_status *sql_step(hsc_store *store, sqlite3_stmt *statement, bool *out_row) {
  int rc = sqlite3_step(statement);
  if (out_row)
    *out_row = rc == SQLITE_ROW;
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? NULL
                                               : sql_error(store, rc, sqlite3_sql(statement));
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
  if (text)
    sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
  else
    sqlite3_bind_null(statement, index);
}

// Writes JSON text; a NULL value becomes NULL, or "{}" when the column must have one.
static hsc_status *bind_json(sqlite3_stmt *statement, int index, json_t *value, bool required) {
  if (!value) {
    bind_text(statement, index, required ? "{}" : NULL);
    return NULL;
  }
  char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (!text)
    return hsc_status_out_of_memory();
  sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
  free(text);
  return NULL;
}

static char *column_copy(sqlite3_stmt *statement, int column) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return text ? hsc_strdup(text) : NULL;
}

static json_t *column_json(sqlite3_stmt *statement, int column) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return text ? json_loads(text, 0, NULL) : NULL;
}

// ---- opening ------------------------------------------------------------------------------------

static hsc_status *user_version(hsc_store *store, int *out_version) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store, "PRAGMA user_version", &statement));
  hsc_status *status = sql_step(store, statement, NULL);
  *out_version = sqlite3_column_int(statement, 0);
  sqlite3_finalize(statement);
  return status;
}

static hsc_status *not_a_store(const hsc_store *store) {
  return hsc_status_hint(
      HSC_ERR(DATA_LOSS, "%s: not a result store: its tables are not hloscope's", store->path),
      "move the file away, or choose another one with --store FILE");
}

// A database of somebody else: it has tables, and no version of ours. Nothing is changed in it.
static hsc_status *check_whose(hsc_store *store) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store,
                      "SELECT user_version < 1 AND EXISTS (SELECT 1 FROM sqlite_master) "
                      "FROM pragma_user_version",
                      &statement));
  hsc_status *status = sql_step(store, statement, NULL);
  if (!status && sqlite3_column_int(statement, 0))
    status = not_a_store(store);
  sqlite3_finalize(statement);
  return status;
}

static hsc_status *migrate(hsc_store *store) {
  int newest = MIGRATIONS[HSC_COUNT_OF(MIGRATIONS) - 1].number;
  int version = 0;
  HSC_TRY(user_version(store, &version));
  if (version == newest)
    return NULL;
  if (version > newest)
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION,
                "%s: written by a newer hloscope (schema %d; this one knows up to %d)", store->path,
                version, newest),
        "choose another store with --store FILE");
  HSC_TRY(sql_run(store, "BEGIN IMMEDIATE"));
  hsc_status *status = user_version(store, &version);  // another process may have been faster
  for (size_t i = 0; !status && i < HSC_COUNT_OF(MIGRATIONS); i++) {
    if (MIGRATIONS[i].number <= version)
      continue;
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", MIGRATIONS[i].number);
    status = sql_run(store, MIGRATIONS[i].sql);
    if (!status)
      status = sql_run(store, pragma);
    if (status)
      status = hsc_status_note(status, "while: applying %s", MIGRATIONS[i].name);
  }
  if (!status)
    status = sql_run(store, "COMMIT");
  if (status)
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

// The tables are those that the migrations make: no columns that compute, no views.
static hsc_status *check_tables(hsc_store *store) {
  sqlite3_stmt *statement = NULL;
  bool row = false;
  int known = 0;
  hsc_status *status = NULL;
  HSC_TRY(sql_prepare(
      store, "SELECT sql FROM sqlite_master WHERE name IN ('experiment', 'task', 'sample')",
      &statement));
  while (!(status = sql_step(store, statement, &row)) && row) {
    const char *sql = (const char *)sqlite3_column_text(statement, 0);
    for (size_t i = 0; sql && *sql && i < HSC_COUNT_OF(MIGRATIONS); i++)
      known += hsc__store_says(MIGRATIONS[i].sql, sql);
  }
  sqlite3_finalize(statement);
  if (!status && known != 3)
    status = not_a_store(store);
  return status;
}

// The store in the cache directory: this user's, and never behind a link.
static hsc_status *make_own_file(const char *path) {
  int fd;
  HSC_TRY(hsc_private_file_open(path, &fd));
  close(fd);
  return NULL;
}

hsc_status *hsc_store_open(const char *path, hsc_store **out_store) {
  *out_store = NULL;
  hsc_store *store = hsc_alloc(sizeof(*store));
  if (!store)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  if (!path)
    path = getenv("HLOSCOPE_STORE");
  if (path && !*path)
    path = NULL;
  if (path) {
    store->path = hsc_strdup(path);
  } else {
    char *dir = NULL;
    HSC_GOTO(hsc_cache_dir(&dir));
    hsc_bytes text = {0};
    hsc_bytes_printf(&text, "%s/results.sqlite", dir);
    hsc_free(dir);
    store->path = hsc_bytes_take(&text);
  }
  if (!store->path)
    HSC_GOTO(hsc_status_out_of_memory());
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  HSC_GOTO(path ? hsc__store_check_file(path) : make_own_file(store->path));
  HSC_GOTO(hsc__store_check_beside(store->path));
  int rc =
      sqlite3_open_v2(store->path, &store->db, flags | (path ? 0 : SQLITE_OPEN_NOFOLLOW), NULL);
  if (rc != SQLITE_OK)
    HSC_GOTO(sql_error(store, rc, "open"));
  hsc__store_trust_nothing(store->db);
  sqlite3_busy_timeout(store->db, 10000);
  // The last connection to close would copy the log into the file and wait for the disk: a short
  // command would spend most of its time there. The log is copied when it has grown (every 1000
  // pages), and read at the next opening.
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  HSC_GOTO(check_whose(store));
  HSC_GOTO(sql_run(
      store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON"));
  HSC_GOTO(migrate(store));
  HSC_GOTO(check_tables(store));
  *out_store = store;
  return NULL;
done:
  hsc_store_close(store);
  return status;
}

void hsc_store_close(hsc_store *store) {
  if (!store)
    return;
  sqlite3_close_v2(store->db);
  hsc_free(store->path);
  hsc_free(store);
}

const char *hsc_store_path(const hsc_store *store) {
  return store->path;
}

// ---- experiments --------------------------------------------------------------------------------

hsc_status *hsc_store_begin(hsc_store *store, const hsc_experiment *e, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(
      store,
      "INSERT INTO experiment (kind, command, device, subject, plan, seed, status, started_ns, "
      "configuration, environment) "
      "VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?)",
      &statement));
  hsc_status *status = NULL;
  const char *const texts[] = {e->kind, e->command, e->device, e->subject, e->plan};
  for (int i = 0; i < 5; i++)
    bind_text(statement, i + 1, texts[i] ? texts[i] : "");
  sqlite3_bind_int64(statement, 6, (int64_t)e->seed);
  sqlite3_bind_int64(statement, 7, e->started_ns ? e->started_ns : hsc_wall_ns());
  HSC_GOTO(bind_json(statement, 8, e->configuration, true));
  HSC_GOTO(bind_json(statement, 9, e->environment, true));
  HSC_GOTO(sql_step(store, statement, NULL));
  *out_id = sqlite3_last_insert_rowid(store->db);
done:
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_finish(hsc_store *store,
                             int64_t experiment,
                             const char *end_status,
                             json_t *result) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store,
                      "UPDATE experiment SET status = ?, finished_ns = ?, result = ? WHERE id = ?",
                      &statement));
  hsc_status *status = NULL;
  bind_text(statement, 1, end_status);
  sqlite3_bind_int64(statement, 2, hsc_wall_ns());
  HSC_GOTO(bind_json(statement, 3, result, false));
  sqlite3_bind_int64(statement, 4, experiment);
  HSC_GOTO(sql_step(store, statement, NULL));
done:
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_end(
    hsc_store *store, int64_t experiment, hsc_status *status, bool interrupted, json_t *result) {
  const char *state = "done";
  if (interrupted || hsc_status_code(status) == HSC_CANCELLED)
    state = "interrupted";
  else if (status)
    state = "failed";
  hsc_status *finish = hsc_store_finish(store, experiment, state, result);
  if (!status)
    return finish;
  hsc_status_free(finish);
  return status;
}

hsc_status *hsc_store_reopen(hsc_store *store, int64_t experiment) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store,
                      "UPDATE experiment SET status = 'running', finished_ns = NULL WHERE id = ?",
                      &statement));
  sqlite3_bind_int64(statement, 1, experiment);
  hsc_status *status = sql_step(store, statement, NULL);
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_resumable(hsc_store *store, const char *plan, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  *out_id = 0;
  HSC_TRY(sql_prepare(
      store,
      "SELECT id FROM experiment WHERE plan = ? AND status <> 'done' ORDER BY id DESC LIMIT 1",
      &statement));
  bind_text(statement, 1, plan);
  bool row = false;
  hsc_status *status = sql_step(store, statement, &row);
  if (row)
    *out_id = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return status;
}

void hsc_experiment_list_deinit(hsc_experiment_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    hsc_experiment *e = &list->items[i];
    const char *const texts[] = {e->kind, e->command, e->device, e->subject, e->plan, e->status};
    for (size_t k = 0; k < HSC_COUNT_OF(texts); k++)
      hsc_free((void *)texts[k]);
    json_decref(e->configuration);
    json_decref(e->environment);
    json_decref(e->result);
  }
  hsc_free(list->items);
  *list = (hsc_experiment_list){0};
}

// None of these columns is without a value: what is missing was not to be had of memory.
static bool has_texts(const hsc_experiment *e) {
  return e->kind && e->command && e->device && e->subject && e->plan && e->status;
}

#define EXPERIMENT_COLUMNS \
  "id, kind, command, device, subject, plan, status, seed, started_ns, finished_ns, " \
  "configuration, environment, " \
  "(SELECT count(*) FROM task WHERE experiment = e.id), " \
  "(SELECT count(*) FROM sample WHERE task IN (SELECT id FROM task WHERE experiment = e.id))"

static hsc_status *read_experiments(hsc_store *store,
                                    sqlite3_stmt *statement,
                                    hsc_experiment_list *out_list,
                                    bool with_result) {
  hsc_experiment_list list = {0};
  size_t capacity = 0;
  hsc_status *status = NULL;
  for (;;) {
    bool row = false;
    status = sql_step(store, statement, &row);
    if (status || !row)
      break;
    if (!HSC_GROW(list.items, list.count, capacity)) {
      status = hsc_status_out_of_memory();
      break;
    }
    list.items[list.count++] =
        (hsc_experiment){.id = sqlite3_column_int64(statement, 0),
                         .kind = column_copy(statement, 1),
                         .command = column_copy(statement, 2),
                         .device = column_copy(statement, 3),
                         .subject = column_copy(statement, 4),
                         .plan = column_copy(statement, 5),
                         .status = column_copy(statement, 6),
                         .seed = (uint64_t)sqlite3_column_int64(statement, 7),
                         .started_ns = sqlite3_column_int64(statement, 8),
                         .finished_ns = sqlite3_column_int64(statement, 9),
                         .configuration = column_json(statement, 10),
                         .environment = column_json(statement, 11),
                         .task_count = sqlite3_column_int64(statement, 12),
                         .sample_count = sqlite3_column_int64(statement, 13),
                         .result = with_result ? column_json(statement, 14) : NULL};
    if (!has_texts(&list.items[list.count - 1])) {
      status = hsc_status_out_of_memory();
      break;
    }
  }
  if (status)
    hsc_experiment_list_deinit(&list);
  *out_list = list;
  return status;
}

hsc_status *hsc_store_list(hsc_store *store, size_t limit, hsc_experiment_list *out_list) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store,
                      "SELECT " EXPERIMENT_COLUMNS " FROM experiment e ORDER BY id DESC LIMIT ?",
                      &statement));
  sqlite3_bind_int64(statement, 1, limit ? (int64_t)limit : -1);
  hsc_status *status = read_experiments(store, statement, out_list, false);
  sqlite3_finalize(statement);
  return status;
}

static hsc_status *no_experiment(hsc_store *store, int64_t id) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store, "SELECT count(*), min(id), max(id) FROM experiment", &statement));
  hsc_status *status = sql_step(store, statement, NULL);
  if (!status) {
    status = HSC_ERR(NOT_FOUND, "no experiment %lld in %s", (long long)id, store->path);
    status = sqlite3_column_int64(statement, 0)
                 ? hsc_status_hint(status, "it holds %lld to %lld: hloscope results list",
                                   (long long)sqlite3_column_int64(statement, 1),
                                   (long long)sqlite3_column_int64(statement, 2))
                 : hsc_status_hint(status, "it is empty: hloscope patterns makes the first one");
  }
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_get(hsc_store *store, int64_t id, hsc_experiment_list *out_list) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store, "SELECT " EXPERIMENT_COLUMNS ", result FROM experiment e WHERE id = ?",
                      &statement));
  sqlite3_bind_int64(statement, 1, id);
  hsc_status *status = read_experiments(store, statement, out_list, true);
  sqlite3_finalize(statement);
  if (!status && out_list->count == 0)
    status = no_experiment(store, id);
  return status;
}

// ---- tasks and samples --------------------------------------------------------------------------

// "execute_ns" -> metric "execute", unit "ns".
static bool split_unit(const char *name, hsc_view *out_metric, const char **out_unit) {
  static const char *const units[] = {"ns", "bytes", "count"};
  const char *mark = strrchr(name, '_');
  if (!mark || mark == name)
    return false;
  for (size_t i = 0; i < HSC_COUNT_OF(units); i++) {
    if (strcmp(mark + 1, units[i]) != 0)
      continue;
    *out_metric = (hsc_view){name, (size_t)(mark - name)};
    *out_unit = units[i];
    return true;
  }
  return false;
}

static hsc_status *put_samples(hsc_store *store, int64_t task, json_t *series) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(
      store, "INSERT INTO sample (task, metric, unit, position, value) VALUES (?, ?, ?, ?, ?)",
      &statement));
  hsc_status *status = NULL;
  const char *name;
  json_t *values;
  json_object_foreach (series, name, values) {
    hsc_view metric;
    const char *unit;
    if (!json_is_array(values) || !split_unit(name, &metric, &unit)) {
      status = HSC_ERR(INTERNAL,
                       "series '%s' is no array, or its name does not end in _ns, _bytes or _count",
                       name);
      break;
    }
    size_t position;
    json_t *value;
    json_array_foreach (values, position, value) {
      sqlite3_bind_int64(statement, 1, task);
      sqlite3_bind_text(statement, 2, metric.data, (int)metric.size, SQLITE_TRANSIENT);
      sqlite3_bind_text(statement, 3, unit, -1, SQLITE_STATIC);
      sqlite3_bind_int64(statement, 4, (int64_t)position);
      sqlite3_bind_double(statement, 5, json_number_value(value));
      status = sql_step(store, statement, NULL);
      if (status)
        break;
      sqlite3_reset(statement);
    }
    if (status)
      break;
  }
  sqlite3_finalize(statement);
  return status;
}

static hsc_status *put_task(hsc_store *store, int64_t experiment, const hsc_task *task) {
  sqlite3_stmt *statement = NULL;
  hsc_status *status = NULL;
  json_t *detail = task->answer ? json_copy(task->answer) : json_object();
  if (!detail)
    return hsc_status_out_of_memory();
  json_object_del(detail, "series");
  HSC_GOTO(sql_prepare(store, "DELETE FROM task WHERE experiment = ? AND key = ?", &statement));
  sqlite3_bind_int64(statement, 1, experiment);
  bind_text(statement, 2, task->key);
  HSC_GOTO(sql_step(store, statement, NULL));
  sqlite3_finalize(statement);
  statement = NULL;
  HSC_GOTO(sql_prepare(store,
                       "INSERT INTO task (experiment, key, status, message, finished_ns, detail) "
                       "VALUES (?, ?, ?, ?, ?, ?)",
                       &statement));
  sqlite3_bind_int64(statement, 1, experiment);
  bind_text(statement, 2, task->key);
  bind_text(statement, 3, task->status);
  bind_text(statement, 4, task->message);
  sqlite3_bind_int64(statement, 5, hsc_wall_ns());
  HSC_GOTO(bind_json(statement, 6, detail, true));
  HSC_GOTO(sql_step(store, statement, NULL));
  json_t *series = task->answer ? json_object_get(task->answer, "series") : NULL;
  if (series)
    HSC_GOTO(put_samples(store, sqlite3_last_insert_rowid(store->db), series));
done:
  sqlite3_finalize(statement);
  json_decref(detail);
  return status;
}

hsc_status *hsc_store_put_task(hsc_store *store, int64_t experiment, const hsc_task *task) {
  HSC_TRY(sql_run(store, "BEGIN IMMEDIATE"));
  hsc_status *status = put_task(store, experiment, task);
  if (!status)
    status = sql_run(store, "COMMIT");
  if (status)
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

// Puts the samples of a task back as the "series" member of its answer.
static hsc_status *get_samples(hsc_store *store, int64_t task, json_t *answer) {
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(store,
                      "SELECT metric || '_' || unit, value FROM sample WHERE task = ? ORDER BY "
                      "metric, unit, position",
                      &statement));
  sqlite3_bind_int64(statement, 1, task);
  json_t *series = NULL;
  hsc_status *status = NULL;
  for (;;) {
    bool row = false;
    status = sql_step(store, statement, &row);
    if (status || !row)
      break;
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    double value = sqlite3_column_double(statement, 1);
    if (!series) {
      series = json_object();
      json_object_set_new(answer, "series", series);
    }
    json_t *values = json_object_get(series, name);
    if (!values) {
      values = json_array();
      json_object_set_new(series, name, values);
    }
    bool whole = value == floor(value) && fabs(value) < 9e15;
    json_array_append_new(values, whole ? json_integer((json_int_t)value) : json_real(value));
  }
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_get_task(hsc_store *store,
                               int64_t experiment,
                               const char *key,
                               char **out_status,
                               char **out_message,
                               json_t **out_answer) {
  *out_status = *out_message = NULL;
  *out_answer = NULL;
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(
      store, "SELECT id, status, message, detail FROM task WHERE experiment = ? AND key = ?",
      &statement));
  sqlite3_bind_int64(statement, 1, experiment);
  bind_text(statement, 2, key);
  bool row = false;
  hsc_status *status = sql_step(store, statement, &row);
  if (!status && row) {
    *out_status = column_copy(statement, 1);
    *out_message = column_copy(statement, 2);
    *out_answer = column_json(statement, 3);
    if (!*out_answer)
      *out_answer = json_object();
    status = get_samples(store, sqlite3_column_int64(statement, 0), *out_answer);
  }
  sqlite3_finalize(statement);
  return status;
}

hsc_status *hsc_store_tasks(hsc_store *store, int64_t experiment, json_t **out_tasks) {
  *out_tasks = NULL;
  sqlite3_stmt *statement = NULL;
  HSC_TRY(sql_prepare(
      store, "SELECT id, key, status, message, detail FROM task WHERE experiment = ? ORDER BY id",
      &statement));
  sqlite3_bind_int64(statement, 1, experiment);
  json_t *tasks = json_array();
  hsc_status *status = NULL;
  for (;;) {
    bool row = false;
    status = sql_step(store, statement, &row);
    if (status || !row)
      break;
    json_t *answer = column_json(statement, 4);
    if (!answer)
      answer = json_object();
    json_t *task = json_pack("{s:s, s:s, s:s?, s:o}", "key", sqlite3_column_text(statement, 1),
                             "status", sqlite3_column_text(statement, 2), "message",
                             sqlite3_column_text(statement, 3), "answer", answer);
    if (!task || json_array_append_new(tasks, task) < 0) {
      status = hsc_status_out_of_memory();
      break;
    }
    status = get_samples(store, sqlite3_column_int64(statement, 0), answer);
    if (status)
      break;
  }
  sqlite3_finalize(statement);
  if (status)
    json_decref(tasks);
  else
    *out_tasks = tasks;
  return status;
}
