#include "unit.h"

#include "cli/command.h"

typedef struct args {
  const char *program;
  int verb;
  int64_t warmup;
  int trials;
  double scale;
  const char *output;
  hsc_list graphs, settings, rest;
  bool keep;
  int mode;
} args;

static const char *const modes[] = {"same", "different", NULL};
static const char *const verbs[] = {"list", "show", NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL(args, program, "PROGRAM", HSC_REQUIRED, "the program"),
    HSC_OPTION_INT(args, warmup, "warmup", "N", 5, "runs before measuring"),
    HSC_OPTION_INT_FROM(args, trials, "trials", "N", 1, 10, "measured runs"),
    HSC_OPTION_DOUBLE(args, scale, "scale", "X", 0.5, "a scale"),
    HSC_OPTION_STRING(args, output, "output|o", "FILE", NULL, "where to"),
    HSC_OPTION_LIST(args, graphs, "graphs", "NAMES", "tiny,small", "which"),
    HSC_OPTION_LIST(args, settings, "option", "NAME=VALUE", NULL, "a setting"),
    HSC_OPTION_FLAG(args, keep, "no-exclude-first|k", "keep the first"),
    HSC_OPTION_CHOICE(args, mode, "randomness", modes, 0, "how"),
    HSC_OPTION_END,
};

static const hsc_option verb_options[] = {
    HSC_POSITIONAL_CHOICE(args, verb, "VERB", verbs, HSC_REQUIRED, 0, "what to do"),
    HSC_POSITIONAL_REST(args, rest, "FILE", HSC_OPTIONAL, "files"),
    HSC_OPTION_INT(args, warmup, "limit", "N", 5, "at most N", .verbs = "list,show"),
    HSC_OPTION_FLAG(args, keep, "raw", "as it is", .verbs = "show"),
    HSC_OPTION_END,
};

static hsc_arena *arena;

static int make_arena(void **state) {
  hsc_status *status = hsc_arena_create(&arena);
  return status ? -1 : 0;
}

static int drop_arena(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

static hsc_status *parse_with(const hsc_option *rows, args *out, const char *const *words) {
  int count = 0;
  while (words[count])
    count++;
  return hsc_options_parse("test", &(hsc_option_set){rows, out}, 1, count,
                           (char *const *)(uintptr_t)words, arena);
}

#define PARSE(out, ...) parse_with(options, out, (const char *const[]){__VA_ARGS__, NULL})

static void check_message(hsc_status *status, const char *message, const char *hint) {
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_string_equal(hsc_status_message(status), message);
  if (hint)
    assert_string_equal(hsc_status_hint_text(status), hint);
  hsc_status_free(status);
}

// An option that the verb does not take is refused wherever it is.
static void options_belong_to_verbs(void **state) {
  args a;
  EXPECT_OK(
      parse_with(verb_options, &a, (const char *const[]){"--raw", "show", "--limit=2", NULL}));
  assert_true(a.keep);
  EXPECT_OK(parse_with(verb_options, &a, (const char *const[]){"list", "--limit", "3", NULL}));
  check_message(parse_with(verb_options, &a, (const char *const[]){"--raw", "list", NULL}),
                "test list does not take --raw, which belongs to: show",
                "hloscope test list --help shows what it takes");
  assert_true(hsc_option_has_verb(&verb_options[2], "list"));
  assert_false(hsc_option_has_verb(&verb_options[3], "lis"));
  assert_true(hsc_option_has_verb(&verb_options[3], NULL));
}

static void a_setting_is_one_whatever_its_value_holds(void **state) {
  args a;
  EXPECT_OK(PARSE(&a, "x.hlo", "--option", "disable=cse,dce", "--option=fuel=algsimp=1,cse=2"));
  assert_int_equal(a.settings.count, 2);
  assert_string_equal(a.settings.items[0], "disable=cse,dce");
  assert_string_equal(a.settings.items[1], "fuel=algsimp=1,cse=2");
}

static void defaults_are_set(void **state) {
  args a;
  memset(&a, 255, sizeof a);
  EXPECT_OK(PARSE(&a, "x.hlo"));
  assert_string_equal(a.program, "x.hlo");
  assert_int_equal(a.warmup, 5);
  assert_int_equal(a.trials, 10);
  assert_true(a.scale == 0.5);
  assert_null(a.output);
  assert_int_equal(a.graphs.count, 2);
  assert_string_equal(a.graphs.items[1], "small");
  assert_false(a.keep);
  assert_int_equal(a.mode, 0);
}

static void all_ways_to_give_a_value(void **state) {
  args a;
  EXPECT_OK(PARSE(&a, "--warmup=7", "--trials", "3", "-ofile", "-k", "--randomness=different",
                  "--scale", "2.5e-3", "--", "-x.hlo"));
  assert_int_equal(a.warmup, 7);
  assert_int_equal(a.trials, 3);
  assert_string_equal(a.output, "file");
  assert_true(a.keep);
  assert_int_equal(a.mode, 1);
  assert_true(a.scale == 2.5e-3);
  assert_string_equal(a.program, "-x.hlo");
  EXPECT_OK(PARSE(&a, "-", "-o", "a", "--output=b=c", "--output="));
  assert_string_equal(a.program, "-");
  assert_string_equal(a.output, "");
}

static void lists_grow_and_replace_their_default(void **state) {
  args a;
  EXPECT_OK(PARSE(&a, "p", "--graphs", "a,b", "--graphs=,c,,d,"));
  assert_int_equal(a.graphs.count, 4);
  static const char *const expected[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; i++)
    assert_string_equal(a.graphs.items[i], expected[i]);
}

static void mistakes_are_explained(void **state) {
  args a;
  check_message(PARSE(&a, "p", "--warmpu=1"),
                "test: unknown option '--warmpu'; did you mean '--warmup'?",
                "hloscope test --help shows all options");
  check_message(PARSE(&a, "p", "-z"), "test: unknown option '-z'", NULL);
  check_message(PARSE(&a, "p", "--warmup=x"), "--warmup: 'x' is not a whole number", NULL);
  check_message(PARSE(&a, "p", "--warmup=1.5"), "--warmup: '1.5' is not a whole number", NULL);
  check_message(PARSE(&a, "p", "--warmup="), "--warmup: '' is not a whole number", NULL);
  check_message(PARSE(&a, "p", "--warmup=-1"), "--warmup: -1 is out of range, the least is 0",
                NULL);
  check_message(PARSE(&a, "p", "--trials=0"), "--trials: 0 is out of range, the least is 1", NULL);
  check_message(PARSE(&a, "p", "--trials=5000000000"),
                "--trials: 5000000000 is out of range, the most is 2147483647", NULL);
  check_message(PARSE(&a, "p", "--warmup=99999999999999999999"),
                "--warmup: 99999999999999999999 is out of range, the most is 9223372036854775807",
                NULL);
  check_message(PARSE(&a, "p", "--scale=nan"), "--scale: 'nan' is not a number", NULL);
  check_message(PARSE(&a, "p", "--scale=-0.5"), "--scale: -0.5 is out of range, the least is 0",
                NULL);
  check_message(PARSE(&a, "p", "--scale=1000000001"),
                "--scale: 1000000001 is out of range, the most is 1000000000", NULL);
  check_message(PARSE(&a, "p", "--warmup"), "--warmup needs a value", NULL);
  check_message(PARSE(&a, "p", "--warmup", "--trials=2"),
                "--warmup needs a value, and --trials=2 is an option", NULL);
  check_message(PARSE(&a, "p", "--no-exclude-first=1"), "--no-exclude-first takes no value", NULL);
  check_message(PARSE(&a, "p", "--randomness=sane"),
                "--randomness: 'sane' is none of same, different; did you mean 'same'?", NULL);
  check_message(PARSE(&a, "p", "q"), "test: 'q' is one argument too many",
                "hloscope test --help shows what it takes");
  check_message(PARSE(&a, "--warmup=1"), "test: PROGRAM is missing: the program", NULL);
}

static void verbs_and_the_rest_go_by_place(void **state) {
  args a;
  EXPECT_OK(parse_with(verb_options, &a, (const char *const[]){"show", "a", "b", "c", NULL}));
  assert_int_equal(a.verb, 1);
  assert_int_equal(a.rest.count, 3);
  assert_string_equal(a.rest.items[2], "c");
  EXPECT_OK(
      parse_with(verb_options, &a, (const char *const[]){"list", "--", "--flag", "-o", NULL}));
  assert_int_equal(a.rest.count, 2);
  assert_string_equal(a.rest.items[0], "--flag");
  check_message(parse_with(verb_options, &a, (const char *const[]){"lits", NULL}),
                "VERB: 'lits' is none of list, show; did you mean 'list'?", NULL);
  check_message(parse_with(verb_options, &a, (const char *const[]){NULL}),
                "test: VERB is missing: what to do", NULL);
}

static void names_and_defaults_for_help(void **state) {
  char name[64], letter;
  hsc_option_names(&options[4], name, &letter);
  assert_string_equal(name, "output");
  assert_int_equal(letter, 'o');
  static const char *const expected[] = {"", "5", "10", "0.5", "", "tiny,small", "", "", "same"};
  for (int i = 1; i < 9; i++) {
    hsc_bytes text = {0};
    hsc_option_default_text(&options[i], &text);
    assert_string_equal(hsc_bytes_text(&text), expected[i]);
    hsc_bytes_deinit(&text);
  }
}

// ---- every option of every command --------------------------------------------------------------

enum { MOST_WORDS = 8 };
static char fields[4096];
static int tried;

// What stands before an option so that nothing else is missing: the first verb that takes it, and
// an "x" for every other argument that has to be there.
static int words_before(const hsc_command *command, const hsc_option *option, const char **words) {
  int count = 0;
  for (const hsc_option *it = command->body->options; it->kind != HSC_OPTION_KIND_END; it++) {
    if (!it->positional || (it->presence != HSC_REQUIRED && !it->choices))
      continue;
    words[count] = "x";
    for (size_t i = 0; it->choices && it->choices[i]; i++) {
      words[count] = it->choices[i];
      if (hsc_option_has_verb(option, it->choices[i]))
        break;
    }
    count++;
  }
  return count;
}

static hsc_status *parse_one(const hsc_command *command,
                             const hsc_option *option,
                             const char *first,
                             const char *second) {
  const char *words[MOST_WORDS];
  int count = words_before(command, option, words);
  words[count++] = first;
  if (second)
    words[count++] = second;
  tried++;
  return hsc_options_parse(command->name, &(hsc_option_set){command->body->options, fields}, 1,
                           count, (char *const *)(uintptr_t)words, arena);
}

// --NAME=VALUE is refused, with the option's name and these words.
static void is_refused(const hsc_command *command,
                       const hsc_option *option,
                       const char *value,
                       const char *because) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  const char *word = hsc_arena_printf(arena, "--%s=%s", name, value);
  hsc_status *status = parse_one(command, option, word, NULL);
  if (hsc_status_code(status) != HSC_INVALID_ARGUMENT)
    fail_msg("%s %s is not refused", command->name, word);
  const char *message = hsc_status_message(status);
  if (!strstr(message, name) || !strstr(message, because))
    fail_msg("%s %s: '%s' does not say '%s'", command->name, word, message, because);
  hsc_status_free(status);
}

static void is_taken(const hsc_command *command, const hsc_option *option, const char *value) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  const char *word = hsc_arena_printf(arena, value ? "--%s=%s" : "--%s", name, value);
  hsc_status *status = parse_one(command, option, word, NULL);
  if (status)
    fail_msg("%s %s: %s", command->name, word, hsc_status_message(status));
  // Given as two words, or twice, it is the same.
  if (value)
    EXPECT_OK(parse_one(command, option, hsc_arena_printf(arena, "--%s", name), value));
  EXPECT_OK(parse_one(command, option, word, word));
}

static void try_whole_numbers(const hsc_command *command, const hsc_option *option) {
  long long most = option->size == sizeof(int) ? INT32_MAX : INT64_MAX;
  const char *least = hsc_arena_printf(arena, "%lld", (long long)option->min_int);
  const char *below = hsc_arena_printf(arena, "%lld", (long long)option->min_int - 1);
  is_refused(command, option, below, hsc_arena_printf(arena, "the least is %s", least));
  is_refused(command, option, "99999999999999999999",
             hsc_arena_printf(arena, "the most is %lld", most));
  if (most == INT32_MAX)
    is_refused(command, option, "2147483648", "the most is 2147483647");
  static const char *const wrong[] = {"", "x", "1x", "1.5", "nan", "1e3", "0x10", "1,2", "--1"};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++)
    is_refused(command, option, wrong[i], "is not a whole number");
  is_taken(command, option, least);
  is_taken(command, option, hsc_arena_printf(arena, "%lld", most));
  is_taken(command, option, hsc_arena_printf(arena, "%lld", (long long)option->default_int));
}

static void try_numbers(const hsc_command *command, const hsc_option *option) {
  is_refused(command, option, "-0.001", "the least is 0");
  is_refused(command, option, "-2", "the least is 0");
  if (option->default_double != -1)
    is_refused(command, option, "-1", "the least is 0");
  is_refused(command, option, "1000000000.5", "the most is 1000000000");
  static const char *const wrong[] = {"", "x", "1x", "nan", "inf", "-inf", "1e400", "1,5"};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++)
    is_refused(command, option, wrong[i], "is not a number");
  is_taken(command, option, "0");
  is_taken(command, option, "1e9");
  is_taken(command, option, hsc_arena_printf(arena, "%.17g", option->default_double));
}

static void try_choices(const hsc_command *command, const hsc_option *option) {
  is_refused(command, option, "", "is none of");
  is_refused(command, option, "no-such-choice", "is none of");
  is_refused(command, option, hsc_arena_printf(arena, "%sx", option->choices[0]), "is none of");
  for (size_t i = 0; option->choices[i]; i++)
    is_taken(command, option, option->choices[i]);
}

// A name that is nearly one, a value that is missing, and one for what takes none.
static void try_names(const hsc_command *command, const hsc_option *option) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  const char *near = hsc_arena_printf(arena, "--%sx", name);
  hsc_status *status = parse_one(command, option, near, NULL);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_non_null(strstr(hsc_status_message(status), near));
  hsc_status_free(status);
  const char *alone = hsc_arena_printf(arena, "--%s", name);
  if (option->kind == HSC_OPTION_KIND_FLAG) {
    is_refused(command, option, "", "takes no value");
    is_refused(command, option, "1", "takes no value");
    is_taken(command, option, NULL);
    return;
  }
  check_message(parse_one(command, option, alone, NULL),
                hsc_arena_printf(arena, "%s needs a value", alone), NULL);
  check_message(parse_one(command, option, alone, alone),
                hsc_arena_printf(arena, "%s needs a value, and %s is an option", alone, alone),
                NULL);
}

static void every_option_of_every_command_has_its_bounds(void **state) {
  for (size_t c = 0; c < hsc_command_count; c++) {
    const hsc_command *command = &hsc_commands[c];
    assert_true(command->body->args_bytes <= sizeof fields);
    for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END;
         it++) {
      if (it->positional)
        continue;
      try_names(command, it);
      if (it->kind == HSC_OPTION_KIND_INT)
        try_whole_numbers(command, it);
      else if (it->kind == HSC_OPTION_KIND_DOUBLE)
        try_numbers(command, it);
      else if (it->kind == HSC_OPTION_KIND_CHOICE)
        try_choices(command, it);
    }
  }
  assert_true(tried > 3000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_setting_is_one_whatever_its_value_holds),
      cmocka_unit_test(defaults_are_set),
      cmocka_unit_test(options_belong_to_verbs),
      cmocka_unit_test(all_ways_to_give_a_value),
      cmocka_unit_test(lists_grow_and_replace_their_default),
      cmocka_unit_test(mistakes_are_explained),
      cmocka_unit_test(verbs_and_the_rest_go_by_place),
      cmocka_unit_test(names_and_defaults_for_help),
      cmocka_unit_test(every_option_of_every_command_has_its_bounds),
  };
  return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
