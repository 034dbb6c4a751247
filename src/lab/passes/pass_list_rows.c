// pass_list_rows.c - the list itself: rows are added in the order in which they were seen, and are
// nested by their times at the end.
#include "lab/passes/passes_list.h"

hsc_status *hsc_pass_list_init(hsc_pass_list *list) {
  *list = (hsc_pass_list){.compile_ns = -1};
  return hsc_arena_create(&list->arena);
}

hsc_status *hsc_pass_list_want_flame(hsc_pass_list *list) {
  list->flame = HSC_NEW(list->arena, hsc_compile_flame);
  HSC_TRY(hsc_arena_status(list->arena));
  HSC_TRY(hsc_map_create(&list->flame->stacks));
  HSC_TRY(hsc_map_create(&list->flame->phases));
  return hsc_map_create(&list->flame->threads);
}

void hsc_pass_list_deinit(hsc_pass_list *list) {
  if (list->flame) {
    hsc_map_destroy(list->flame->stacks);
    hsc_map_destroy(list->flame->phases);
    hsc_map_destroy(list->flame->threads);
  }
  json_decref(list->phases);
  hsc_free(list->rows);
  hsc_arena_destroy(list->arena);
  *list = (hsc_pass_list){0};
}

hsc_pass_row *hsc_pass_list_add(hsc_pass_list *list, const char *pipeline, const char *pass) {
  if (!HSC_GROW(list->rows, list->row_count, list->row_capacity))
    return NULL;
  hsc_pass_row *row = &list->rows[list->row_count++];
  *row = (hsc_pass_row){.pipeline = hsc_arena_strdup(list->arena, pipeline),
                        .pass = hsc_arena_strdup(list->arena, pass),
                        .changed = -1,
                        .duration_ns = -1,
                        .instructions_before = -1,
                        .instructions_after = -1,
                        .fusions_before = -1,
                        .fusions_after = -1,
                        .rewrites = -1};
  return row;
}

// A pipeline inside another one is in the list twice: as a pass of the outer one, whose row comes
// first, and by the rows inside it, which begin with "pipeline-start". The stack holds the
// pipelines that are open.
void hsc_pass_list_nest(hsc_pass_list *list) {
  enum { DEEPEST = 32 };
  const char *open[DEEPEST];
  int run_of[DEEPEST];
  int depth = -1;
  int runs = 0;
  size_t kept = 0;
  hsc_pipeline_start *starts = HSC_NEW_ARRAY(list->arena, hsc_pipeline_start, list->row_count + 1);
  if (!starts)
    return;  // the arena says so
  for (size_t i = 0; i < list->row_count; i++) {
    hsc_pass_row row = list->rows[i];
    bool start = !strcmp(row.pass, "pipeline-start");
    if (start) {
      // Starts inside the pipeline whose nested row came just before it; else beside or above what
      // is open.
      const hsc_pass_row *before = kept ? &list->rows[kept - 1] : NULL;
      bool inside =
          before && before->nested && before->depth == depth && !strcmp(before->pass, row.pipeline);
      while (!inside && depth >= 0) {
        bool again = !strcmp(open[depth], row.pipeline);  // a fixed point's next round
        depth--;
        if (again)
          break;
      }
      if (depth + 1 < DEEPEST)
        depth++;
      open[depth] = row.pipeline;
      starts[runs] = (hsc_pipeline_start){row.pipeline, depth};
      run_of[depth] = runs++;
      continue;
    }
    while (depth > 0 && strcmp(open[depth], row.pipeline) != 0)
      depth--;
    if (depth < 0 || strcmp(open[depth], row.pipeline) != 0) {  // its start was not reported
      depth = 0;
      open[0] = row.pipeline;
      starts[runs] = (hsc_pipeline_start){row.pipeline, 0};
      run_of[0] = runs++;
    }
    row.depth = depth;
    row.pipeline_run = run_of[depth];
    const hsc_pass_row *next = i + 1 < list->row_count ? &list->rows[i + 1] : NULL;
    row.nested = row.nested || (next && !strcmp(next->pass, "pipeline-start") &&
                                !strcmp(next->pipeline, row.pass));
    list->rows[kept++] = row;
  }
  list->row_count = kept;
  list->starts = starts;
  list->start_count = runs;
}
