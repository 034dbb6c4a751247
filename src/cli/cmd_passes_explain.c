// cmd_passes_explain.c - hloscope passes explain: what a pass does, its names, an example made by
// our own pass, what was found about it.
#include "base/text/text.h"
#include "cli/cmd_passes.h"
#include "cli/passes_known.h"
#include "formats/common/formats.h"
#include "lab/passes/hlo_diff.h"
#include "passes/algsimp/rules.h"
#include "passes/manager/passes.h"

typedef struct pass_note {
  const char *name, *others, *devices, *what, *found, *more;
} pass_note;
static const pass_note notes[] = {
#define NOTE(name, others, devices, what, found, more) {name, others, devices, what, found, more},
#include "passes/manager/pass_notes.def"
#undef NOTE
};

static const struct {
  const char *pass, *what, *why;
} gaps[] = {
#define GAP(pass, what, why) {pass, what, why},
#include "passes/manager/pass_gaps.def"
#undef GAP
};

static bool list_has(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at;) {
    size_t size = strcspn(at, ",");
    if (size == length && !strncasecmp(at, name, size))
      return true;
    at += size;
    if (*at)
      at++;
  }
  return false;
}

static const pass_note *find_note(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(notes); i++)
    if (!strcasecmp(notes[i].name, name))
      return &notes[i];
  for (size_t i = 0; i < HSC_COUNT_OF(notes); i++)
    if (list_has(notes[i].others, name))
      return &notes[i];
  for (size_t i = 0; i < HSC_COUNT_OF(notes); i++)
    if (hsc_pass_name_alike(notes[i].name, name))
      return &notes[i];
  return NULL;
}

// Our own pass of that name, or of one that is alike: "HloCSE".
static bool find_own(const char *name, hsc_pass_id *out_pass) {
  if (hsc_pass_parse(hsc_view_of(name), out_pass))
    return true;
  for (int i = 0; i < HSC_PASS_COUNT; i++)
    if (hsc_pass_name_alike(hsc_pass_text((hsc_pass_id)i), name)) {
      *out_pass = (hsc_pass_id)i;
      return true;
    }
  return false;
}

// Runs our pass on a module given as text, with options of algsimp (NULL = the device's).
// only: names of rules that alone work; NULL = all. out_changed: whether it changes it; before,
// after (NULL: not wanted): both sides as text.
static hsc_status *try_example(const char *pass,
                               const char *text,
                               const char *options,
                               const char *only,
                               hsc_bytes *before,
                               hsc_bytes *after,
                               bool *out_changed) {
  static const hsc_print_options form = {
      .no_metadata = true, .no_layouts = true, .no_percent = true};
  hsc_module *module = NULL;
  hsc_pass_log log = {0};
  HSC_TRY(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  for (int side = 0; side < 2; side++) {
    hsc_bytes *out = side ? after : before;
    hsc_status *status = NULL;
    if (side)
      status = hsc_passes_run(module, pass,
                              &(hsc_pass_options){.fuel = -1,
                                                  .target = &hsc_pass_example_target,
                                                  .memory_limit_bytes = 1000,
                                                  .enable_only = only,
                                                  .algsimp = options},
                              &log);
    for (int i = 0; i < log.run_count; i++)
      *out_changed |= log.runs[i].changed;
    if (!status && side)
      status = hsc_passes_run(module, "dce", &(hsc_pass_options){.fuel = -1}, NULL);
    if (status) {
      hsc_pass_log_deinit(&log);
      hsc_module_destroy(module);
      return status;
    }
    if (!out)
      continue;
    // Sums and comparisons are clear from their names.
    HSC_FOR_EACH_COMPUTATION (module, computation) {
      if (!strcmp(computation->name, "plus") || !strcmp(computation->name, "less"))
        continue;
      hsc_computation_print(computation, &form, out);
      if (computation != module->entry)
        hsc_bytes_append_char(out, '\n');
    }
  }
  hsc_pass_log_deinit(&log);
  hsc_module_destroy(module);
  return NULL;
}

static void indent(hsc_cli *cli, const char *text) {
  for (const char *line = text; *line;) {
    size_t size = strcspn(line, "\n");
    if (size)
      hsc_cli_print(cli, "    %.*s\n", (int)size, line);
    line += size;
    if (*line)
      line++;
  }
}

static hsc_status *print_example(hsc_pass_id pass, hsc_cli *cli) {
  hsc_bytes before = {0};
  hsc_bytes after = {0};
  bool changed = false;
  hsc_status *status = try_example(hsc_pass_text(pass), hsc_pass_example(pass), NULL, NULL, &before,
                                   &after, &changed);
  if (!status) {
    hsc_cli_print(cli, "\nBefore, and after hloscope's own pass:\n\n");
    indent(cli, hsc_bytes_text(&before));
    hsc_cli_print(cli, "\n");
    indent(cli, hsc_bytes_text(&after));
  }
  hsc_bytes_deinit(&before);
  hsc_bytes_deinit(&after);
  return status;
}

static hsc_status *print_options(hsc_cli *cli) {
  static const struct {
    const char *name;
    int value;
    const char *doc;
  } options[] = {
#define OPTION(name, value, doc) {#name, value, doc},
#include "passes/manager/algsimp_options.def"
#undef OPTION
  };
  hsc_table *table = NULL;
  hsc_cli_print(cli,
                "\nIts options, by the names of XLA's AlgebraicSimplifierOptions; --option "
                "hloscope_algsimp=NAME=VALUE sets one, NAME,NAME... switches several on:\n\n");
  HSC_TRY(hsc_table_create("options", &table));
  hsc_table_column(table, "option", "");
  hsc_table_column(table, "here", "count");
  hsc_table_column(table, "what", "");
  for (size_t i = 0; i < HSC_COUNT_OF(options); i++) {
    hsc_table_row(table);
    hsc_table_text(table, options[i].name);
    hsc_table_int(table, options[i].value);
    hsc_table_text(table, options[i].doc);
  }
  return hsc_cli_table(cli, table);
}

// What XLA's pass does and ours does not.
static void print_gaps(const char *pass, hsc_cli *cli) {
  bool first = true;
  for (size_t i = 0; i < HSC_COUNT_OF(gaps); i++) {
    if (strcmp(gaps[i].pass, pass) != 0)
      continue;
    if (first)
      hsc_cli_print(cli, "\nWhat XLA's does and hloscope's own does not:\n\n");
    hsc_cli_paragraph(cli, "  %s. %s\n", gaps[i].what, gaps[i].why);
    first = false;
  }
}

// Whether hloscope's own pass rewrites the example.
static hsc_status *try_rule(const hsc_rule_example *example, bool *out_changed) {
  hsc_bytes text = {0};
  hsc_rule_example_print(example, &text);
  hsc_status *status = try_example("algsimp", hsc_bytes_text(&text), example->options, NULL, NULL,
                                   NULL, out_changed);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "while: the example of %s", hsc_op_text(example->op));
}

static hsc_status *print_rules(hsc_cli *cli) {
  hsc_table *table = NULL;
  bool seen[HSC_OP_COUNT] = {false};
  int own = 0;
  int kinds = 0;
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_op op = hsc_rule_example_get(i).op;
    kinds += !seen[op];
    seen[op] = true;
  }
  hsc_cli_print(cli,
                "\nIts rules for %d kinds of instructions, in the order in which they are tried; "
                "passes explain algsimp/RULE shows what one does:\n\n",
                kinds);
  HSC_TRY(hsc_table_create("rules", &table));
  hsc_table_column(table, "rule", "");
  hsc_table_column(table, "op", "");
  hsc_table_column(table, "here", "");
  hsc_table_column(table, "what becomes what", "");
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_rule_example example = hsc_rule_example_get(i);
    bool changed = false;
    hsc_status *status = try_rule(&example, &changed);
    if (status) {
      hsc_table_destroy(table);
      return status;
    }
    own += changed;
    const hsc_rule *rule = example.rule < 0 ? NULL : hsc_rule_get(example.rule);
    const char *here = rule && !hsc_rule_is_default(rule) ? "option" : "yes";
    hsc_table_row(table);
    hsc_table_text(table, rule ? strchr(rule->name, '/') + 1 : "");
    hsc_table_text(table, hsc_op_text(example.op));
    hsc_table_text(table, changed ? here : "-");
    if (rule && !hsc_rule_is_default(rule))
      hsc_table_printf(table, "%s (%s)", example.text, rule->option);
    else
      hsc_table_text(table, example.text);
  }
  hsc_table_note(
      table, "here: hloscope's own pass rewrites an example of the rule, %d of %zu; tried just now",
      own, hsc_rule_example_count());
  return hsc_cli_table(cli, table);
}

// ---- one rule -----------------------------------------------------------------------------------

static hsc_rule_example example_of(int32_t rule) {
  size_t i = 0;
  while (hsc_rule_example_get(i).rule != rule)
    i++;
  return hsc_rule_example_get(i);
}

static void print_rule(const hsc_rule *rule,
                       const hsc_rule_example *example,
                       const hsc_bytes *before,
                       const hsc_bytes *after,
                       hsc_cli *cli) {
  hsc_cli_paragraph(cli, "%s\n\n%s: %s\n", rule->name, hsc_op_text(example->op), example->text);
  if (rule->option)
    hsc_cli_paragraph(cli, "\nOption: %s, %s by default; --option hloscope_algsimp=%s=%s.\n",
                      rule->option, hsc_rule_is_default(rule) ? "on" : "off", rule->option,
                      hsc_rule_is_default(rule) ? "false" : strchr(example->options, '=') + 1);
  hsc_cli_paragraph(cli,
                    "\nOn cpu, --disable %s leaves it out, --pass-fuel %s=N stops it after N "
                    "rewrites.\n",
                    rule->name, rule->name);
  hsc_cli_print(cli, "\nBefore, and after this rule alone:\n\n");
  indent(cli, hsc_bytes_text(before));
  hsc_cli_print(cli, "\n");
  indent(cli, hsc_bytes_text(after));
}

static void rule_json(const hsc_rule *rule,
                      const hsc_rule_example *example,
                      const hsc_bytes *before,
                      const hsc_bytes *after,
                      hsc_json *json) {
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "pass", rule->name);
  hsc_json_kv_string(json, "other_names", "");
  hsc_json_kv_string(json, "devices", "cpu");
  hsc_json_kv_string(json, "what", example->text);
  hsc_json_kv_string(json, "built_in", example->text);
  hsc_json_kv_string(json, "found_2021", NULL);
  hsc_json_kv_string(json, "more", NULL);
  hsc_json_kv_string(json, "op", hsc_op_text(example->op));
  hsc_json_kv_string(json, "option", rule->option);
  hsc_json_kv_bool(json, "on_request", !hsc_rule_is_default(rule));
  hsc_json_kv_string(json, "before", hsc_bytes_text(before));
  hsc_json_kv_string(json, "after", hsc_bytes_text(after));
  hsc_json_end_object(json);
}

static hsc_status *explain_rule(int32_t number, hsc_cli *cli) {
  const hsc_rule *rule = hsc_rule_get(number);
  hsc_rule_example example = example_of(number);
  hsc_bytes text = {0};
  hsc_bytes before = {0};
  hsc_bytes after = {0};
  bool changed = false;
  hsc_rule_example_print(&example, &text);
  hsc_status *status = try_example("algsimp", hsc_bytes_text(&text), example.options, rule->name,
                                   &before, &after, &changed);
  if (!status && cli->format == HSC_FORMAT_JSON) {
    hsc_bytes out = {0};
    hsc_json json;
    hsc_json_init(&json, &out, 2);
    rule_json(rule, &example, &before, &after, &json);
    hsc_bytes_append_char(&out, '\n');
    hsc_cli_put(cli, &out);
    status = hsc_bytes_status(&out);
    hsc_bytes_deinit(&out);
  } else if (!status) {
    print_rule(rule, &example, &before, &after, cli);
  }
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&before);
  hsc_bytes_deinit(&after);
  return status;
}

static hsc_status *unknown_rule(const char *name, hsc_cli *cli) {
  const char *near = hsc_pass_name_near(name);
  if (near)
    return hsc_cli_usage(cli, "there is no rule '%s'; did you mean '%s'?", name, near);
  return hsc_cli_usage(cli, "there is no rule '%s'; passes explain algsimp lists them", name);
}

// pass: our own of that name; NULL = there is none.
static hsc_status *explain_json(const pass_note *note,
                                const char *name,
                                const hsc_pass_id *pass,
                                hsc_json *json) {
  const char *doc = pass ? hsc_pass_doc(*pass) : NULL;
  hsc_bytes before = {0};
  hsc_bytes after = {0};
  bool changed = false;
  hsc_status *status =
      pass ? try_example(name, hsc_pass_example(*pass), NULL, NULL, &before, &after, &changed)
           : NULL;
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "pass", name);
  hsc_json_kv_string(json, "other_names", note ? note->others : "");
  hsc_json_kv_string(json, "devices", note ? note->devices : "cpu");
  hsc_json_kv_string(json, "what", note ? note->what : doc);
  hsc_json_kv_string(json, "built_in", doc);
  hsc_json_kv_string(json, "found_2021", note ? note->found : NULL);
  hsc_json_kv_string(json, "more", note && *note->more ? note->more : NULL);
  hsc_json_kv_bool(json, "on_request", pass && hsc_pass_is_on_request(*pass));
  hsc_json_kv_string(json, "before", pass ? hsc_bytes_text(&before) : NULL);
  hsc_json_kv_string(json, "after", pass ? hsc_bytes_text(&after) : NULL);
  hsc_json_end_object(json);
  hsc_bytes_deinit(&before);
  hsc_bytes_deinit(&after);
  return status;
}

static hsc_status *unknown(const char *name, hsc_cli *cli) {
  const char *names[HSC_PASS_COUNT + HSC_COUNT_OF(notes)];
  for (int i = 0; i < HSC_PASS_COUNT; i++)
    names[i] = hsc_pass_text((hsc_pass_id)i);
  for (size_t i = 0; i < HSC_COUNT_OF(notes); i++)
    names[HSC_PASS_COUNT + i] = notes[i].name;
  const char *near = hsc_did_you_mean(name, names, HSC_COUNT_OF(names));
  if (near)
    return hsc_cli_usage(cli, "nothing is known of a pass '%s'; did you mean '%s'?", name, near);
  return hsc_cli_usage(cli,
                       "nothing is known of a pass '%s'; passes diff PROGRAM --device D --pass %s "
                       "shows what it does",
                       name, name);
}

// What is known by one name: a note on a pass of other devices, a pass of our own, or both.
typedef struct explained {
  const pass_note *note;  // NULL = none
  bool built_in;
  hsc_pass_id pass;  // where it is
} explained;

static const char *name_of(const explained *e) {
  return e->note ? e->note->name : hsc_pass_text(e->pass);
}

static hsc_status *print_explained_json(const explained *e, hsc_cli *cli) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_json_init(&json, &text, 2);
  hsc_status *status = explain_json(e->note, name_of(e), e->built_in ? &e->pass : NULL, &json);
  hsc_bytes_append_char(&text, '\n');
  if (!status)
    hsc_cli_put(cli, &text);
  if (!status)
    status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *print_explained(const explained *e, hsc_cli *cli) {
  const pass_note *note = e->note;
  const char *own = name_of(e);
  const char *doc = e->built_in ? hsc_pass_doc(e->pass) : NULL;
  hsc_cli_paragraph(cli, "%s\n\n%s\n", own, note ? note->what : doc);
  if (note && doc && strcmp(note->what, doc) != 0)
    hsc_cli_paragraph(cli, "\nOn cpu: %s\n", doc);
  if (e->built_in && hsc_pass_is_on_request(e->pass))
    hsc_cli_paragraph(
        cli,
        "\nOn cpu it runs on request only (xla_enable_hlo_passes_only, "
        "hloscope_enable_hlo_passes): the device's own kernel is faster than what it makes.\n");
  if (note)
    hsc_cli_paragraph(cli, "\nIts names: %s\nAlso called: %s\n\nFound in 2021 on an A100: %s\n",
                      note->devices, note->others, note->found);
  else
    hsc_cli_paragraph(cli, "\nIts names: cpu: %s\n", own);
  if (note && *note->more)
    hsc_cli_paragraph(cli, "\n%s\n", note->more);
  if (e->built_in) {
    HSC_TRY(print_example(e->pass, cli));
    print_gaps(hsc_pass_text(e->pass), cli);
  }
  if (strcmp(own, "algsimp") != 0)
    return NULL;
  HSC_TRY(print_rules(cli));
  return print_options(cli);
}

hsc_status *hsc__passes_explain(const passes_args *args, hsc_cli *cli) {
  const char *name = args->program;
  int32_t rule = hsc_rule_find(hsc_view_of(name));
  if (rule >= 0)
    return explain_rule(rule, cli);
  if (!strncmp(name, "algsimp/", strlen("algsimp/")))
    return unknown_rule(name, cli);
  explained e = {.note = find_note(name)};
  const hsc_known_pass *known = e.note ? NULL : hsc_known_pass_find(name);
  bool exact = hsc_pass_parse(hsc_view_of(e.note ? e.note->name : name), &e.pass);
  // "GpuTreeReductionRewriter" is the other compiler's, whatever ours is called
  bool by_name =
      known && (!strcmp(known->name, name) || !strncmp(name, "Gpu", 3) || !strncmp(name, "Tpu", 3));
  e.built_in = exact || (!e.note && !by_name && find_own(name, &e.pass));
  if (known && !e.built_in)
    return hsc_known_pass_print(known, cli);
  if (!e.note && !e.built_in) {
    HSC_TRY(hsc_pass_refusal(name));
    return unknown(name, cli);
  }
  return cli->format == HSC_FORMAT_JSON ? print_explained_json(&e, cli) : print_explained(&e, cli);
}
