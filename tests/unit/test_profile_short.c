// test_profile_short.c - the sentences of a profile's first screen, of steps that are known.
#include "cli/profile_short.h"
#include "trace/xspace.h"
#include "unit.h"

enum { STEPS = 12 };

// Steps of 1 us of which 0.8 us are an operator's; the last one is held up for 1 ms. `line_name`:
// "Steps", or of the runs of programs.
static hsc_bytes profile_of(const char *line_name, const char *event) {
  hsc_bytes bytes = {0};
  hsc_xwriter w;
  EXPECT_OK(hsc_xwriter_init(&w, &bytes));
  hsc_xwriter_begin_plane(&w, 1, "/device:TPU:0");
  int64_t op = hsc_xwriter_begin_event_meta(&w, 0, "fusion.1", NULL);
  hsc_xwriter_end_event_meta(&w);
  int64_t step = hsc_xwriter_begin_event_meta(&w, 0, event, NULL);
  hsc_xwriter_end_event_meta(&w);
  for (int line = 0; line < 2; line++) {
    hsc_xwriter_begin_line(&w, line + 1, line ? "XLA Ops" : line_name, 0);
    for (int i = 0; i < STEPS; i++) {
      int64_t step_ps = i + 1 == STEPS ? 1000000000 : 1000000;
      hsc_xwriter_begin_event(&w, line ? op : step, (int64_t)i * 1000000, line ? 800000 : step_ps);
      hsc_xwriter_end_event(&w);
    }
    hsc_xwriter_end_line(&w);
  }
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  EXPECT_OK(hsc_bytes_status(&bytes));
  return bytes;
}

//  the median is of: one that was held up does not make them idle.
static void headline_is(const char *line_name, const char *event, const char *wanted) {
  hsc_bytes bytes = profile_of(line_name, event);
  hsc_bytes headline = {0};
  hsc_xspace *space = NULL;
  hsc_profile *profile = NULL;
  hsc_table *table = NULL;
  EXPECT_OK(hsc_xspace_of(hsc_bytes_view(&bytes), "test", &space));
  EXPECT_OK(hsc_profile_of(space, &profile));
  EXPECT_OK(hsc_cli_profile_short(profile, false, 0, &headline, &table));
  assert_non_null(strstr(hsc_bytes_text(&headline), wanted));
  hsc_table_destroy(table);
  hsc_bytes_deinit(&headline);
  hsc_profile_close(profile);
  hsc_bytes_deinit(&bytes);
}

// The shares are of the steps that the median is of: one that was held up does not make them idle.
static void shares_are_of_the_steps_in_the_middle(void **state) {
  headline_is("Steps", "1", " (median of 12): 80 % compute, 20 % idle.");
}

// Nobody marked a step: what takes so long is a run, and the sentence says of which program.
static void a_run_of_a_program_is_called_no_step(void **state) {
  headline_is("XLA Modules", "jit_f(7)", "A run of jit_f ");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shares_are_of_the_steps_in_the_middle),
                                     cmocka_unit_test(a_run_of_a_program_is_called_no_step)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
