// blame_stages.c - which pass leaves a program that is none, or of other results.
//
// What a back end dies of, or returns in another shape, may have been there for many passes: the
// compiler's own dumps say since when. Only a change from one stage to the next counts: what our
// verifier does not take from the first stage on is the compiler's dialect.
#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"

// Why the program of a dump is none; NULL = it is one, or nobody knows. *out_shape: of its result,
// NULL where it is not known. Both in the arena.
static hsc_status *look_at(hsc__blame *b,
                           const char *path,
                           const char **out_why,
                           const hsc_shape **out_shape) {
  hsc_module *module = NULL;
  *out_why = NULL;
  *out_shape = NULL;
  hsc_status *failed = path ? hsc_program_read_file(path, &module) : NULL;
  if (!failed && module)
    failed = hsc_module_verify(module);
  if (!failed && module && module->entry) {
    hsc_shape *shape = HSC_NEW(b->arena, hsc_shape);
    if (shape)
      *shape = hsc_shape_copy(b->arena,
                              hsc_shape_without_layout(module->arena, module->entry->root->shape));
    *out_shape = shape;
  }
  hsc_module_destroy(module);
  if (failed && hsc_status_code(failed) == HSC_RESOURCE_EXHAUSTED)
    return failed;
  // what our reader does not know yet says nothing of the compiler
  if (failed && hsc_status_code(failed) != HSC_UNIMPLEMENTED)
    *out_why = hsc_arena_strdup(b->arena, hsc_status_message(failed));
  hsc_status_free(failed);
  return hsc_arena_status(b->arena);
}

hsc_status *hsc__blame_first_broken(hsc__blame *b,
                                    const hsc_pass_list *list,
                                    hsc__broken_stage *out) {
  const char *why = NULL;
  const hsc_shape *first = NULL;
  *out = (hsc__broken_stage){0};
  HSC_TRY(look_at(b, list->first_dump, &why, &first));
  if (!first)
    return NULL;  // not even the program as it came can be read here
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    const hsc_shape *shape = NULL;
    if (!row->dump || row->counts)
      continue;
    HSC_TRY(look_at(b, row->dump, &why, &shape));
    if (!why && shape && !hsc_shape_equal(first, shape))
      why = hsc_arena_strdup(b->arena, "its result has another shape or type than the program's");
    if (!why)
      continue;
    out->pass = hsc_arena_strdup(b->arena, row->pass);
    out->pipeline = row->pipeline ? hsc_arena_strdup(b->arena, row->pipeline) : NULL;
    out->run = (int64_t)i;
    out->why = why;
    return hsc_arena_status(b->arena);
  }
  return NULL;
}
