// store_guard.c - a result store, and what lies beside it, may have been put there to do harm.
#include "lab/store/store_guard_internal.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/bytes.h"

// A pipe or device would be waited for, or be written into.
hsc_status *hsc__store_check_file(const char *path) {
  struct stat info;
  if (stat(path, &info) < 0 || S_ISREG(info.st_mode))
    return NULL;
  return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "%s: not a file", path),
                         "--store names a file, which is made when it is not there");
}

// Neither this user's, nor root's, nor of the one who owns the store.
static bool is_a_strangers(const char *path, const struct stat *beside) {
  struct stat store;
  bool is_owners = stat(path, &store) == 0 && store.st_uid == beside->st_uid;
  return !is_owners && beside->st_uid != 0 && beside->st_uid != geteuid();
}

// SQLite reads and writes what lies beside the store under these names. A link or a pipe that
// somebody put there would be followed or waited for; pages of another user would be taken for
// ours.
hsc_status *hsc__store_check_beside(const char *path) {
  static const char *const ends[] = {"-wal", "-shm", "-journal"};
  for (size_t i = 0; i < HSC_COUNT_OF(ends); i++) {
    hsc_bytes beside = {0};
    hsc_status *status = NULL;
    struct stat info;
    hsc_bytes_printf(&beside, "%s%s", path, ends[i]);
    if (!beside.failed && lstat(beside.data, &info) == 0) {
      if (!S_ISREG(info.st_mode))
        status = HSC_ERR(PERMISSION_DENIED, "%s: not a file", beside.data);
      else if (is_a_strangers(path, &info))
        status = HSC_ERR(PERMISSION_DENIED, "%s: belongs to another user than the result store",
                         beside.data);
    }
    hsc_bytes_deinit(&beside);
    if (status)
      return hsc_status_hint(status,
                             "SQLite keeps a part of the store under this name: move it "
                             "away, or choose another store with --store FILE");
  }
  return NULL;
}

// A store may come from anywhere. Its views and triggers are not run, and no value is longer than
// what experiments write: `CREATE VIEW task AS ..` can be a loop without end.
void hsc__store_trust_nothing(sqlite3 *db) {
  enum { MOST_VALUE_BYTES = 256 << 20 };
  static const int off[] = {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                            SQLITE_DBCONFIG_TRUSTED_SCHEMA};
  for (size_t i = 0; i < HSC_COUNT_OF(off); i++)
    sqlite3_db_config(db, off[i], 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
}

// Next letter that means something to SQL: neither blank nor in a comment to the line's end.
static char next_letter(const char **io_text) {
  const char *at = *io_text;
  for (;;) {
    if (at[0] == '-' && at[1] == '-')
      at += strcspn(at, "\n");
    else if (!isspace((unsigned char)*at))
      break;
    else
      at++;
  }
  *io_text = *at ? at + 1 : at;
  return *at;
}

bool hsc__store_says(const char *migration, const char *table) {
  for (const char *start = strstr(migration, "CREATE TABLE"); start;
       start = strstr(start + 1, "CREATE TABLE")) {
    const char *a = start;
    const char *b = table;
    char letter;
    while ((letter = next_letter(&b)) && letter == next_letter(&a))
      continue;
    if (!letter)
      return true;
  }
  return false;
}
