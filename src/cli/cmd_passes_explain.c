// cmd_passes_explain.c - hloscope passes explain: what a pass does, its names, an example made by
// our own pass, what was found about it.
#include "base/text/text.h"
#include "cli/cmd_passes.h"
#include "cli/passes_known.h"
#include "formats/common/formats.h"
#include "lab/passes/hlo_diff.h"
#include "passes/manager/passes.h"

typedef struct pass_note {
  const char *name, *others, *devices, *what, *found, *more;
} pass_note;
static const pass_note notes[] = {
#define NOTE(name, others, devices, what, found, more) {name, others, devices, what, found, more},
#include "passes/manager/pass_notes.def"
#undef NOTE
};

typedef struct algsimp_rule {
  const char *op, *options, *what, *example;  // options: NULL = those that the device has
} algsimp_rule;
static const algsimp_rule rules[] = {
#define RULE(op, what, example) {op, NULL, what, example},
#define RULE_WITH(op, options, what, example) {op, options, what, example},
#include "passes/algsimp/algsimp_rules.def"
#undef RULE
#undef RULE_WITH
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
// out_changed: whether it changes it; before, after (NULL: not wanted): both sides as text.
static hsc_status *try_example(const char *pass,
                               const char *text,
                               const char *options,
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

// A module around the body of an entry computation, with a sum and a comparison at hand.
static const char *module_of(const char *body, hsc_arena *arena) {
  return hsc_arena_printf(arena,
                          "HloModule example\nplus {\n p = f32[] parameter(0)\n q = f32[] "
                          "parameter(1)\n ROOT s = f32[] add(p, q)\n}\n"
                          "less {\n lp = f32[] parameter(0)\n lq = f32[] parameter(1)\n ROOT lr = "
                          "pred[] compare(lp, lq), direction=LT\n}\nENTRY example {\n %s\n}\n",
                          body);
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
  hsc_status *status =
      try_example(hsc_pass_text(pass), hsc_pass_example(pass), NULL, &before, &after, &changed);
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

static hsc_status *print_rules(hsc_cli *cli) {
  hsc_table *table = NULL;
  int own = 0;
  int kinds = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++)
    kinds += i == 0 || strcmp(rules[i].op, rules[i - 1].op) != 0;
  hsc_cli_print(cli, "\nThe %d kinds of instructions that it handles:\n\n", kinds);
  HSC_TRY(hsc_table_create("rules", &table));
  hsc_table_column(table, "op", "");
  hsc_table_column(table, "here", "");
  hsc_table_column(table, "rule", "");
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    bool changed = false;
    hsc_status *status = hsc_arena_status(cli->arena);
    const char *text = module_of(rules[i].example, cli->arena);
    if (!status)
      status = try_example("algsimp", text, rules[i].options, NULL, NULL, &changed);
    if (status) {
      hsc_table_destroy(table);
      return hsc_status_note(status, "while: the example of %s", rules[i].op);
    }
    own += changed;
    hsc_table_row(table);
    hsc_table_text(table, rules[i].op);
    hsc_table_text(table, !changed ? "-" : rules[i].options ? "option" : "yes");
    if (rules[i].options)
      hsc_table_printf(table, "%s (%s)", rules[i].what, rules[i].options);
    else
      hsc_table_text(table, rules[i].what);
  }
  hsc_table_note(
      table, "here: hloscope's own pass rewrites an example of the rule, %d of %zu; tried just now",
      own, HSC_COUNT_OF(rules));
  return hsc_cli_table(cli, table);
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
      pass ? try_example(name, hsc_pass_example(*pass), NULL, &before, &after, &changed) : NULL;
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

hsc_status *hsc__passes_explain(const char *name, hsc_cli *cli) {
  hsc_pass_id pass;
  if (!name)
    return hsc_cli_usage(cli, "passes explain: which pass?");
  const pass_note *note = find_note(name);
  const hsc_known_pass *known = note ? NULL : hsc_known_pass_find(name);
  bool exact = hsc_pass_parse(hsc_view_of(note ? note->name : name), &pass);
  // "GpuTreeReductionRewriter" is the other compiler's, whatever ours is called
  bool by_name =
      known && (!strcmp(known->name, name) || !strncmp(name, "Gpu", 3) || !strncmp(name, "Tpu", 3));
  bool built_in = exact || (!note && !by_name && find_own(name, &pass));
  if (known && !built_in)
    return hsc_known_pass_print(known, cli);
  if (!note && !built_in)
    HSC_TRY(hsc_pass_refusal(name));
  if (!note && !built_in)
    return unknown(name, cli);
  const char *own = note ? note->name : hsc_pass_text(pass);
  const char *doc = built_in ? hsc_pass_doc(pass) : NULL;
  if (cli->format == HSC_FORMAT_JSON) {
    hsc_bytes text = {0};
    hsc_json json;
    hsc_json_init(&json, &text, 2);
    hsc_status *status = explain_json(note, own, built_in ? &pass : NULL, &json);
    hsc_bytes_append_char(&text, '\n');
    if (!status)
      hsc_cli_write(cli, hsc_bytes_view(&text));
    if (!status)
      status = hsc_bytes_status(&text);
    hsc_bytes_deinit(&text);
    return status;
  }
  hsc_cli_paragraph(cli, "%s\n\n%s\n", own, note ? note->what : doc);
  if (note && doc && strcmp(note->what, doc) != 0)
    hsc_cli_paragraph(cli, "\nOn cpu: %s\n", doc);
  if (built_in && hsc_pass_is_on_request(pass))
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
  if (built_in)
    HSC_TRY(print_example(pass, cli));
  if (built_in)
    print_gaps(hsc_pass_text(pass), cli);
  if (strcmp(own, "algsimp") != 0)
    return NULL;
  HSC_TRY(print_rules(cli));
  return print_options(cli);
}
