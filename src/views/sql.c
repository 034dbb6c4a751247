// sql.c - views as SQLite's eponymous virtual tables. A table is computed when a query first opens
// it and lives as long as the connection.
#include "base/text/text.h"
#include "views/sql.h"

#include <sqlite3.h>
#include <strings.h>

enum { MAX_TABLES = 32 };
_Static_assert((int)HSC_VIEW_COUNT <= MAX_TABLES && (int)HSC_PROFILE_VIEW_COUNT <= MAX_TABLES,
               "every view has a place");

// What the tables are of: a capture or a profile.
typedef struct source {
  int count;
  const char *(*name)(int view);
  hsc_status *(*make)(const struct source *s, int view, int64_t limit, hsc_table **out_table);
  const hsc_capture *capture;
  const hsc_view_options *capture_options;
  hsc_profile *profile;
  const hsc_profile_options *profile_options;
} source;

static const char *capture_view_name(int view) {
  return hsc_view_name((hsc_view_id)view);
}
static const char *profile_view_name(int view) {
  return hsc_profile_view_name((hsc_profile_view_id)view);
}

static hsc_status *make_capture_view(const source *s,
                                     int view,
                                     int64_t limit,
                                     hsc_table **out_table) {
  hsc_view_options options = s->capture_options ? *s->capture_options : (hsc_view_options){0};
  options.limit = limit;
  return hsc_view_table(s->capture, (hsc_view_id)view, &options, out_table);
}

static hsc_status *make_profile_view(const source *s,
                                     int view,
                                     int64_t limit,
                                     hsc_table **out_table) {
  hsc_profile_options options = s->profile_options ? *s->profile_options : (hsc_profile_options){0};
  options.limit = limit;
  return hsc_profile_table(s->profile, (hsc_profile_view_id)view, &options, out_table);
}

static source source_of_capture(const hsc_capture *capture, const hsc_view_options *options) {
  return (source){.count = HSC_VIEW_COUNT,
                  .name = capture_view_name,
                  .make = make_capture_view,
                  .capture = capture,
                  .capture_options = options};
}

static source source_of_profile(hsc_profile *profile, const hsc_profile_options *options) {
  return (source){.count = HSC_PROFILE_VIEW_COUNT,
                  .name = profile_view_name,
                  .make = make_profile_view,
                  .profile = profile,
                  .profile_options = options};
}

typedef struct database {
  const source *of;
  hsc_table *tables[MAX_TABLES];
  // what went wrong in a view, which SQLite can only say in general words
  hsc_status *status;
} database;

typedef struct module {  // what a virtual table is distinguished by
  database *db;
  int view;
} module;

typedef struct vtab {
  sqlite3_vtab base;
  const hsc_table *table;
} vtab;

typedef struct cursor {
  sqlite3_vtab_cursor base;
  size_t row;
} cursor;

static void identifier(hsc_bytes *out, const char *name) {
  hsc_bytes_append_char(out, '"');
  for (; *name; name++) {
    if (*name == '"')
      hsc_bytes_append_char(out, '"');
    hsc_bytes_append_char(out, *name);
  }
  hsc_bytes_append_char(out, '"');
}

static int connect_table(sqlite3 *connection,
                         void *user,
                         int argc,
                         const char *const *argv,
                         sqlite3_vtab **out_vtab,
                         char **error) {
  const module *m = user;
  hsc_table **table = &m->db->tables[m->view];
  if (!*table && !m->db->status)
    m->db->status = m->db->of->make(m->db->of, m->view, 0, table);
  if (!*table)
    return SQLITE_ERROR;
  hsc_bytes sql = {0};
  hsc_bytes_append_text(&sql, "CREATE TABLE x(");
  for (size_t c = 0; c < hsc_table_column_count(*table); c++) {
    if (c)
      hsc_bytes_append_char(&sql, ',');
    identifier(&sql, hsc_table_column_name(*table, c));
  }
  hsc_bytes_append_char(&sql, ')');
  int code = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(connection, hsc_bytes_text(&sql));
  hsc_bytes_deinit(&sql);
  vtab *v = code == SQLITE_OK ? sqlite3_malloc(sizeof *v) : NULL;
  if (!v)
    return code == SQLITE_OK ? SQLITE_NOMEM : code;
  *v = (vtab){.table = *table};
  *out_vtab = &v->base;
  return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *v) {
  sqlite3_free(v);
  return SQLITE_OK;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info) {
  info->estimatedRows = (sqlite3_int64)hsc_table_row_count(((vtab *)v)->table);
  info->estimatedCost = (double)info->estimatedRows;
  return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out_cursor) {
  cursor *c = sqlite3_malloc(sizeof *c);
  if (!c)
    return SQLITE_NOMEM;
  *c = (cursor){0};
  *out_cursor = &c->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c) {
  sqlite3_free(c);
  return SQLITE_OK;
}

static int filter(
    sqlite3_vtab_cursor *c, int number, const char *text, int argc, sqlite3_value **argv) {
  ((cursor *)c)->row = 0;
  return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *c) {
  ((cursor *)c)->row++;
  return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *c) {
  return ((cursor *)c)->row >= hsc_table_row_count(((vtab *)c->pVtab)->table);
}

static int column(sqlite3_vtab_cursor *c, sqlite3_context *out, int index) {
  const hsc_cell *cell =
      hsc_table_cell(((vtab *)c->pVtab)->table, ((cursor *)c)->row, (size_t)index);
  switch (cell->kind) {
    case HSC_CELL_MISSING:
      sqlite3_result_null(out);
      break;
    case HSC_CELL_TEXT:
      sqlite3_result_text(out, cell->text, -1, SQLITE_STATIC);
      break;
    case HSC_CELL_INT:
    case HSC_CELL_BOOL:
      sqlite3_result_int64(out, cell->integer);
      break;
    case HSC_CELL_DOUBLE:
      sqlite3_result_double(out, cell->number);
      break;
  }
  return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *c, sqlite3_int64 *out_id) {
  *out_id = (sqlite3_int64)((cursor *)c)->row + 1;
  return SQLITE_OK;
}

// Without xCreate the table is there under its module's name and cannot be made anew.
static const sqlite3_module virtual_table = {.xConnect = connect_table,
                                             .xBestIndex = best_index,
                                             .xDisconnect = disconnect_table,
                                             .xDestroy = disconnect_table,
                                             .xOpen = open_cursor,
                                             .xClose = close_cursor,
                                             .xFilter = filter,
                                             .xNext = next,
                                             .xEof = at_end,
                                             .xColumn = column,
                                             .xRowid = row_id};

static void table_name(const source *of, int view, char out_name[64]) {
  snprintf(out_name, 64, "%s", of->name(view));
  for (char *c = out_name; *c; c++)
    if (*c == '-')
      *c = '_';
}

// The unit of a result: that of the one column of a table in use with its name; else what the
// name's end says.
static const char *unit_of(const database *db, const char *name) {
  const char *unit = NULL;
  for (int v = 0; v < db->of->count; v++) {
    for (size_t c = 0; db->tables[v] && c < hsc_table_column_count(db->tables[v]); c++) {
      if (strcmp(hsc_table_column_name(db->tables[v], c), name))
        continue;
      const char *found = hsc_table_column_unit(db->tables[v], c);
      if (unit && strcmp(unit, found))
        return "";
      unit = found;
    }
  }
  if (unit)
    return unit;
  if (hsc_ends_with(name, "_ns"))
    return "ns";
  if (hsc_ends_with(name, "_bytes"))
    return "bytes";
  return "";
}

static hsc_status *sql_error(sqlite3 *connection, database *db, const char *query) {
  if (db->status) {
    hsc_status *status = db->status;
    db->status = NULL;
    return status;
  }
  hsc_bytes names = {0};
  for (int v = 0; v < db->of->count; v++) {
    char name[64];
    table_name(db->of, v, name);
    hsc_bytes_printf(&names, "%s%s", v ? ", " : "", name);
  }
  hsc_status *status =
      HSC_ERR(INVALID_ARGUMENT, "SQL: %s, in: %s", sqlite3_errmsg(connection), query);
  status = hsc_status_hint(
      status, "the tables are %s; column names with spaces or dots are in double quotes",
      hsc_bytes_text(&names));
  hsc_bytes_deinit(&names);
  return status;
}

static void put_row(sqlite3_stmt *statement, hsc_table *table) {
  hsc_table_row(table);
  for (int c = 0; c < sqlite3_column_count(statement); c++) {
    switch (sqlite3_column_type(statement, c)) {
      case SQLITE_INTEGER:
        hsc_table_int(table, sqlite3_column_int64(statement, c));
        break;
      case SQLITE_FLOAT:
        hsc_table_double(table, sqlite3_column_double(statement, c));
        break;
      case SQLITE_NULL:
        hsc_table_missing(table);
        break;
      default:
        hsc_table_text(table, (const char *)sqlite3_column_text(statement, c));
    }
  }
}

static hsc_status *run_query(
    sqlite3 *connection, database *db, const char *name, const char *query, hsc_table **out_table) {
  sqlite3_stmt *statement = NULL;
  hsc_table *table = NULL;
  const char *rest = "";
  hsc_status *status = NULL;
  if (sqlite3_prepare_v2(connection, query, -1, &statement, &rest) != SQLITE_OK)
    HSC_GOTO(sql_error(connection, db, query));
  if (!statement)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "SQL: there is no statement in '%s'", query));
  if (rest[strspn(rest, " \t\r\n;")])
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "SQL: one statement at a time; this is after the first: %s",
                     rest));
  if (!sqlite3_stmt_readonly(statement) || !sqlite3_column_count(statement))
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "SQL: only statements that read are taken: %s", query));
  HSC_GOTO(hsc_table_create(name, &table));
  for (int c = 0; c < sqlite3_column_count(statement); c++)
    hsc_table_column(table, sqlite3_column_name(statement, c),
                     unit_of(db, sqlite3_column_name(statement, c)));
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    put_row(statement, table);
  if (code != SQLITE_DONE)
    HSC_GOTO(sql_error(connection, db, query));
  *out_table = table;
  table = NULL;
done:
  hsc_table_destroy(table);
  sqlite3_finalize(statement);
  return status;
}

// What the views that were used have to say, each note once.
static void copy_notes(const database *db, hsc_table *table) {
  for (int v = 0; v < db->of->count; v++) {
    for (size_t n = 0; db->tables[v] && n < hsc_table_note_count(db->tables[v]); n++) {
      const char *note = hsc_table_note_text(db->tables[v], n);
      bool told = false;
      for (size_t i = 0; i < hsc_table_note_count(table); i++)
        told |= !strcmp(hsc_table_note_text(table, i), note);
      if (!told)
        hsc_table_note(table, "%s", note);
    }
  }
}

static hsc_status *with_database(const source *of,
                                 const char *name,
                                 const char *query,
                                 hsc_table **out_table) {
  database database_of_query = {.of = of};
  database *db = &database_of_query;
  module modules[MAX_TABLES];
  sqlite3 *connection = NULL;
  hsc_status *status = NULL;
  *out_table = NULL;
  if (sqlite3_open_v2(":memory:", &connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      NULL) != SQLITE_OK)
    HSC_GOTO(hsc_status_out_of_memory());
  // a query reads the recording and nothing else
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  for (int v = 0; v < of->count; v++) {
    char text[64];
    table_name(of, v, text);
    modules[v] = (module){db, v};
    if (sqlite3_create_module(connection, text, &virtual_table, &modules[v]) != SQLITE_OK)
      HSC_GOTO(sql_error(connection, db, query));
  }
  HSC_GOTO(run_query(connection, db, name, query, out_table));
  copy_notes(db, *out_table);
done:
  sqlite3_close(connection);
  for (int v = 0; v < of->count; v++)
    hsc_table_destroy(db->tables[v]);
  hsc_status_free(db->status);
  return status;
}

hsc_status *hsc_view_sql(const hsc_capture *capture,
                         const char *query,
                         const hsc_view_options *options,
                         hsc_table **out_table) {
  source of = source_of_capture(capture, options);
  return with_database(&of, "sql", query, out_table);
}

hsc_status *hsc_profile_sql(hsc_profile *profile,
                            const char *query,
                            const hsc_profile_options *options,
                            hsc_table **out_table) {
  source of = source_of_profile(profile, options);
  return with_database(&of, "sql", query, out_table);
}

// Takes the next of "total desc, name" off `order`; false at its end.
static bool next_item(const char **order, char out_name[128], bool *out_down) {
  const char *at = *order;
  if (!*at)
    return false;
  size_t size = strcspn(at, ",");
  *order = at + size + (at[size] == ',');
  while (size && *at == ' ') {
    at++;
    size--;
  }
  while (size && at[size - 1] == ' ')
    size--;
  *out_down = size > 5 && !strncasecmp(at + size - 5, " desc", 5);
  bool up = size > 4 && !strncasecmp(at + size - 4, " asc", 4);
  if (*out_down)
    size -= 5;
  else if (up)
    size -= 4;
  else
    size -= 0;
  while (size && at[size - 1] == ' ')
    size--;
  snprintf(out_name, 128, "%.*s", (int)size, at);
  return true;
}

static void order_by(hsc_bytes *sql, const char *order) {
  char name[128];
  bool down = false;
  for (const char *lead = " ORDER BY "; next_item(&order, name, &down); lead = ", ") {
    hsc_bytes_append_text(sql, lead);
    identifier(sql, name);
    hsc_bytes_append_text(sql, down ? " DESC" : "");
  }
}

// A name in quotes that no column has would be taken as a text by SQLite, and sort nothing: it is
// refused by name.
static hsc_status *check_order(const hsc_table *table, const char *order) {
  const char *names[64];
  size_t count = hsc_table_column_count(table) < HSC_COUNT_OF(names) ? hsc_table_column_count(table)
                                                                     : HSC_COUNT_OF(names);
  for (size_t c = 0; c < count; c++)
    names[c] = hsc_table_column_name(table, c);
  char name[128];
  for (bool down = false; next_item(&order, name, &down);) {
    bool known = false;
    for (size_t c = 0; c < count; c++)
      known |= !strcasecmp(names[c], name);
    if (known)
      continue;
    const char *near = hsc_did_you_mean(name, names, count);
    hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "there is no column '%s' to sort by", name);
    return near ? hsc_status_hint(status, "did you mean '%s'?", near)
                : hsc_status_hint(status, "--format=csv shows the columns in its first line");
  }
  return NULL;
}

static hsc_status *select_rows(const source *of,
                               int view,
                               const char *where,
                               const char *order,
                               int64_t limit,
                               hsc_table **out_table) {
  char name[64];
  table_name(of, view, name);
  hsc_bytes sql = {0};
  hsc_status *status = NULL;
  hsc_bytes_printf(&sql, "SELECT * FROM %s", name);
  if (where)
    hsc_bytes_printf(&sql, " WHERE (%s\n)", where);
  if (order) {
    hsc_table *table = NULL;
    HSC_GOTO(of->make(of, view, 1, &table));
    status = check_order(table, order);
    hsc_table_destroy(table);
    if (status)
      goto done;
    order_by(&sql, order);
  }
  if (limit)
    hsc_bytes_printf(&sql, " LIMIT %lld", (long long)limit);
  HSC_GOTO(hsc_bytes_status(&sql));
  HSC_GOTO(with_database(of, of->name(view), hsc_bytes_text(&sql), out_table));
done:
  hsc_bytes_deinit(&sql);
  return status;
}

hsc_status *hsc_view_select(const hsc_capture *capture,
                            hsc_view_id view,
                            const char *where,
                            const char *order,
                            int64_t limit,
                            const hsc_view_options *options,
                            hsc_table **out_table) {
  source of = source_of_capture(capture, options);
  return select_rows(&of, (int)view, where, order, limit, out_table);
}

hsc_status *hsc_profile_select(hsc_profile *profile,
                               hsc_profile_view_id view,
                               const char *where,
                               const char *order,
                               int64_t limit,
                               const hsc_profile_options *options,
                               hsc_table **out_table) {
  source of = source_of_profile(profile, options);
  return select_rows(&of, (int)view, where, order, limit, out_table);
}
