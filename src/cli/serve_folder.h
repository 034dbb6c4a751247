// serve_folder.h - what `hloscope serve` answers: a directory as a list, each of its files as a
// page.
//
// Names that lead out of the directory, also by links, and what is no file are not found. One
// request at a time (serve_http.h holds the lock).
#pragma once

#include "cli/command.h"
#include "cli/serve_http.h"

typedef struct hsc_serve hsc_serve;
// `limit`: rows of each table, 0 is all. `cli` must outlive it. Errors: NOT_FOUND and the like of
// the directory, INVALID_ARGUMENT when it is a file.
HSC_MUST_USE hsc_status *hsc_serve_open(const char *folder,
                                        int64_t limit,
                                        hsc_cli *cli,
                                        hsc_serve **out_serve);
const char *hsc_serve_root(const hsc_serve *serve);   // resolved
const char *hsc_serve_token(const hsc_serve *serve);  // 32 hexadecimal digits, drawn when opened
// For hsc_http_start; `user` is the hsc_serve.
void hsc_serve_answer(void *user, const hsc_http_request *request, hsc_http_response *response);
void hsc_serve_close(hsc_serve *serve);  // NULL is fine
