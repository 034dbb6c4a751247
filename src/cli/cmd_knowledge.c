// cmd_knowledge.c - hloscope knowledge: the knowledge base itself: list, show, search, add, check.
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/text/text.h"
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "cli/command.h"
#include "doctor/explain.h"
#include "doctor/proof.h"

enum { VERB_LIST, VERB_SHOW, VERB_SEARCH, VERB_ADD, VERB_CHECK };
static const char *const verbs[] = {"list", "show", "search", "add", "check", NULL};

typedef struct knowledge_args {
  int verb;
  hsc_list words;
  const char *system, *directory, *message;
  bool programs, all;
} knowledge_args;

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(knowledge_args,
                          verb,
                          "VERB",
                          verbs,
                          HSC_OPTIONAL,
                          VERB_LIST,
                          "list, show ID, search WORDS, add ID, check [ID]"),
    HSC_POSITIONAL_REST(knowledge_args, words, "ARG", HSC_OPTIONAL, "the ids or words of the verb"),
    HSC_OPTION_STRING(knowledge_args,
                      system,
                      "system",
                      "NAME",
                      NULL,
                      "only entries of this system (neuron, jax, torch-xla, ...)",
                      .verbs = "list,search"),
    HSC_OPTION_FLAG(
        knowledge_args, all, "all|a", "every entry, not the first screen", .verbs = "list"),
    HSC_OPTION_STRING(knowledge_args,
                      message,
                      "message|m",
                      "TEXT",
                      NULL,
                      "the line that the entry should match",
                      .verbs = "add"),
    HSC_OPTION_FLAG(knowledge_args,
                    programs,
                    "programs",
                    "also run the proofs that are programs, on the devices they name",
                    .verbs = "check"),
    HSC_OPTION_STRING(knowledge_args,
                      directory,
                      "knowledge",
                      "DIR",
                      NULL,
                      "entries to use instead of the installed ones"),
    HSC_OPTION_END,
};

static bool has_system(const hsc_entry *entry, const char *system) {
  if (!system)
    return true;
  for (size_t i = 0; entry->systems[i]; i++)
    if (!strcasecmp(entry->systems[i], system))
      return true;
  return false;
}

static bool holds_word(const hsc_entry *entry, const char *word) {
  const char *const texts[] = {entry->id,      entry->title, entry->meaning,
                               entry->matters, entry->cause, entry->workaround,
                               entry->before,  entry->after, entry->next};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++)
    if (texts[i] && strcasestr(texts[i], word))
      return true;
  for (size_t i = 0; entry->systems[i]; i++)
    if (strcasestr(entry->systems[i], word))
      return true;
  size_t length = strlen(word);
  for (size_t m = 0; m < entry->match_count; m++)
    for (size_t i = 0; i < entry->matches[m].literal_count; i++) {
      hsc_view literal = entry->matches[m].literals[i];
      for (size_t k = 0; k + length <= literal.size; k++)
        if (!strncasecmp(literal.data + k, word, length))
          return true;
    }
  for (size_t i = 0; i < entry->log_count; i++) {
    char *at = entry->logs[i].text.size ? strcasestr(entry->logs[i].text.data, word) : NULL;
    if (at)
      return true;
  }
  return false;
}

// The first screen: how many there are of each system. An entry of two systems counts for both.
static hsc_status *list_systems(const hsc_knowledge *kb, hsc_cli *cli) {
  enum { MOST = 32, SEVERITIES = HSC_SEVERITY_ERROR + 1 };
  const char *names[MOST];
  int64_t counts[MOST][SEVERITIES] = {{0}};
  int64_t totals[SEVERITIES] = {0};
  size_t count = 0;
  for (size_t i = 0; i < hsc_knowledge_count(kb); i++) {
    const hsc_entry *entry = hsc_knowledge_at(kb, i);
    totals[entry->severity]++;
    for (size_t s = 0; entry->systems[s]; s++) {
      size_t k = 0;
      while (k < count && strcmp(names[k], entry->systems[s]))
        k++;
      if (k == count && count < MOST)
        names[count++] = entry->systems[s];
      if (k < count)
        counts[k][entry->severity]++;
    }
  }
  hsc_table *table = NULL;
  hsc_cli_print(cli, "%zu %s known:", hsc_knowledge_count(kb),
                hsc_plural((double)hsc_knowledge_count(kb), "message is", "messages are"));
  for (int s = SEVERITIES; s-- > 0;)
    hsc_cli_print(cli, " %lld %s%s", (long long)totals[s], hsc_severity_name((hsc_severity)s),
                  s ? "," : ".\n\n");
  HSC_TRY(hsc_table_create("knowledge", &table));
  hsc_table_column(table, "system", "");
  for (int s = SEVERITIES; s-- > 0;)
    hsc_table_column(table, hsc_severity_name((hsc_severity)s), "count");
  for (size_t k = 0; k < count; k++) {
    hsc_table_row(table);
    hsc_table_text(table, names[k]);
    for (int s = SEVERITIES; s-- > 0;)
      hsc_table_int(table, counts[k][s]);
  }
  hsc_table_note(table,
                 "their names: --all, or of one system: --system NAME; those that hold words: "
                 "hloscope knowledge search WORDS; what a log says: hloscope explain LOG");
  return hsc_cli_table(cli, table);
}

static hsc_status *list(const knowledge_args *args, const hsc_knowledge *kb, hsc_cli *cli) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("knowledge", &table));
  hsc_table_column(table, "entry", "");
  hsc_table_column(table, "severity", "");
  hsc_table_column(table, "systems", "");
  hsc_table_column(table, "title", "");
  bool search = args->verb == VERB_SEARCH;
  for (size_t i = 0; i < hsc_knowledge_count(kb); i++) {
    const hsc_entry *entry = hsc_knowledge_at(kb, i);
    bool shown = has_system(entry, args->system);
    for (size_t w = 0; w < args->words.count && shown; w++)
      shown = holds_word(entry, args->words.items[w]);
    if (!shown)
      continue;
    char systems[128] = "";
    for (size_t s = 0; entry->systems[s]; s++) {
      size_t used = strlen(systems);
      snprintf(systems + used, sizeof systems - used, "%s%s", s ? " " : "", entry->systems[s]);
    }
    hsc_table_row(table);
    hsc_table_text(table, entry->id);
    hsc_table_text(table, hsc_severity_name(entry->severity));
    hsc_table_text(table, systems);
    hsc_table_text(table, entry->title);
  }
  size_t shown = hsc_table_row_count(table);
  if (search && !shown) {
    hsc_table_destroy(table);
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "no entry holds %s",
                                   args->words.count == 1 ? "this word" : "all these words"),
                           "fewer or shorter words; hloscope knowledge list shows all %zu",
                           hsc_knowledge_count(kb));
  }
  hsc_table_note(table, "%zu of %zu entries; hloscope knowledge show ENTRY tells what is known",
                 shown, hsc_knowledge_count(kb));
  return hsc_cli_table(cli, table);
}

static hsc_status *no_entry(const hsc_knowledge *kb, const char *id) {
  const char *near = hsc_knowledge_near(kb, id);
  hsc_status *status =
      near ? HSC_ERR(NOT_FOUND, "there is no entry '%s'; did you mean '%s'?", id, near)
           : HSC_ERR(NOT_FOUND, "there is no entry '%s'", id);
  return hsc_status_hint(
      status,
      "hloscope knowledge list shows all, hloscope knowledge search WORDS those that hold words");
}

static hsc_status *show(const knowledge_args *args, const hsc_knowledge *kb, hsc_cli *cli) {
  if (!args->words.count)
    return hsc_cli_usage(cli, "show needs the id of an entry; hloscope knowledge list shows them");
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  bool as_json = cli->format == HSC_FORMAT_JSON;
  if (as_json) {
    hsc_json_begin_object(&json);
    hsc_json_key(&json, "entries");
    hsc_json_begin_array(&json);
  }
  for (size_t i = 0; i < args->words.count; i++) {
    const hsc_entry *entry = hsc_knowledge_find(kb, args->words.items[i]);
    if (!entry) {
      hsc_bytes_deinit(&out);
      return no_entry(kb, args->words.items[i]);
    }
    if (as_json)
      hsc_entry_json(entry, &json);
    else
      hsc_entry_text(entry, &cli->out_style, &out);
  }
  if (as_json) {
    hsc_json_end_array(&json);
    hsc_json_end_object(&json);
    hsc_bytes_append_char(&out, '\n');
  }
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    hsc_cli_put(cli, &out);
  hsc_bytes_deinit(&out);
  return status;
}

// Runs `hloscope run` on a proof's program and looks for the entry in what it says. *out_shown: it
// was there; *out_missing: the device is not installed.
static hsc_status *run_program(const hsc_knowledge *kb,
                               const hsc_entry *entry,
                               const hsc_proof_program *proof,
                               hsc_cli *cli,
                               bool *out_shown,
                               bool *out_missing) {
  enum { ARGUMENTS_MAX = 32 };
  char path[] = "/tmp/hloscope-proof-XXXXXX.hlo";
  int fd = mkstemps(path, 4);
  if (fd < 0)
    return HSC_ERR(PERMISSION_DENIED, "no temporary file can be made in /tmp");
  close(fd);
  hsc_bytes said = {0};
  const char *argv[ARGUMENTS_MAX + 1] = {"/proc/self/exe", "run",      path,
                                         "--no-store",     "--device", proof->device};
  size_t count = 6;
  for (const char *at = proof->options; *at && count < ARGUMENTS_MAX;) {
    size_t length = strcspn(at, " ");
    argv[count++] = hsc_arena_strndup(cli->arena, at, length);
    at += length + strspn(at + length, " ");
  }
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  hsc_status *status = hsc_file_write_atomic(path, proof->text.data, proof->text.size);
  if (!status)
    status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  if (!status)
    status = hsc_child_wait(child, INT64_C(120000000000), &end);
  if (!status)
    hsc_bytes_append_text(&said, hsc_child_stderr(child));
  if (!status)
    status = hsc_entry_found_in(kb, entry, hsc_bytes_view(&said), out_shown);
  *out_missing = !*out_shown && (strstr(hsc_bytes_text(&said), "is not on this machine") ||
                                 strstr(hsc_bytes_text(&said), "hloscope devices --install"));
  hsc_child_destroy(child);
  hsc_bytes_deinit(&said);
  unlink(path);
  return status;
}

static hsc_status *check_programs(const knowledge_args *args,
                                  const hsc_knowledge *kb,
                                  hsc_table *table,
                                  size_t *out_bad,
                                  size_t *out_run,
                                  hsc_cli *cli) {
  for (size_t i = 0; i < hsc_knowledge_count(kb); i++) {
    const hsc_entry *entry = hsc_knowledge_at(kb, i);
    if (args->words.count && strcmp(entry->id, args->words.items[0]) != 0)
      continue;
    for (size_t p = 0; p < entry->program_count; p++) {
      bool shown = false;
      bool missing = false;
      hsc_cli_progress(cli, "%s on %s", entry->id, entry->programs[p].device);
      HSC_TRY(run_program(kb, entry, &entry->programs[p], cli, &shown, &missing));
      if (missing) {
        hsc_cli_say(cli, "not run: %s, which needs %s: it is not installed here", entry->id,
                    entry->programs[p].device);
        continue;
      }
      ++*out_run;
      if (shown)
        continue;
      ++*out_bad;
      hsc_table_row(table);
      hsc_table_text(table, entry->path);
      hsc_table_int(table, entry->programs[p].line);
      hsc_table_printf(table, "the program does not show it on %s any more",
                       entry->programs[p].device);
    }
  }
  return NULL;
}

static hsc_status *check(const knowledge_args *args, const hsc_knowledge *kb, hsc_cli *cli) {
  hsc_proof_result result;
  size_t malformed = 0;
  const hsc_knowledge_problem *problems = hsc_knowledge_problems(kb, &malformed);
  hsc_status *status =
      hsc_knowledge_prove(kb, args->words.count ? args->words.items[0] : NULL, cli->arena, &result);
  if (hsc_status_code(status) == HSC_NOT_FOUND) {
    hsc_status_free(status);
    return no_entry(kb, args->words.items[0]);
  }
  if (status)
    return status;
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("knowledge-check", &table));
  hsc_table_column(table, "file", "");
  hsc_table_column(table, "line", "");
  hsc_table_column(table, "problem", "");
  for (size_t i = 0; i < malformed + result.problem_count; i++) {
    const hsc_knowledge_problem *p = i < malformed ? &problems[i] : &result.problems[i - malformed];
    hsc_table_row(table);
    hsc_table_text(table, p->path);
    hsc_table_int(table, p->line);
    hsc_table_text(table, p->message);
  }
  size_t bad = malformed + result.problem_count;
  size_t run_count = 0;
  if (args->programs)
    status = check_programs(args, kb, table, &bad, &run_count, cli);
  if (status) {
    hsc_table_destroy(table);
    return status;
  }
  if (bad)
    cli->exit_code = 1;
  hsc_table_note(table, "%zu %s, %zu %s checked, %zu of %zu programs run: %zu %s",
                 result.entry_count, hsc_plural((double)result.entry_count, "entry", "entries"),
                 result.log_count, hsc_plural((double)result.log_count, "log", "logs"), run_count,
                 result.program_count, bad, hsc_plural((double)bad, "problem", "problems"));
  return hsc_cli_table(cli, table);
}

static const char entry_text[] =
    "id: %s\n"
    "title: %s\n"
    "severity: error\n"
    "systems: any\n"
    "since: unknown\n"
    "until: unknown\n"
    "== match\n"
    "literal: %s\n"
    "== meaning\n"
    "Say in a sentence or two what this message means.\n"
    "== matters\n"
    "Yes or no, and when.\n"
    "== cause\n"
    "What leads to it.\n"
    "== workaround\n"
    "What to do, in one line that can be followed.\n"
    "== references\n"
    "== proof log\n"
    "%s\n";

// The part of a message that stays the same from one time to the next: its longest run without
// digits, paths and quotes.
static const char *steady_part(const char *message, hsc_arena *arena) {
  size_t best = 0;
  size_t best_at = 0;
  size_t at = 0;
  while (message[at]) {
    size_t length = strcspn(message + at, "0123456789/'\"");
    if (length > best) {
      best = length;
      best_at = at;
    }
    at += length + (message[at + length] != 0);
  }
  while (best && isspace((unsigned char)message[best_at])) {
    best_at++;
    best--;
  }
  while (best && isspace((unsigned char)message[best_at + best - 1]))
    best--;
  if (best < HSC_ANCHOR_BYTES) {
    best_at = 0;
    best = strlen(message);
  }
  return hsc_arena_strndup(arena, message + best_at, best);
}

static hsc_status *add(const knowledge_args *args, const hsc_knowledge *kb, hsc_cli *cli) {
  if (args->words.count != 1)
    return hsc_cli_usage(
        cli,
        "add needs one new id: hloscope knowledge add my-error --message='the line that shows it'");
  const char *id = args->words.items[0];
  const char *directory = args->directory ? args->directory : hsc_knowledge_user_dir(cli->arena);
  for (const char *c = id; *c; c++)
    if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
      return hsc_cli_usage(cli, "an id has the characters a-z, 0-9 and -");
  if (hsc_knowledge_find(kb, id))
    return hsc_status_hint(HSC_ERR(ALREADY_EXISTS, "there is an entry '%s'", id),
                           "hloscope knowledge show %s prints it", id);
  if (!args->message || strlen(args->message) < HSC_ANCHOR_BYTES)
    return hsc_cli_usage(
        cli, "add needs --message, the line that the entry is to recognise, of at least %d bytes",
        HSC_ANCHOR_BYTES);
  if (!directory)
    return HSC_ERR(FAILED_PRECONDITION,
                   "there is no home directory to keep the entry in; --knowledge=DIR names one");
  HSC_TRY(hsc_dir_make(directory));
  char *message = hsc_arena_strdup(cli->arena, args->message);
  for (char *c = message; message && *c; c++)
    if (*c == '\n' || *c == '\r')
      *c = ' ';
  const char *path = hsc_arena_printf(cli->arena, "%s/%s.entry", directory, id);
  const char *text = hsc_arena_printf(cli->arena, entry_text, id, message,
                                      steady_part(message, cli->arena), message);
  HSC_TRY(hsc_arena_status(cli->arena));
  if (hsc_file_exists(path))
    return HSC_ERR(ALREADY_EXISTS, "%s is there already", path);
  hsc_entry parsed;
  HSC_TRY_NOTE(hsc_entry_parse(hsc_view_of(text), path, cli->arena, &parsed),
               "while: making an entry of this message");
  HSC_TRY(hsc_file_write_atomic(path, text, strlen(text)));
  hsc_cli_print(cli, "%s\n", path);
  hsc_cli_say(cli, "fill in what it means and what to do; then: hloscope knowledge check %s", id);
  return NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const knowledge_args *args = args_of_command;
  hsc_knowledge *kb = NULL;
  hsc_status *status = hsc_knowledge_load(args->directory, &kb);
  // the first entry of a new directory
  if (args->verb == VERB_ADD && hsc_status_code(status) == HSC_NOT_FOUND && args->directory) {
    hsc_status_free(status);
    status = hsc_dir_make(args->directory);
    if (!status)
      status = hsc_knowledge_load(args->directory, &kb);
  }
  if (status)
    return status;
  size_t count = 0;
  const hsc_knowledge_problem *problems = hsc_knowledge_problems(kb, &count);
  for (size_t i = 0; i < count && args->verb != VERB_CHECK; i++)
    hsc_cli_say(cli, "warning: this entry is left out: %s:%d: %s", problems[i].path,
                problems[i].line, problems[i].message);
  switch (args->verb) {
    case VERB_SHOW:
      status = show(args, kb, cli);
      break;
    case VERB_CHECK:
      status = check(args, kb, cli);
      break;
    case VERB_ADD:
      status = add(args, kb, cli);
      break;
    case VERB_SEARCH:
      status = args->words.count ? list(args, kb, cli) : hsc_cli_usage(cli, "search needs words");
      break;
    default: {
      bool is_short = cli->format == HSC_FORMAT_TEXT && !args->all && !args->system;
      status = is_short ? list_systems(kb, cli) : list(args, kb, cli);
      break;
    }
  }
  hsc_knowledge_destroy(kb);
  return status;
}

const hsc_command_body hsc_command_knowledge = {
    .options = options,
    .args_bytes = sizeof(knowledge_args),
    .run = run,
    .description =
        "What hloscope knows about messages of compilers, runtimes and frameworks; hloscope "
        "explain uses it. An entry is one text file (docs/formats/knowledge.md); `add` creates one "
        "of your own, which is kept in your home directory and takes precedence over the installed "
        "ones.\n`check` reads every entry's proof and reports entries that do not match it, or "
        "that match the proof of another entry.",
    .examples =
        "hloscope knowledge list --system=neuron\nhloscope knowledge show "
        "neuron-ten404-sunda-size-tiling\nhloscope knowledge search view operator\n"
        "hloscope knowledge add my-error --message='MyError: the tile 17 is crooked'\nhloscope "
        "knowledge check",
};
