// gate_command.c - a command as a whole against its baseline: the processor time of its processes,
// and whether it still ends well.
//
// Against a revision, the command runs in turns here and in a checked-out tree of it, and load that
// lasts longer than a turn cancels; against a file, only same or unknown follows, as for programs.
// What the command computes is not looked at, and the answer says so.
#include <math.h>
#include <sys/wait.h>

#include "lab/gate/gate_internal.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

typedef struct command_times {
  double s[HSC__GATE_MOST];
  size_t count;
  int failed_with;  // exit code or 128 + signal of the first run that failed; 0 = none
} command_times;

static hsc_status *run_once(const hsc_gate_options *o,
                            const char *directory,
                            hsc_arena *arena,
                            command_times *times) {
  const char **argv = HSC_NEW_ARRAY(arena, const char *, o->command_count + 4);
  size_t count = 0;
  struct rusage usage;
  int waited = 0;
  HSC_TRY(hsc_arena_status(arena));
  if (directory) {
    argv[count++] = "env";
    argv[count++] = "-C";
    argv[count++] = directory;
  }
  for (size_t i = 0; i < o->command_count; i++)
    argv[count++] = o->command[i];
  HSC_TRY(hsc__gate_spawn(argv, NULL, &usage, &waited));
  int code = WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
  if (code && !times->failed_with)
    times->failed_with = code;
  if (!code && times->count < HSC__GATE_MOST)
    times->s[times->count++] =
        (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
        1e-6 * ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec);
  return NULL;
}

static const char *command_text(const hsc_gate_options *o, hsc_arena *arena) {
  const char *text = "";
  for (size_t i = 0; text && i < o->command_count; i++)
    text = hsc_arena_printf(arena, "%s%s%s", text, i ? " " : "", o->command[i]);
  return text;
}

static void judge_command(const hsc_gate_options *o,
                          const command_times *now,
                          const double *before,
                          size_t before_count,
                          int before_failed,
                          bool paired,
                          json_t *row) {
  static const char *const not_compared = "its numbers are not compared";
  hsc_gate_change c = {.verdict = HSC_VERDICT_CANNOT_TELL};
  const char *verdict = "unknown";
  hsc_bytes because = {0};
  if (now->failed_with) {
    verdict = before_failed ? "unknown" : "wrong";
    hsc_bytes_printf(&because, "it ends with %d%s", now->failed_with,
                     before_failed ? ", and so it did before" : "");
  } else if (before_failed) {
    hsc_bytes_printf(&because, "it ended with %d before, so there is no time to compare with",
                     before_failed);
  } else {
    c = hsc_gate_compare(now->s, now->count, before, before_count, paired, paired ? 0 : 0.03,
                         o->margin);
    if (!paired && c.verdict != HSC_VERDICT_SAME)
      c.verdict = HSC_VERDICT_CANNOT_TELL;
    if (c.verdict == HSC_VERDICT_SLOWER)
      verdict = "slower";
    else if (c.verdict == HSC_VERDICT_FASTER)
      verdict = "faster";
    else if (c.verdict == HSC_VERDICT_SAME)
      verdict = "same";
    hsc_bytes_printf(&because, "processor time %+.1f %% [%+.1f, %+.1f]; %s",
                     100 * (c.ratio.estimate - 1), 100 * (c.ratio.low - 1),
                     100 * (c.ratio.high - 1), not_compared);
    if (!paired && c.verdict == HSC_VERDICT_CANNOT_TELL)
      hsc_bytes_append_text(&because, " (--baseline with a revision takes turns, which can tell)");
    json_object_set_new(
        row, "run",
        json_pack("{s:o, s:o, s:o, s:s}", "ratio", hsc_json_real(c.ratio.estimate), "low",
                  hsc_json_real(c.ratio.low), "high", hsc_json_real(c.ratio.high), "verdict",
                  hsc_verdict_text(c.verdict)));
  }
  json_object_set_new(row, "verdict", json_string(verdict));
  json_object_set_new(row, "because", json_string(hsc_bytes_text(&because)));
  json_object_set_new(row, "numbers", json_pack("{s:s}", "verdict", "unknown"));
  json_object_set_new(row, "processes", json_integer((json_int_t)now->count));
  hsc_bytes_deinit(&because);
}

static bool is_open(json_t *row) {
  const char *verdict = json_string_value(json_object_get(row, "verdict"));
  return verdict && !strcmp(verdict, "unknown") && json_object_get(row, "run");
}

hsc_status *hsc__gate_command_in_turns(const hsc_gate_options *o,
                                       const char *revision,
                                       hsc_arena *arena,
                                       json_t *row) {
  command_times *now = HSC_NEW(arena, command_times);
  command_times *before = HSC_NEW(arena, command_times);
  char *scratch = NULL;
  const char *inside = NULL;
  const char *tree = NULL;
  hsc_status *status = NULL;
  bool open = true;
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(hsc_scratch_create(&scratch));
  tree = hsc_arena_printf(arena, "%s/tree", scratch);
  HSC_GOTO(hsc_arena_status(arena));
  HSC_GOTO(hsc__gate_tree_at(revision, tree, arena, &inside));
  // not measured: what both fill once, caches of files above all
  HSC_GOTO(run_once(o, inside, arena, &(command_times){0}));
  HSC_GOTO(run_once(o, NULL, arena, &(command_times){0}));
  for (int look = 0; look < HSC__GATE_LOOKS && open; look++) {
    for (int i = 0; i < o->turns && !now->failed_with && !before->failed_with; i++) {
      bool theirs_first = i % 2;
      HSC_GOTO(run_once(o, theirs_first ? inside : NULL, arena, theirs_first ? before : now));
      HSC_GOTO(run_once(o, theirs_first ? NULL : inside, arena, theirs_first ? now : before));
    }
    judge_command(o, now, before->s, before->count, before->failed_with, true, row);
    open = is_open(row);
  }
done:
  if (inside)
    hsc__gate_tree_remove(tree);
  hsc_scratch_destroy(scratch);
  return status;
}

hsc_status *hsc__gate_command_now(const hsc_gate_options *o,
                                  json_t *entry,
                                  bool same_machine,
                                  hsc_arena *arena,
                                  json_t *row,
                                  json_t **out_entry) {
  command_times *now = HSC_NEW(arena, command_times);
  size_t kept_count = 0;
  HSC_TRY(hsc_arena_status(arena));
  int runs = (o->update ? 2 : 1) * o->turns;
  HSC_TRY(run_once(o, NULL, arena, &(command_times){0}));
  for (int i = 0; i < runs && !now->failed_with; i++)
    HSC_TRY(run_once(o, NULL, arena, now));
  if (o->update && now->failed_with)
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "%s: ends with %d", o->command[0], now->failed_with),
        "a baseline holds commands that work");
  if (o->update) {
    json_t *list = json_array();
    for (size_t i = 0; i < now->count; i++)
      json_array_append_new(list, json_real(now->s[i]));
    *out_entry = json_pack("{s:s, s:s, s:o}", "program", command_text(o, arena), "kind", "command",
                           "run_seconds", list);
    return *out_entry ? NULL : hsc_status_out_of_memory();
  }
  double *kept = hsc_json_doubles(json_object_get(entry, "run_seconds"), &kept_count);
  if (entry && same_machine)
    judge_command(o, now, kept, kept_count, 0, false, row);
  hsc_free(kept);
  if (!entry || !same_machine) {
    json_object_set_new(row, "verdict", json_string(now->failed_with ? "wrong" : "unknown"));
    json_object_set_new(
        row, "because",
        json_string(!entry ? "it is not in the baseline: --update adds it"
                           : "the baseline is of another machine: update it here, or give a "
                             "revision, which takes turns"));
  }
  return NULL;
}

const char *hsc__gate_command_text(const hsc_gate_options *o, hsc_arena *arena) {
  return command_text(o, arena);
}
