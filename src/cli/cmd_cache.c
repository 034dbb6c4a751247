// cmd_cache.c - hloscope cache: compiled programs on disk, ours and the vendors'.
//
// How to read: run, at the end, finds the verb: list, stats, verify, prune, clear, why. Entries of
// our own cache know the device and the library that they were made for, so stale ones are named as
// such; of the vendors' caches only what their files show is said.
#include "base/core/build_id.h"
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sized_cache.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/disk_cache.h"
#include "doctor/vendor_cache.h"
#include "lab/cache_why/cache_why.h"
#include "lab/devices/devices.h"

typedef struct cache_args {
  int verb;
  hsc_list names;
  int cache;
  const char *dir, *older_than, *max_size;
  bool damaged, stale, dry_run, failed;
} cache_args;

enum { VERB_LIST, VERB_STATS, VERB_PRUNE, VERB_VERIFY, VERB_CLEAR, VERB_WHY };
static const char *const verbs[] = {"list", "stats", "prune", "verify", "clear", "why", NULL};
enum { CACHE_ALL, CACHE_OURS, CACHE_NEURON, CACHE_JAX };
static const char *const caches[] = {"all", "hloscope", "neuron", "jax", NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(cache_args,
                          verb,
                          "VERB",
                          verbs,
                          HSC_OPTIONAL,
                          VERB_LIST,
                          "list: every entry; stats: sums; prune: remove by age, size or state; "
                          "verify: read every entry in full; clear: remove all of ours; "
                          "why A B: compare what two keys were made of"),
    HSC_POSITIONAL_REST(cache_args,
                        names,
                        "NAME",
                        HSC_OPTIONAL,
                        "why: two entries (or the first digits of their names), Neuron modules, "
                        "logs of JAX, or programs"),
    HSC_OPTION_CHOICE(
        cache_args, cache, "cache", caches, CACHE_ALL, "which cache; all: every one that is found"),
    HSC_OPTION_STRING(cache_args,
                      dir,
                      "dir",
                      "DIR",
                      NULL,
                      "directory of the cache; needs --cache unless it is hloscope's"),
    HSC_OPTION_STRING(cache_args,
                      older_than,
                      "older-than",
                      "AGE",
                      NULL,
                      "entries not used for AGE, such as 30d, 12h, 90m",
                      .verbs = "prune"),
    HSC_OPTION_STRING(cache_args,
                      max_size,
                      "max-size",
                      "SIZE",
                      NULL,
                      "least recently used entries until the rest fits into SIZE, such as 2G, 500M",
                      .verbs = "prune"),
    HSC_OPTION_FLAG(
        cache_args, damaged, "damaged", "truncated or modified entries", .verbs = "prune"),
    HSC_OPTION_FLAG(
        cache_args,
        stale,
        "stale",
        "entries made by another build of the built-in device, which this one never loads",
        .verbs = "prune"),
    HSC_OPTION_FLAG(
        cache_args, dry_run, "dry-run", "only list what would be removed", .verbs = "prune,clear"),
    HSC_OPTION_FLAG(cache_args, failed, "failed", "only entries that are not ok", .verbs = "list"),
    HSC_OPTION_END,
};

// ---- what entries are made for ------------------------------------------------------------------

// The built-in device as it is now: entries that name another one are stale.
typedef struct current_device {
  char build[41];
  char plugin_line[512];
} current_device;

static void read_current_device(hsc_cli *cli, current_device *out) {
  const char *path = NULL;
  struct stat file;
  *out = (current_device){{0}, {0}};
  hsc_status *status = hsc_builtin_plugin_path(cli->arena, &path);
  if (!status && !stat(path, &file)) {
    hsc_build_id_of_file(path, out->build);
    snprintf(out->plugin_line, sizeof out->plugin_line, "%s %lld bytes %lld.%09ld",
             hsc_path_file(path), (long long)file.st_size, (long long)file.st_mtim.tv_sec,
             (long)file.st_mtim.tv_nsec);
  }
  hsc_status_free(status);
}

// False also for what other plugins made: only the built-in device can be looked at.
static bool is_stale(const hsc_disk_entry *entry, const current_device *now) {
  hsc_view build = hsc_disk_cache_line(entry->key, "build");
  hsc_view plugin = hsc_disk_cache_line(entry->key, "plugin");
  if (build.data)
    return *now->build && !hsc_view_equals_text(build, now->build);
  size_t name = strcspn(now->plugin_line, " ");
  if (!plugin.data || !name || plugin.size <= name ||
      memcmp(plugin.data, now->plugin_line, name + 1))
    return false;
  return !hsc_view_equals_text(plugin, now->plugin_line);
}

static bool drop_stale(const hsc_disk_entry *entry, void *user) {
  return is_stale(entry, user);
}

static const char *state_of(const hsc_disk_entry *entry, const current_device *now) {
  if (entry->state == HSC_DISK_ENTRY_DAMAGED)
    return "damaged";
  if (entry->state == HSC_DISK_ENTRY_UNFINISHED)
    return "unfinished";
  if (entry->state == HSC_DISK_ENTRY_UNREADABLE)
    return "unreadable";
  return is_stale(entry, now) ? "stale" : "ok";
}

// ---- arguments ----------------------------------------------------------------------------------

// A number and a letter out of `units`; scales in the same order.
static hsc_status *read_amount(hsc_cli *cli,
                               const char *option,
                               const char *text,
                               const char *units,
                               const double *scales,
                               const char *example,
                               int64_t *out) {
  char *end;
  double value = strtod(text, &end);
  const char *unit = *end ? strchr(units, *end) : NULL;
  if (end == text || !unit || end[1] || !(value >= 0) || value * scales[unit - units] > 9e18)
    return hsc_cli_usage(cli, "--%s %s: a number with a unit is needed, such as %s", option, text,
                         example);
  *out = (int64_t)(value * scales[unit - units]);
  return NULL;
}

static hsc_status *our_dir(const cache_args *args, hsc_cli *cli, const char **out_dir) {
  char *home = NULL;
  if (args->dir) {
    *out_dir = args->dir;
    return NULL;
  }
  HSC_TRY(hsc_cache_dir(&home));
  *out_dir = hsc_arena_printf(cli->arena, "%s/executables", home);
  hsc_free(home);
  return hsc_arena_status(cli->arena);
}

static const char *vendor_dir(const cache_args *args, hsc_cli *cli, int cache) {
  return args->dir ? args->dir : hsc_vendor_cache_dir(caches[cache], cli->arena);
}

// Neuron's may be a bucket; hloscope reads directories.
static bool is_remote(const char *dir) {
  return strstr(dir, "://") != NULL;
}

static bool wants(const cache_args *args, int cache) {
  if (args->cache != CACHE_ALL)
    return args->cache == cache;
  return cache == CACHE_OURS || !args->dir;  // a directory without a kind is ours
}

// Verbs that remove work on ours only; for the others there is a command of the vendor's.
static hsc_status *refuse_vendors(const cache_args *args, hsc_cli *cli) {
  if (args->cache == CACHE_NEURON)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "hloscope removes nothing from Neuron's cache"),
        "NEURON_CC_FLAGS=--retry_failed_compilation compiles failed modules again; `hloscope cache "
        "list --cache neuron --failed` gives their folders");
  if (args->cache == CACHE_JAX)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "hloscope removes nothing from JAX's cache"),
        "jax_compilation_cache_max_size bounds it; its files may be removed at any time");
  return NULL;
}

// ---- list ---------------------------------------------------------------------------------------

static void add_seconds(hsc_table *table, double seconds) {
  if (isnan(seconds))
    hsc_table_missing(table);
  else
    hsc_table_double(table, seconds);
}

static double seconds_of(hsc_view ns) {
  char text[32];
  if (!ns.data || ns.size >= sizeof text)
    return NAN;
  memcpy(text, ns.data, ns.size);
  text[ns.size] = 0;
  return strtod(text, NULL) / 1e9;
}

// Programs with sizes of --dim, where there are any.
static hsc_status *note_sized(hsc_cli *cli, hsc_table *table) {
  const char *dir;
  hsc_sized_entry *entries;
  int count;
  double bytes = 0;
  HSC_TRY(hsc_sized_list(cli->arena, &dir, &entries, &count));
  for (int i = 0; i < count; i++)
    bytes += (double)entries[i].bytes;
  if (count)
    hsc_table_note(table,
                   "%s: %d %s with sizes of --dim, %.3g MiB; prune and clear remove them too", dir,
                   count, hsc_plural(count, "program", "programs"), bytes / 1048576);
  return NULL;
}

static hsc_status *list_ours(const cache_args *args,
                             hsc_cli *cli,
                             hsc_table *table,
                             const current_device *now) {
  const char *dir;
  hsc_disk_entry *entries;
  int count;
  int stale = 0;
  int damaged = 0;
  HSC_TRY(our_dir(args, cli, &dir));
  HSC_TRY(hsc_disk_cache_list(dir, cli->arena, &entries, &count));
  int64_t wall = hsc_wall_ns();
  for (int i = count - 1; i >= 0; i--) {  // the last used first
    const hsc_disk_entry *e = &entries[i];
    const char *state = state_of(e, now);
    hsc_view name = hsc_disk_cache_line(e->information, "name");
    stale += !strcmp(state, "stale");
    damaged += !strcmp(state, "damaged");
    if (args->failed && !strcmp(state, "ok"))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, "hloscope");
    hsc_table_printf(table, "%.12s", e->name);
    if (name.data)
      hsc_table_printf(table, "%.*s", (int)name.size, name.data);
    else
      hsc_table_missing(table);
    hsc_table_text(table, state);
    hsc_table_int(table, e->bytes);
    hsc_table_double(table, (double)(wall - e->used_ns) / 1e9);
    add_seconds(table, seconds_of(hsc_disk_cache_line(e->information, "compile_ns")));
    hsc_table_text(table, *e->problem ? e->problem : NULL);
  }
  hsc_table_note(table, "hloscope: %s, %d entr%s", dir, count, count == 1 ? "y" : "ies");
  if (!args->dir)
    HSC_TRY(note_sized(cli, table));
  if (stale)
    hsc_table_note(table,
                   "%d of another build are never loaded by this one: hloscope cache prune --stale",
                   stale);
  if (damaged)
    hsc_table_note(table,
                   "%d damaged are compiled again when needed: hloscope cache prune --damaged",
                   damaged);
  return NULL;
}

static hsc_status *list_vendor(
    const cache_args *args, hsc_cli *cli, hsc_table *table, int cache, bool deep, int *out_bad) {
  hsc_vendor_entry *entries;
  int count;
  int failed = 0;
  const char *dir = vendor_dir(args, cli, cache);
  if (!dir) {
    if (args->cache == cache)
      hsc_table_note(table, "%s: no cache is set up here; --dir DIR names one", caches[cache]);
    return NULL;
  }
  if (is_remote(dir)) {
    hsc_table_note(table,
                   "%s: %s is remote and not read; copy it (aws s3 sync %s DIR) and give --dir DIR",
                   caches[cache], dir, dir);
    return NULL;
  }
  HSC_TRY(hsc_vendor_cache_list(caches[cache], dir, deep, cli->arena, &entries, &count));
  int64_t wall = hsc_wall_ns();
  for (int i = count - 1; i >= 0; i--) {
    const hsc_vendor_entry *e = &entries[i];
    failed += e->state == HSC_VENDOR_FAILED;
    *out_bad += e->state != HSC_VENDOR_OK;
    if (args->failed && e->state == HSC_VENDOR_OK)
      continue;
    hsc_table_row(table);
    hsc_table_text(table, caches[cache]);
    hsc_table_text(table, e->name);
    hsc_table_text(table, *e->compiler ? e->compiler : NULL);
    hsc_table_text(table, hsc_vendor_state_text(e->state));
    hsc_table_int(table, e->bytes);
    hsc_table_double(table, (double)(wall - e->used_ns) / 1e9);
    add_seconds(table, e->compile_seconds);
    const char *how = *e->detail ? e->detail : e->flags;
    hsc_table_text(table, *how ? how : NULL);
  }
  hsc_table_note(table, "%s: %s, %d entr%s", caches[cache], dir, count, count == 1 ? "y" : "ies");
  if (failed && cache == CACHE_NEURON) {
    hsc_table_note(table,
                   "%d failed: Neuron hands the failure out again without compiling. Compile "
                   "again: NEURON_CC_FLAGS=\"$NEURON_CC_FLAGS --retry_failed_compilation\"; or:",
                   failed);
    for (int i = 0; i < count; i++)
      if (entries[i].state == HSC_VENDOR_FAILED)
        hsc_table_note(table, "  rm -r '%s'", entries[i].path);
  }
  return NULL;
}

static hsc_status *make_list(const char *view, hsc_table **out_table) {
  static const char *const columns[][2] = {
      {"cache", ""},     {"entry", ""},       {"program", ""},      {"state", ""},
      {"size", "bytes"}, {"unused for", "s"}, {"compiled in", "s"}, {"remark", ""}};
  HSC_TRY(hsc_table_create(view, out_table));
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(*out_table, columns[i][0], columns[i][1]);
  return NULL;
}

static hsc_status *list(const cache_args *args, hsc_cli *cli) {
  hsc_table *table = NULL;
  current_device now;
  int bad = 0;
  read_current_device(cli, &now);
  HSC_TRY(make_list("cache", &table));
  hsc_status *status = NULL;
  if (wants(args, CACHE_OURS))
    status = list_ours(args, cli, table, &now);
  if (!status && wants(args, CACHE_NEURON))
    status = list_vendor(args, cli, table, CACHE_NEURON, false, &bad);
  if (!status && wants(args, CACHE_JAX))
    status = list_vendor(args, cli, table, CACHE_JAX, false, &bad);
  if (!status)
    return hsc_cli_table(cli, table);
  hsc_table_destroy(table);
  return status;
}

// ---- stats --------------------------------------------------------------------------------------

typedef struct sums {
  int count, bad, stale;
  int64_t bytes, oldest_ns, newest_ns;
  double compile_seconds;
} sums;

static void add_sum(sums *s, int64_t bytes, int64_t used_ns, bool bad, bool stale, double seconds) {
  if (!s->count || used_ns < s->oldest_ns)
    s->oldest_ns = used_ns;
  if (!s->count || used_ns > s->newest_ns)
    s->newest_ns = used_ns;
  s->count++;
  s->bad += bad;
  s->stale += stale;
  s->bytes += bytes;
  if (!isnan(seconds))
    s->compile_seconds += seconds;
}

static void sums_row(hsc_table *table, const char *cache, const char *dir, const sums *s) {
  int64_t wall = hsc_wall_ns();
  hsc_table_row(table);
  hsc_table_text(table, cache);
  hsc_table_int(table, s->count);
  hsc_table_int(table, s->bytes);
  hsc_table_int(table, s->bad);
  hsc_table_int(table, s->stale);
  if (s->count) {
    hsc_table_double(table, (double)(wall - s->oldest_ns) / 1e9);
    hsc_table_double(table, (double)(wall - s->newest_ns) / 1e9);
  } else {
    hsc_table_missing(table);
    hsc_table_missing(table);
  }
  add_seconds(table, s->compile_seconds > 0 ? s->compile_seconds : NAN);
  hsc_table_text(table, dir);
}

static hsc_status *fill_stats(const cache_args *args, hsc_cli *cli, hsc_table *table) {
  current_device now;
  read_current_device(cli, &now);
  if (wants(args, CACHE_OURS)) {
    const char *dir;
    hsc_disk_entry *entries;
    int count;
    sums s = {0};
    HSC_TRY(our_dir(args, cli, &dir));
    HSC_TRY(hsc_disk_cache_list(dir, cli->arena, &entries, &count));
    for (int i = 0; i < count; i++)
      add_sum(&s, entries[i].bytes, entries[i].used_ns, entries[i].state != HSC_DISK_ENTRY_WHOLE,
              entries[i].state == HSC_DISK_ENTRY_WHOLE && is_stale(&entries[i], &now),
              seconds_of(hsc_disk_cache_line(entries[i].information, "compile_ns")));
    sums_row(table, "hloscope", dir, &s);
  }
  for (int cache = CACHE_NEURON; cache <= CACHE_JAX; cache++) {
    const char *dir = wants(args, cache) ? vendor_dir(args, cli, cache) : NULL;
    hsc_vendor_entry *entries;
    int count;
    sums s = {0};
    if (!dir || is_remote(dir))
      continue;
    HSC_TRY(hsc_vendor_cache_list(caches[cache], dir, true, cli->arena, &entries, &count));
    for (int i = 0; i < count; i++)
      add_sum(&s, entries[i].bytes, entries[i].used_ns, entries[i].state != HSC_VENDOR_OK, false,
              entries[i].compile_seconds);
    sums_row(table, caches[cache], dir, &s);
  }
  return NULL;
}

static hsc_status *stats(const cache_args *args, hsc_cli *cli) {
  static const char *const columns[][2] = {{"cache", ""},
                                           {"entries", ""},
                                           {"size", "bytes"},
                                           {"not ok", ""},
                                           {"stale", ""},
                                           {"oldest unused for", "s"},
                                           {"newest unused for", "s"},
                                           {"compiling took", "s"},
                                           {"directory", ""}};
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("cache_stats", &table));
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  hsc_status *status = fill_stats(args, cli, table);
  if (!status)
    return hsc_cli_table(cli, table);
  hsc_table_destroy(table);
  return status;
}

// ---- verify -------------------------------------------------------------------------------------

static hsc_status *fill_verify(const cache_args *args,
                               hsc_cli *cli,
                               hsc_table *table,
                               int *out_bad) {
  if (wants(args, CACHE_OURS)) {
    const char *dir;
    hsc_disk_entry *entries;
    int count;
    int whole = 0;
    int torn = 0;
    int unreadable = 0;
    HSC_TRY(our_dir(args, cli, &dir));
    HSC_TRY(hsc_disk_cache_list(dir, cli->arena, &entries, &count));
    for (int i = 0; i < count; i++) {
      const hsc_disk_entry *e = &entries[i];
      if (e->state == HSC_DISK_ENTRY_UNFINISHED)
        continue;
      hsc_status *status = hsc_disk_cache_read(e->path, NULL, NULL, NULL);
      if (!status) {
        whole++;
        continue;
      }
      if (hsc_status_code(status) == HSC_NOT_FOUND) {  // another process removed it
        hsc_status_free(status);
        continue;
      }
      hsc_table_row(table);
      hsc_table_text(table, "hloscope");
      hsc_table_text(table, e->path);
      bool damaged = e->state != HSC_DISK_ENTRY_UNREADABLE;
      hsc_table_text(table, damaged ? "damaged" : "unreadable");
      const char *message = hsc_status_message(status);
      const char *colon = strstr(message, ": ");
      hsc_table_text(table, colon ? colon + 2 : message);
      hsc_status_free(status);
      if (damaged)
        torn++;
      else
        unreadable++;
    }
    *out_bad = torn + unreadable;
    hsc_table_note(table, "hloscope: %s: %d whole, %d damaged%s", dir, whole, torn,
                   torn ? " (never loaded): hloscope cache prune --damaged" : "");
    if (unreadable)
      hsc_table_note(table, "%d may not be read by this user; they are compiled again", unreadable);
  }
  for (int cache = CACHE_NEURON; cache <= CACHE_JAX; cache++) {
    const char *dir = wants(args, cache) ? vendor_dir(args, cli, cache) : NULL;
    hsc_vendor_entry *entries;
    int count;
    int bad = 0;
    if (!dir || is_remote(dir))
      continue;
    HSC_TRY(hsc_vendor_cache_list(caches[cache], dir, true, cli->arena, &entries, &count));
    for (int i = 0; i < count; i++) {
      if (entries[i].state == HSC_VENDOR_OK)
        continue;
      hsc_table_row(table);
      hsc_table_text(table, caches[cache]);
      hsc_table_text(table, entries[i].path);
      hsc_table_text(table, hsc_vendor_state_text(entries[i].state));
      hsc_table_text(table, entries[i].detail);
      bad++;
    }
    hsc_table_note(table, "%s: %s: %d ok, %d not", caches[cache], dir, count - bad, bad);
    *out_bad += bad;
  }
  return NULL;
}

static hsc_status *verify(const cache_args *args, hsc_cli *cli) {
  static const char *const columns[] = {"cache", "entry", "state", "remark"};
  hsc_table *table = NULL;
  int bad = 0;
  HSC_TRY(hsc_table_create("cache_verify", &table));
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i], "");
  hsc_status *status = fill_verify(args, cli, table, &bad);
  if (!status) {
    if (bad)
      cli->exit_code = 1;
    return hsc_cli_table(cli, table);
  }
  hsc_table_destroy(table);
  return status;
}

// ---- prune, clear -------------------------------------------------------------------------------

// Copies that --dim made have what the compiled programs leave of the limit: they are made again
// sooner.
static hsc_status *remove_sized(const hsc_disk_prune *how, hsc_disk_pruned *io_pruned) {
  int64_t left = how->max_bytes - io_pruned->kept_bytes;
  int64_t most = left > 0 ? left : 0;
  return hsc_sized_remove(&(hsc_sized_prune){.max_age_ns = how->max_age_ns,
                                             .max_bytes = how->max_bytes < 0 ? -1 : most,
                                             .dry = how->dry},
                          io_pruned);
}

static hsc_status *remove_entries(const cache_args *args, hsc_cli *cli, const hsc_disk_prune *how) {
  const char *dir;
  hsc_disk_pruned pruned;
  hsc_table *table = NULL;
  HSC_TRY(our_dir(args, cli, &dir));
  HSC_TRY(hsc_disk_cache_prune(dir, how, &pruned));
  if (!args->dir)
    HSC_TRY(remove_sized(how, &pruned));
  HSC_TRY(hsc_table_create("cache_prune", &table));
  static const char *const columns[][2] = {
      {"removed", ""}, {"freed", "bytes"}, {"kept", ""}, {"size", "bytes"}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  hsc_table_row(table);
  hsc_table_int(table, pruned.removed);
  hsc_table_int(table, pruned.removed_bytes);
  hsc_table_int(table, pruned.kept);
  hsc_table_int(table, pruned.kept_bytes);
  hsc_table_note(table, "%s%s", dir, how->dry ? ": nothing was removed (--dry-run)" : "");
  if (pruned.refused) {
    hsc_table_note(table,
                   "%d could not be removed: the directory or its entries belong to another user",
                   pruned.refused);
    cli->exit_code = 1;
  }
  return hsc_cli_table(cli, table);
}

static hsc_status *prune(const cache_args *args, hsc_cli *cli) {
  static const double ages[] = {1e9, 60e9, 3600e9, 86400e9, 604800e9};
  static const double sizes[] = {1, 1024.0, 1048576.0, 1073741824.0, 1099511627776.0};
  hsc_disk_prune how = {
      .max_age_ns = -1, .max_bytes = -1, .damaged = args->damaged, .dry = args->dry_run};
  current_device now;
  HSC_TRY(refuse_vendors(args, cli));
  if (!args->older_than && !args->max_size && !args->damaged && !args->stale)
    return hsc_cli_usage(cli,
                         "prune needs at least one of --older-than AGE, --max-size SIZE, "
                         "--damaged, --stale; `cache clear` removes all");
  if (args->older_than)
    HSC_TRY(
        read_amount(cli, "older-than", args->older_than, "smhdw", ages, "30d", &how.max_age_ns));
  if (args->max_size)
    HSC_TRY(read_amount(cli, "max-size", args->max_size, "BKMGT", sizes, "2G", &how.max_bytes));
  if (args->stale) {
    read_current_device(cli, &now);
    how.drop = drop_stale;
    how.user = &now;
  }
  return remove_entries(args, cli, &how);
}

static hsc_status *clear(const cache_args *args, hsc_cli *cli) {
  HSC_TRY(refuse_vendors(args, cli));
  return remove_entries(
      args, cli,
      &(hsc_disk_prune){.max_age_ns = -1, .max_bytes = 0, .damaged = true, .dry = args->dry_run});
}

// ---- why ----------------------------------------------------------------------------------------

// A path as it is; else the one entry of ours whose name begins so.
static hsc_status *find_side(const cache_args *args,
                             hsc_cli *cli,
                             const char *name,
                             const char **out_path) {
  *out_path = name;
  if (hsc_file_exists(name))
    return NULL;
  const char *dir;
  hsc_disk_entry *entries;
  int count;
  int found = 0;
  HSC_TRY(our_dir(args, cli, &dir));
  HSC_TRY(hsc_disk_cache_list(dir, cli->arena, &entries, &count));
  for (int i = 0; i < count; i++) {
    if (entries[i].state == HSC_DISK_ENTRY_UNFINISHED || !hsc_starts_with(entries[i].name, name))
      continue;
    *out_path = entries[i].path;
    found++;
  }
  if (found == 1)
    return NULL;
  if (found > 1)
    return HSC_ERR(INVALID_ARGUMENT, "%d entries begin with '%s': give more digits", found, name);
  return hsc_status_hint(
      HSC_ERR(NOT_FOUND, "'%s' is no file and no entry of %s begins so", name, dir),
      "hloscope cache list");
}

static hsc_status *why(const cache_args *args, hsc_cli *cli) {
  const char *paths[2];
  hsc_table *table = NULL;
  bool same;
  if (args->names.count != 2)
    return hsc_cli_usage(cli, "why needs two entries, modules, logs or programs");
  for (int i = 0; i < 2; i++)
    HSC_TRY(find_side(args, cli, args->names.items[i], &paths[i]));
  hsc_status *status = hsc_cache_why(paths[0], paths[1], &table, &same);
  if (!status)
    return hsc_cli_table(cli, table);
  hsc_table_destroy(table);
  return status;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const cache_args *args = args_of_command;
  struct stat info;
  if (args->dir && stat(args->dir, &info))
    return hsc_status_errno(errno, "cannot look into", args->dir);
  if (args->verb != VERB_WHY && args->names.count)
    return hsc_cli_usage(cli, "%s takes no names; `cache why A B` compares two", verbs[args->verb]);
  switch (args->verb) {
    case VERB_STATS:
      return stats(args, cli);
    case VERB_PRUNE:
      return prune(args, cli);
    case VERB_VERIFY:
      return verify(args, cli);
    case VERB_CLEAR:
      return clear(args, cli);
    case VERB_WHY:
      return why(args, cli);
    default:
      return list(args, cli);
  }
}

const hsc_command_body hsc_command_cache = {
    .options = options,
    .args_bytes = sizeof(cache_args),
    .run = run,
    .description =
        "Compiled programs stay on disk between processes, keyed by the program, the options, the "
        "build of the compiler and the processor. Any number of processes may use the directory at "
        "once; truncated or modified entries are never loaded. The caches of Neuron and JAX are "
        "read, never changed: failed compilations that Neuron reuses are listed with the command "
        "that clears them.",
    .examples =
        "hloscope cache\nhloscope cache prune --older-than 30d --max-size 2G\nhloscope cache "
        "verify\nhloscope cache list --cache neuron --failed\nhloscope cache why 5941afc4 "
        "97e5dc08\n"
        "hloscope cache why first.log second.log",
};
