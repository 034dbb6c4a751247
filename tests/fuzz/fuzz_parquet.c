// fuzz_parquet.c - any bytes as a Parquet file: every column is read or refused, within the rows
// that the footer told.
#include "base/core/memory.h"
#include "base/parquet/parquet_read.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_parquet_file *file = NULL;
  hsc_status *status = hsc_parquet_open((hsc_view){(const char *)data, size}, &file);
  fuzz_said_status(status);
  hsc_status_free(status);
  if (!file)
    return 0;
  size_t rows = hsc_parquet_row_count(file);
  if (rows <= 100000) {
    double *numbers = hsc_alloc((rows + 1) * sizeof *numbers);
    hsc_view *texts = hsc_alloc((rows + 1) * sizeof *texts);
    for (size_t c = 0; c < hsc_parquet_column_count(file) && numbers && texts; c++) {
      bool text = hsc_parquet_column_kind(file, c) == HSC_PARQUET_KIND_TEXT;
      status = text ? hsc_parquet_read_texts(file, c, texts)
                    : hsc_parquet_read_doubles(file, c, numbers);
      volatile size_t sum = 0;
      for (size_t i = 0; text && !status && i < rows; i++)
        for (size_t k = 0; k < texts[i].size; k++)
          sum += (unsigned char)texts[i].data[k];
      fuzz_said_status(status);
      for (size_t i = 0; !status && i < rows; i++)
        fuzz_said(text ? texts[i] : (hsc_view){(const char *)&numbers[i], sizeof numbers[i]});
      hsc_status_free(status);
    }
    hsc_free(numbers);
    hsc_free(texts);
  }
  hsc_parquet_close(file);
  return 0;
}
