// serial_check.c - a loaded executable's numbers against what they count, so that running it reads
// and writes its own places only.
//
// Payloads are checked as far as their kind tells how; what machine code does with its buffers is
// beyond a check.
#include "cpu/kernels/gemm/contraction.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/thunks/fft.h"
#include "cpu/thunks/kernels.h"
#include "cpu/thunks/linalg.h"
#include "cpu/thunks/moves.h"
#include "cpu/thunks/scatter.h"
#include "cpu/serial/serial_format.h"
#include "cpu/thunks/sort.h"
#include "cpu/thunks/thunk_payloads.h"
#include "cpu/thunks/windows.h"

static hsc_status *lost(const char *what, int32_t number) {
  return HSC_ERR(DATA_LOSS, "serialized executable: %s %d does not fit", what, number);
}

static int64_t base_bytes(const hsc_cpu_executable *e, int32_t base) {
  if (base == HSC_CPU_BASE_TEMP)
    return e->temp_bytes;
  if (base == HSC_CPU_BASE_CONSTANTS)
    return e->constant_bytes;
  base -= HSC_CPU_BASE_FIRST_INPUT;
  return hsc_shape_bytes(base < e->input_count ? e->input_shapes[base]
                                               : e->output_shapes[base - e->input_count]);
}

static hsc_status *check_slices(const hsc_cpu_executable *e) {
  for (int32_t s = 0; s < e->slice_count; s++) {
    const hsc_cpu_slice *slice = &e->slices[s];
    if (slice->base < 0 || slice->base >= e->base_count || slice->offset < 0 || slice->bytes < 0)
      return lost("place", s);
    int64_t room = base_bytes(e, slice->base);
    if (slice->bytes > 0 && (slice->offset > room || slice->bytes > room - slice->offset))
      return lost("place", s);
  }
  return NULL;
}

static bool payload_fits(const hsc_cpu_executable *e,
                         const hsc_cpu_thunk *thunk,
                         int32_t block_thunks) {
  const void *data = e->data + thunk->data;
  size_t bytes = (size_t)thunk->data_bytes;
  const hsc_cpu_slice *slices = e->slices + thunk->slice_first;
  switch ((hsc_cpu_thunk_kind)thunk->kind) {
    case HSC_CPU_THUNK_COPY:
      return thunk->input_count == 1 && thunk->output_count == 1 &&
             slices[0].bytes >= slices[1].bytes;
    case HSC_CPU_THUNK_WHILE: {
      const hsc_cpu_while *loop = data;
      return bytes == sizeof *loop && thunk->input_count == 1 && slices[0].bytes >= 1 &&
             loop->condition_count >= 0 && loop->body_count >= 0 &&
             loop->condition_count <= block_thunks &&
             loop->body_count <= block_thunks - loop->condition_count;
    }
    case HSC_CPU_THUNK_CONDITIONAL: {
      const hsc_cpu_conditional *c = data;
      if (bytes < sizeof *c || c->branch_count < 1 ||
          (size_t)c->branch_count > (bytes - sizeof *c) / sizeof(int32_t) ||
          thunk->input_count != 1 || slices[0].bytes < (c->is_predicate ? 1 : 4))
        return false;
      int32_t left = block_thunks;
      for (int32_t b = 0; b < c->branch_count; b++) {
        if (c->thunk_counts[b] < 0 || c->thunk_counts[b] > left)
          return false;
        left -= c->thunk_counts[b];
      }
      return true;
    }
    case HSC_CPU_THUNK_MOVES: {
      const hsc_cpu_moves *m = data;
      if (bytes < sizeof *m || m->move_count < 0 ||
          (size_t)m->move_count > (bytes - sizeof *m) / sizeof(hsc_cpu_move) ||
          thunk->output_count < 1)
        return false;
      if (m->element_bytes < 1 || m->element_bytes > 16 || m->fill_input >= thunk->input_count ||
          m->base_input >= thunk->input_count || m->index_count < 0 ||
          m->index_count > HSC_STRIDED_MAX_RANK || m->index_input < 0 ||
          m->index_input > thunk->input_count - m->index_count)
        return false;
      for (int32_t i = 0; i < m->move_count; i++)
        if (m->moves[i].input < 0 || m->moves[i].input >= thunk->input_count ||
            m->moves[i].copy.rank < 0 || m->moves[i].copy.rank > HSC_STRIDED_MAX_RANK)
          return false;
      return true;
    }
    case HSC_CPU_THUNK_CONTRACTION: {
      const hsc_contraction *c = data;
      if (bytes != sizeof *c || thunk->output_count < 1 || c->lhs.input < 0 ||
          c->lhs.input >= thunk->input_count || c->rhs.input < 0 ||
          c->rhs.input >= thunk->input_count || c->bias_input >= thunk->input_count ||
          c->candidate < 0 || c->candidate >= HSC_CONTRACTION_COUNT)
        return false;
      bool generated = c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE;
      if (c->batch == 0 || c->m == 0 || c->n == 0)
        return true;  // nothing to do
      return (!generated || thunk->kernel >= 0) && c->m_task > 0 && c->n_task > 0 &&
             c->batch_task > 0;
    }
    case HSC_CPU_THUNK_CONVOLUTION: {
      const hsc_convolution *c = data;
      if (bytes != sizeof *c || thunk->output_count < 1 || c->lhs.input < 0 ||
          c->lhs.input >= thunk->input_count || c->rhs.input < 0 ||
          c->rhs.input >= thunk->input_count || c->bias_input >= thunk->input_count ||
          c->candidate < 0 || c->candidate >= HSC_CONV_COUNT)
        return false;
      if (c->rows == 0 || c->columns == 0 || c->groups == 0)
        return true;  // nothing to do
      bool generated = c->epilogue == HSC_EPILOGUE_PANEL || c->epilogue == HSC_EPILOGUE_WHOLE;
      if (c->winograd.tile && !hsc_winograd_fits(c, &e->device->isa))
        return false;
      return (!generated || thunk->kernel >= 0) && c->m_task > 0 && c->n_task > 0 &&
             c->k_block > 0 && c->m_block > 0 && c->m_parts > 0 && c->n_parts > 0 &&
             c->k_parts > 0 && c->phase_count > 0 && c->axis_count >= 0 &&
             c->axis_count <= HSC_CONV_MAX_AXES &&
             c->worker_scratch_bytes <= e->worker_scratch_bytes &&
             (c->scratch_bytes == 0 ||
              (thunk->has_scratch &&
               slices[thunk->input_count + thunk->output_count].bytes >= c->scratch_bytes));
    }
    case HSC_CPU_THUNK_WINDOWS: {
      const hsc_windows *w = data;
      if (bytes != sizeof *w || thunk->output_count != 1 ||
          thunk->input_count != (w->is_scatter ? 3 : 2) || w->kernel < 0 ||
          w->kernel >= e->kernel_count)
        return false;
      if (w->is_scatter && (w->select_kernel < 0 || w->select_kernel >= e->kernel_count))
        return false;
      return w->outer_count >= 0 && w->outer_count <= HSC_WINDOWS_MAX_DIMS && w->free_count >= 0 &&
             w->free_count <= w->outer_count && w->run_chunk > 0 && w->running < w->outer_count;
    }
    case HSC_CPU_THUNK_SCATTER: {
      const hsc_scatter *s = data;
      return bytes == sizeof *s && thunk->input_count == 3 && thunk->output_count == 1 &&
             s->kernel >= -1 && s->kernel < e->kernel_count && s->element_bytes > 0 &&
             s->batch_rank >= 0 && s->batch_rank <= HSC_SCATTER_MAX_DIMS && s->window_rank >= 0 &&
             s->window_rank <= HSC_SCATTER_MAX_DIMS && s->vector_count >= 0 &&
             s->vector_count <= HSC_SCATTER_MAX_DIMS && s->run >= 0 && s->run_chunk > 0;
    }
    case HSC_CPU_THUNK_SORT: {
      const hsc_sort *s = data;
      if (bytes != sizeof *s || s->operand_count < 1 || s->operand_count > HSC_SORT_MAX_OPERANDS ||
          thunk->input_count != s->operand_count ||
          thunk->output_count != (s->is_topk ? 2 : s->operand_count) || s->length < 0 ||
          s->rows < 0 || s->step < 1 || s->k < 0 || s->k > s->length)
        return false;
      return s->by_key ? s->key.operand >= 0 && s->key.operand < s->operand_count &&
                             s->key.kernel >= -1 && s->key.kernel < e->kernel_count
                       : s->comparator >= 0 && s->comparator < e->kernel_count;
    }
    case HSC_CPU_THUNK_FFT: {
      const hsc_fft *f = data;
      if (bytes != sizeof *f || thunk->input_count != 1 || thunk->output_count != 1 ||
          !thunk->has_scratch || f->pass_count < 1 || f->pass_count > HSC_FFT_MAX_DIMS)
        return false;
      for (int32_t i = 0; i < f->pass_count; i++) {
        const hsc_fft_pass *pass = &f->passes[i];
        if (pass->n < 0 || pass->inner < 1 || pass->outer < 0 || pass->factor_count < 0 ||
            pass->factor_count > HSC_FFT_MAX_FACTORS || pass->in_length > pass->n ||
            pass->out_length > pass->n || pass->roots_offset < 0 ||
            pass->roots_offset + pass->n * 16 > slices[2].bytes)
          return false;
      }
      return f->work_offset >= 0 && f->work_offset <= slices[2].bytes;
    }
    case HSC_CPU_THUNK_LINALG: {
      const hsc_linalg *l = data;
      if (bytes != sizeof *l || thunk->input_count != (l->is_solve ? 2 : 1) ||
          thunk->output_count != 1 || l->batches < 0 || l->n < 0 || l->right_sides < 0)
        return false;
      return !l->is_solve || thunk->has_scratch || l->n == 0 || l->right_sides == 0 ||
             l->batches == 0;
    }
    case HSC_CPU_THUNK_KERNEL: {
      const hsc_cpu_kernel_call *call = data;
      if (bytes != sizeof *call || thunk->kernel < 0 ||
          thunk->input_count + thunk->output_count > HSC_KERNEL_MAX_BUFFERS || call->count < 0 ||
          (call->chunk < 1 && call->count > 0))
        return false;
      return !call->partials ||
             (thunk->has_scratch && e->kernels[thunk->kernel].combine != NULL &&
              thunk->output_count <= (int32_t)HSC_COUNT_OF(call->partial_offset));
    }
    case HSC_CPU_THUNK_COLLECTIVE:
      return hsc__cpu_collective_fits(data, bytes, thunk->input_count, thunk->output_count);
    case HSC_CPU_THUNK_EVALUATOR:
      return thunk->instr >= 0;
    default:
      return true;
  }
}

static hsc_status *check_thunks(const hsc_cpu_executable *e) {
  for (int32_t t = 0; t < e->thunk_count; t++) {
    const hsc_cpu_thunk *thunk = &e->thunks[t];
    if (thunk->kind < 0 || thunk->kind >= HSC_CPU_THUNK_COUNT || thunk->next <= t ||
        thunk->next > e->thunk_count)
      return lost("step", t);
    if (thunk->input_count < 0 || thunk->output_count < 0 || thunk->has_scratch < 0 ||
        thunk->has_scratch > 1 || thunk->slice_first < 0)
      return lost("step", t);
    if ((int64_t)thunk->slice_first + thunk->input_count + thunk->output_count +
            thunk->has_scratch >
        e->slice_count)
      return lost("step", t);
    if (thunk->instr < -1 || thunk->instr >= e->stats.instruction_count || thunk->kernel < -1 ||
        thunk->kernel >= e->kernel_count)
      return lost("step", t);
    if (thunk->data < 0 || thunk->data_bytes < 0 || thunk->data > e->data_bytes ||
        thunk->data_bytes > e->data_bytes - thunk->data || thunk->data % 8)
      return lost("step", t);
    if (!payload_fits(e, thunk, thunk->next - t - 1))
      return lost("the payload of step", t);
  }
  return NULL;
}

hsc_status *hsc__serial_check(const hsc_cpu_executable *e) {
  if (e->temp_bytes < 0 || e->worker_scratch_bytes < 0 ||
      e->worker_scratch_bytes % HSC_CPU_ALIGNMENT || e->temp_bytes % HSC_CPU_ALIGNMENT ||
      e->temp_bytes > INT64_MAX / 4 || e->worker_scratch_bytes > (int64_t)1 << 40)
    return HSC_ERR(DATA_LOSS, "serialized executable: sizes of temporaries");
  if (e->stats.instruction_count < 0 || e->stats.instruction_count > INT32_MAX)
    return HSC_ERR(DATA_LOSS, "serialized executable: number of instructions");
  HSC_TRY(check_slices(e));
  return check_thunks(e);
}
